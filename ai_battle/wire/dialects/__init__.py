"""Tool calls in text: one reader, the check and repair of arguments, canonical JSON; pure, without I/O."""
