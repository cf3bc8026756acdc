"""Builds what a participant is sent: a system prompt, the opening message, and the conversation as it sees it.

Its own turns are "assistant" messages; everything that others said is "user". Files are sent complete at first, later
as references if they are large, and as descriptions to a model that can't see them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from ..core.exchange import estimate_parts
from ..core.files import prompt_template
from ..core.messages import Image, Message, Part, Text, Thinking, file_of, join_text, user
from .participant import Participant
from .plan import Plan

Naming: TypeAlias = Literal["plain", "prefixed", "nameless"]


def prompt(name: str, /, **places: str) -> str:
    """Returns the packaged prompt `prompts/<name>.md` with its places filled in."""
    return prompt_template(__package__, name).substitute(places)


def opening(plan: Plan) -> Message:
    """Returns the first message of the discussion: the input files and the prompt."""
    return Message("user", (*plan.inputs, Text(plan.prompt)))


def system_prompt(plan: Plan, participant: Participant) -> str:
    """Joins role, verbatim persona, instructions and facts. In `no-meta` it is empty: the prompt is all there is."""
    return "" if plan.mode == "no-meta" else "\n\n".join(filter(None, _sections(plan, participant)))


def naming(plan: Plan) -> Naming:
    if plan.mode == "no-meta":
        return "nameless"
    return "plain" if len(plan.participants) == 2 else "prefixed"


def with_note(messages: tuple[Message, ...], note: str) -> tuple[Message, ...]:
    """Appends a note to a request, for this answer only."""
    *earlier, last = messages
    return (*earlier, Message(last.role, (*last.parts, Text(f"\n\n{note}")), last.speaker))


def finish_note(plan: Plan, participant: Participant, round_: int) -> str:
    """Returns the request for the finished work in the last round of `produce`; empty otherwise."""
    if plan.goal_mode != "produce" or plan.mode == "no-meta" or not 1 < plan.rounds <= round_:
        return ""
    return prompt("last_round" + _human_suffix(plan, participant))


def role_prompt(mode: str, role: str, name: str) -> str:
    """Returns the prompt that explains a participant's role."""
    if role in ("moderator", "observer"):
        return prompt(role, name=name)
    if mode == "ai-ai":
        return prompt("peer", name=name)
    return prompt("human" if role in ("human", "user") else "assistant", name=name)


def _sections(plan: Plan, participant: Participant) -> Iterable[str]:
    yield role_prompt(plan.mode, _side_of(plan, participant), participant.name)
    if len(plan.participants) > 2:
        yield prompt("speakers", names=", ".join(p.name for p in plan.participants))
    if plan.goal.strip() not in ("", plan.prompt):
        yield _section("Goal", plan.goal.strip())
    if plan.goal_mode == "produce" and _side_of(plan, participant) in ("human", "assistant"):
        yield prompt("product" + _human_suffix(plan, participant))
    yield _section("Who you are", participant.persona)
    yield _section("Instructions", participant.instructions)
    if participant.secret:
        yield _section("Your secret", prompt("secret", secret=participant.secret.strip()))
    if plan.established_facts:
        yield f"# Established facts\n{_facts(plan.established_facts)}"


def _section(heading: str, text: str) -> str:
    return f"# {heading}\n{text}" if text else ""


def _side_of(plan: Plan, participant: Participant) -> str:
    if participant.role in ("moderator", "observer"):
        return participant.role
    return "human" if participant == plan.human_side else "assistant"


def _human_suffix(plan: Plan, participant: Participant) -> str:
    """Returns the suffix of prompts for the human side, which exists only in `human-ai`."""
    return "_human" if plan.mode == "human-ai" and _side_of(plan, participant) == "human" else ""


def _facts(facts: Any) -> str:
    if isinstance(facts, Mapping):
        return "\n".join(f"- {name}: {_fact(value)}" for name, value in facts.items())
    if isinstance(facts, list | tuple):
        return "\n".join(f"- {_fact(value)}" for value in facts)
    return _fact(facts)


