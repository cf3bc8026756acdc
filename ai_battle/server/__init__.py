"""Serves any `ModelClient` over HTTP with Anthropic- and OpenAI-compatible APIs."""
