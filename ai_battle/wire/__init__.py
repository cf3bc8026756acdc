"""Encodes and decodes the bodies of each API from and to core values. Pure: no I/O."""
