"""Models without native tools get the same interface."""
