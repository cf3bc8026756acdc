"""Databases that models may ask: each opened so that only what is allowed can happen."""
