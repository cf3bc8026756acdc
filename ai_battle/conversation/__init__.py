"""Discussions: who speaks, what each one sees, when it ends, and what is kept."""
