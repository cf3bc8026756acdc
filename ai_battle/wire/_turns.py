"""Neighbouring messages in the same role as one turn, for the APIs that want turns to alternate."""

from collections.abc import Iterable


def turns(messages: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """The inside of a JSON list, in pieces to be joined.

    `messages` are, for each, how a turn in its role opens (`{"role":"user","content":[`) and its parts, encoded and
    joined by commas; those without parts are left out.
    """
    pieces: list[bytes] = []
    current = b""
    for opening, parts in messages:
        if not parts:
            continue
        if opening == current:
            pieces += (b",", parts)
        else:
            pieces += (b"]},", opening, parts) if current else (opening, parts)
            current = opening
    return [*pieces, b"]}"] if pieces else []
