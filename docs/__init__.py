"""The documentation; `python -m docs.generate` makes the pages of docs/reference/ that the code can tell."""
