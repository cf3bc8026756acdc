"""Models that help each other: each strategy is one file, and a `ModelClient` like any other."""
