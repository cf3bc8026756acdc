"""Clients of model APIs; the name in the YAML is the name of the file."""
