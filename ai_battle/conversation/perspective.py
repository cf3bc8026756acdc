"""The conversation as one participant sees it: what it said is "assistant", what all others said is "user"."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from ..core.messages import Message, Part, Text, Thinking, user

Naming: TypeAlias = Literal["plain", "prefixed", "nameless"]

CONTINUE = user("Please continue.")
BETWEEN = "\n\n"


def view_of(speaker: str, history: Iterable[Message], naming: Naming = "plain") -> tuple[Message, ...]:
    """The request that lets `speaker` speak next: "user" and "assistant" in turns, from a user message to another.

    `history` has what participants said as assistant messages with their names, the steps with tools on the way
    included, and the prompt as a user message. Of what others did only the text crosses. All that they said since
    `speaker` last spoke is one message; `prefixed` puts each name before it, `nameless` leaves every name out.
    """
    view = View(speaker, naming)
    for message in history:
        view.append(message)
    return view.messages


class View:
    """What `view_of` says, kept up with each message at the cost of that message alone."""

    def __init__(self, speaker: str, naming: Naming = "plain") -> None:
        self._speaker = speaker
        self._naming: Naming = naming
        self._settled: list[Message] = []
        self._new: list[Message] = []
        self._merged: Message | None = None

    def append(self, message: Message) -> None:
        if _is_own(message, self._speaker):
            self._settle()
            self._settled.append(_as_own(message, self._naming))
        elif _crosses(message):
            self._new.append(message)
            self._merged = None

    @property
    def messages(self) -> tuple[Message, ...]:
        if asked := self._pending():
            return (*self._settled, asked)
        return tuple(self._settled)

    def _settle(self) -> None:
        if asked := self._pending():
            self._settled.append(asked)
        self._new, self._merged = [], None

    def _pending(self) -> Message | None:
        """The user message that is due. It is kept, so that its bytes serve the next request too."""
        if self._new and self._merged is None:
            self._merged = _merge(self._new, self._naming)
        return self._merged or (CONTINUE if _is_over(self._settled) else None)


def _is_own(message: Message, speaker: str) -> bool:
    return message.speaker == speaker and message.role in ("assistant", "tool")


def _crosses(message: Message) -> bool:
    return message.role == "user" or (message.role == "assistant" and not message.tool_calls)


def _is_over(seen: Sequence[Message]) -> bool:
    """Whether the speaker's own turn came to its end, or there was nothing yet: somebody else has to say something."""
    return not seen or (seen[-1].role == "assistant" and not seen[-1].tool_calls)


def _as_own(message: Message, naming: Naming) -> Message:
    """What was thought belongs to the turn that it led to; only while tools are used the model needs it back."""
    if not message.tool_calls:
        said = tuple(part for part in message.parts if not isinstance(part, Thinking))
        message = message if len(said) == len(message.parts) else replace(message, parts=said)
    return replace(message, speaker="") if naming == "nameless" else message


def _merge(said: Sequence[Message], naming: Naming) -> Message:
    if len(said) == 1 and said[0].role == "user":
        return said[0]
    files = tuple(part for message in said for part in message.parts if _is_file(message, part))
    text = BETWEEN.join(_text_with_name(message, naming) for message in said)
    return Message("user", (*files, Text(text)), _speaker(said) if naming == "plain" else "")


def _speaker(said: Sequence[Message]) -> str:
    speakers = {message.speaker for message in said if message.role == "assistant"}
    return speakers.pop() if len(speakers) == 1 else ""


def _is_file(message: Message, part: Part) -> bool:
    return message.role == "user" and not isinstance(part, Text)


def _text_with_name(message: Message, naming: Naming) -> str:
    text = message.text.strip()
    if naming != "prefixed" or message.role == "user" or text.startswith(f"{message.speaker}:"):
        return text
    return f"{message.speaker}: {text}"
