"""What pairs have shown on their users' own traffic, and conclusions from it."""
