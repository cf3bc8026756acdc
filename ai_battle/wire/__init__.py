"""API bodies to and from core values, both ways; pure, without I/O."""
