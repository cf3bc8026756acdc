"""What pairs have shown on their user's own traffic, and what follows from it."""
