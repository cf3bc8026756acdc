"""Files that take part in a discussion."""