def _fact(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


CONTINUE = user("Please continue.")
MESSAGE_SEPARATOR = "\n\n"


def view_of(
    speaker: str,
    history: Iterable[Message],
    naming: Naming = "plain",
    descriptions: Mapping[str, str] | None = None,
) -> tuple[Message, ...]:
    """Returns the messages that let `speaker` speak next: alternating roles that begin and end with a user message.

    `history` holds the prompt as a user message and the participants' turns as assistant messages with their names,
    tool steps included. Only text crosses from other participants. Everything they said since `speaker` last spoke
    becomes one message; `prefixed` puts the name before each text, `nameless` drops all names. Large files are sent
    once. If the model can't see pictures, `descriptions` by file key replace them.
    """
    view = View(speaker, naming, descriptions)
    for message in history:
        view.append(message)
    return view.messages


class View:
    """Keeps the result of `view_of` up to date, at the cost of each new message alone."""

    def __init__(self, speaker: str, naming: Naming = "plain", descriptions: Mapping[str, str] | None = None) -> None:
        self._speaker = speaker
        self._descriptions = descriptions
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

    def take_descriptions(self) -> None:
        """Puts new descriptions into the message that is still unanswered."""
        self._merged = None

    @property
    def messages(self) -> tuple[Message, ...]:
        if pending := self._pending():
            return (*self._settled, pending)
        return tuple(self._settled)

    def _settle(self) -> None:
        if pending := self._pending():
            self._settled.append(refer(pending))
        self._new, self._merged = [], None

    def _pending(self) -> Message | None:
        """Returns the user message that is due. It is cached, so that the next request can reuse its encoded bytes."""
        if self._new and self._merged is None:
            merged = _merge(self._new, self._naming)
            self._merged = merged if self._descriptions is None else describe(merged, self._descriptions)
        return self._merged or (CONTINUE if _is_over(self._settled) else None)


def _is_own(message: Message, speaker: str) -> bool:
    return message.speaker == speaker and message.role in ("assistant", "tool")


def _crosses(message: Message) -> bool:
    return message.role == "user" or (message.role == "assistant" and not message.tool_calls)


def _is_over(seen: Sequence[Message]) -> bool:
    """Checks whether another speaker is due: the speaker's own turn has ended, or there is no message yet."""
    return not seen or (seen[-1].role == "assistant" and not seen[-1].tool_calls)


def _as_own(message: Message, naming: Naming) -> Message:
    """Returns a turn as its speaker sees it. Thinking stays only in tool steps, where the model still needs it."""
    if not message.tool_calls:
        parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
        message = message if len(parts) == len(message.parts) else replace(message, parts=parts)
    return replace(message, speaker="") if naming == "nameless" else message


def _merge(messages: Sequence[Message], naming: Naming) -> Message:
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0]
    files = tuple(part for message in messages for part in message.parts if _is_file(message, part))
    # A message with files alone has no text: it holds a person's attachments.
    text = MESSAGE_SEPARATOR.join(filter(None, (_text_with_name(message, naming) for message in messages)))
    return Message("user", (*files, Text(text)), _speaker(messages) if naming == "plain" else "")


def _speaker(messages: Sequence[Message]) -> str:
    speakers = {message.speaker for message in messages if message.role == "assistant"}
    return speakers.pop() if len(speakers) == 1 else ""


def _is_file(message: Message, part: Part) -> bool:
    """Checks whether a part is a file. Files stay separate and in order, since each may later become a reference."""
    return message.role == "user" and (not isinstance(part, Text) or bool(file_of(part)))


def _text_with_name(message: Message, naming: Naming) -> str:
    text = join_text(part for part in message.parts if not _is_file(message, part)).strip()
    if naming != "prefixed" or message.role == "user" or text.startswith(f"{message.speaker}:"):
        return text
    return f"{message.speaker}: {text}"


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
