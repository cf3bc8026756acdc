"""Tools: what they are, where they come from, and how a call of one is run."""
