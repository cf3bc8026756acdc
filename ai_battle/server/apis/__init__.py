"""The APIs that clients speak, one value each."""
