"""Evidence about pairs from their users' own traffic, and conclusions from it."""
