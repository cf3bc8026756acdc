"""Serves a page on this machine that starts, shows and compares runs: `ai-battle ui`."""
