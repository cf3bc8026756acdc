"""Tools: their definition, loading, and execution."""
