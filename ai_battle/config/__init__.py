"""Configuration: YAML or a dictionary in, a checked `Loaded` or one `ConfigError` with every problem out."""
