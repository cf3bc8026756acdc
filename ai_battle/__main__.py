"""`python -m ai_battle` is the command line."""

from .cli import main

main()
