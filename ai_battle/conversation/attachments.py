"""Files in what a participant is sent: whole at first, then as a reference, in words where its model sees nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from ..core.messages import Image, Message, Part, Text, file_of
from ..core.tokens import estimate_parts

KEPT_TOKENS, KEPT_BYTES = 25_000, 4 * 1024 * 1024
"""Of the files of a message that later requests bring again: about what a prefix cache makes cheap."""


def parts_by_file(message: Message) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """The parts of each file of a message with its name, and between them what is of no file."""
    for name, parts in groupby(message.parts, lambda part: str(file_of(part).get("name", ""))):
        yield name, tuple(parts)


def pictures_of(message: Message) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """The files of a message that have pictures, by name."""
    for name, parts in parts_by_file(message):
        if name and any(isinstance(part, Image) for part in parts):
            yield name, parts


def refer(message: Message) -> Message:
    """The message as it goes to whoever has answered it before: a large file gives way to a reference.

    An API keeps nothing of earlier requests, so that what is left out is not seen any more. Files stay as long as they
    come to `KEPT_TOKENS` and `KEPT_BYTES` together; `resend` says otherwise for one.
    """
    tokens, room = KEPT_TOKENS, KEPT_BYTES
    parts: list[Part] = []
    for name, of_file in parts_by_file(message):
        needed, length = (estimate_parts(of_file), sum(map(_length, of_file))) if name else (0, 0)
        if name and not file_of(of_file[0]).get("resend", needed <= tokens and length <= room):
            parts.append(_reference(of_file[0]))
            continue
        tokens, room = tokens - needed, room - length
        parts += of_file
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts))


def describe(message: Message, descriptions: Mapping[str, str]) -> Message:
    """The message as it goes to a model that sees no pictures: what has a description comes as that."""
    parts: list[Part] = []
    for name, of_file in parts_by_file(message):
        is_described = name in descriptions and any(isinstance(part, Image) for part in of_file)
        parts += [_in_words(of_file[0], descriptions[name])] if is_described else of_file
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts))


def _length(part: Part) -> int:
    return len(part.text) if isinstance(part, Text) else len(getattr(part, "data", b""))


def _reference(part: Part) -> Text:
    known = file_of(part)
    words = "You were shown it before, and it is not sent again; go by what was said of it."
    return _text_about(known, f"[{known['name']}: {known['about']}. {words}]")


def _in_words(part: Part, description: str) -> Text:
    known = file_of(part)
    unseen = f"{known['name']}: {known['about']}. You can't see it"
    told = f"[{unseen}; this describes it:]\n{description}" if description else f"[{unseen}; nobody could describe it.]"
    return _text_about(known, told)


def _text_about(known: Mapping[str, object], text: str) -> Text:
    return Text(f"{text}\n\n", extra={"file": {"name": known["name"], "kind": "text", "about": known["about"]}})
