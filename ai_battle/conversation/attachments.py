"""Prepares files for requests: complete at first, then as a reference, or described if the model can't see them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from ..core.messages import Image, Message, Part, Text, file_of
from ..core.tokens import estimate_parts

KEPT_TOKENS, KEPT_BYTES = 25_000, 4 * 1024 * 1024
"""Limits on the files of a message that later requests send again: about what a prefix cache makes cheap."""
_EXTRA = attrgetter("extra")


def file_key(part: Part) -> str:
    """Returns a file's identity: its digest, or in older journals its name."""
    known = file_of(part)
    return str(known.get("digest") or known.get("name", ""))


def parts_by_file(message: Message) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """Groups a message's parts by file, each group with the file's key; parts of no file have an empty key."""
    for key, parts in groupby(message.parts, file_key):
        yield key, tuple(parts)


def pictures_of(message: Message) -> Iterator[tuple[Part, ...]]:
    """Yields the parts of each file in a message that contains pictures."""
    for key, parts in parts_by_file(message):
        if key and any(isinstance(part, Image) for part in parts):
            yield parts


def refer(message: Message) -> Message:
    """Replaces large files with references, for a request to a model that has already answered this message.

    The API remembers nothing of earlier requests, so the model no longer sees what is left out. Files stay as long as
    they fit within `KEPT_TOKENS` and `KEPT_BYTES` together, unless `resend` decides otherwise for a file.
    """
    if not any(map(_EXTRA, message.parts)):
        return message
    tokens, room = KEPT_TOKENS, KEPT_BYTES
    parts: list[Part] = []
    for key, of_file in parts_by_file(message):
        needed, length = (estimate_parts(of_file), sum(map(part_size, of_file))) if key else (0, 0)
        if key and not file_of(of_file[0]).get("resend", needed <= tokens and length <= room):
            parts.append(_reference(of_file[0]))
            continue
        tokens, room = tokens - needed, room - length
        parts += of_file
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts))


def describe(message: Message, descriptions: Mapping[str, str]) -> Message:
    """Replaces each picture that has a description, by file key, for a model that can't see pictures."""
    parts: list[Part] = []
    for key, of_file in parts_by_file(message):
        is_described = key in descriptions and any(isinstance(part, Image) for part in of_file)
        parts += [_in_words(of_file[0], descriptions[key])] if is_described else of_file
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts))


def part_size(part: Part) -> int:
    return len(part.text) if isinstance(part, Text) else len(getattr(part, "data", b""))


def _reference(part: Part) -> Text:
    known = file_of(part)
    words = "You were shown it before, and it is not sent again; go by what was said of it."
    return _text_about(known, f"[{known['name']}: {known['about']}. {words}]")


def _in_words(part: Part, description: str) -> Text:
    known = file_of(part)
    unseen = f"{known['name']}: {known['about']}. You can't see it"
    words = (
        f"[{unseen}; this describes it:]\n{description}" if description else f"[{unseen}; nobody could describe it.]"
    )
    return _text_about(known, words)


def _text_about(known: Mapping[str, object], text: str) -> Text:
    kept = {key: value for key, value in known.items() if key in ("name", "about", "digest")}
    return Text(f"{text}\n\n", extra={"file": {**kept, "kind": "text"}})
