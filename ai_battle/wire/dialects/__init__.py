"""Tool calls in text, whatever the notation: the reader, the check of arguments, JSON Schemas; pure, without I/O."""
