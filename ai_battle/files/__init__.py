"""Reads local files as parts of a message, within limits, and reports what was left out."""
