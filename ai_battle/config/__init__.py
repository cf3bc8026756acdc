"""Configuration: YAML or a dictionary in, a checked `LoadedDiscussion` or one `ConfigError` with every problem out."""
