"""`dice`: throws dice as role players write them, such as 2d6+1."""

import random
import re
from typing import Any

from ai_battle import tool

WRITTEN = re.compile(r"(\d{0,3})d(\d{1,4})([+-]\d{1,4})?", re.IGNORECASE)


@tool
def dice(notation: str = "1d6") -> dict[str, Any]:
    """Throw dice and tell each number and their sum.

    Args:
        notation: How many dice of how many sides, and what is added: 2d6, d20, 3d8+2.
    """
    found = WRITTEN.fullmatch(notation.replace(" ", ""))
    if not found or not int(found[2]):
        raise ValueError(f"{notation!r} is not dice notation; write 2d6, d20 or 3d8+2")
    rolls = [random.randint(1, int(found[2])) for _ in range(int(found[1] or 1))]  # noqa: S311 - a game
    return {"rolls": rolls, "total": sum(rolls) + int(found[3] or 0)}
