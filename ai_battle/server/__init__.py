"""Any `ModelClient` behind an address: an Anthropic- and OpenAI-compatible server."""
