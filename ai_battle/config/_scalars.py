"""Unquoted YAML scalars: kept as text until it is known what is expected, read as YAML 1.2 where nothing is."""

import re

INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
WORDS: dict[str, bool | float | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan"),
}  # fmt: skip
LONGEST_NUMBER = 400


class Plain(str):
    """The text of an unquoted scalar: `no` is text where text is expected, and false where a flag is."""

    __slots__ = ()


def is_number(text: str) -> bool:
    return bool(FLOAT.fullmatch(text) or INTEGER.fullmatch(text))


def resolve(text: str) -> str | int | float | bool | None:
    """What an unquoted scalar stands for by itself: `no`, `on` and `12:30` are text, `1e3` is a number."""
    if text in WORDS:
        return WORDS[text]
    if len(text) <= LONGEST_NUMBER and INTEGER.fullmatch(text):
        return int(text, 10) if text.lstrip("+-").isdigit() else int(text, 0)
    if len(text) <= LONGEST_NUMBER and FLOAT.fullmatch(text):
        return float(text)
    return str(text)
