"""Recorded runs, compared byte for byte: what a change of structure must leave as it is.

`python -m tests.golden` writes them anew, where a change means to change them; the diff then shows what users will see.
"""
