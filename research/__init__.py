"""Measures the strategies on recorded answers; each command prints its figures. See research/README.md."""
