"""The built-in tools; each has the name of its file in the YAML."""
