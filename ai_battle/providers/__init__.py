"""Clients of model APIs. A provider's name in the YAML is the name of its file here."""
