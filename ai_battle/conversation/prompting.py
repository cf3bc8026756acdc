"""What a participant is sent: a system prompt, the message that opens the run, and the conversation as it sees it.

What it said itself is "assistant" there, what all others said is "user".
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal, TypeAlias

from ..core.messages import Message, Part, Text, Thinking, file_of, join_text, user
from .attachments import describe, refer
from .participant import Participant
from .plan import Plan

Naming: TypeAlias = Literal["plain", "prefixed", "nameless"]


def prompt(name: str, /, **places: str) -> str:
    """The packaged prompt `prompts/<name>.md`, filled."""
    return _template(name).substitute(places)


def opening(plan: Plan) -> Message:
    """The first message of the discussion: the input files, and what it is about."""
    return Message("user", (*plan.inputs, Text(plan.prompt)))


def system_prompt(plan: Plan, participant: Participant) -> str:
    """Role, persona (verbatim), instructions and facts; empty for `no-meta`, where the prompt is all there is."""
    return "" if plan.mode == "no-meta" else "\n\n".join(filter(None, _sections(plan, participant)))


def naming(plan: Plan) -> Naming:
    if plan.mode == "no-meta":
        return "nameless"
    return "plain" if len(plan.participants) == 2 else "prefixed"


def with_note(messages: tuple[Message, ...], note: str) -> tuple[Message, ...]:
    """The same request with a note at its end, which is for this one answer and stays in nobody's memory."""
    *earlier, last = messages
    return (*earlier, Message(last.role, (*last.parts, Text(f"\n\n{note}")), last.speaker))


def finish_note(plan: Plan, participant: Participant, round_: int) -> str:
    """Returns what asks for the finished thing in the last round of a discussion that makes one; else nothing."""
    if plan.goal_mode != "produce" or plan.mode == "no-meta" or not 1 < plan.rounds <= round_:
        return ""
    return prompt("finish" + _human(plan, participant))


def role_prompt(mode: str, role: str, name: str) -> str:
    """Returns what a participant is told of its part."""
    if role in ("moderator", "observer"):
        return prompt(role, name=name)
    if mode == "ai-ai":
        return prompt("peer", name=name)
    return prompt("human" if role in ("human", "user") else "assistant", name=name)


def _sections(plan: Plan, participant: Participant) -> Iterable[str]:
    yield role_prompt(plan.mode, _side(plan, participant), participant.name)
    if len(plan.participants) > 2:
        yield prompt("speakers", names=", ".join(p.name for p in plan.participants))
    if plan.goal.strip() not in ("", plan.prompt):
        yield _section("Goal", plan.goal.strip())
    if plan.goal_mode == "produce" and _side(plan, participant) in ("human", "assistant"):
        yield prompt("produce" + _human(plan, participant))
    yield _section("Who you are", participant.persona)
    yield _section("Instructions", participant.instructions)
    if participant.secret:
        yield _section("Your secret", prompt("secret", secret=participant.secret.strip()))
    if plan.established_facts:
        yield f"# Established facts\n{_facts(plan.established_facts)}"


def _section(heading: str, text: str) -> str:
    return f"# {heading}\n{text}" if text else ""


def _side(plan: Plan, participant: Participant) -> str:
    if participant.role in ("moderator", "observer"):
        return participant.role
    return "human" if participant == plan.human_side else "assistant"


def _human(plan: Plan, participant: Participant) -> str:
    """The ending of a prompt for the human side: in `ai-ai` nobody is one."""
    return "_human" if plan.mode == "human-ai" and _side(plan, participant) == "human" else ""


def _facts(facts: Any) -> str:
    if isinstance(facts, Mapping):
        return "\n".join(f"- {name}: {_fact(value)}" for name, value in facts.items())
    if isinstance(facts, list | tuple):
        return "\n".join(f"- {_fact(value)}" for value in facts)
    return _fact(facts)


def _fact(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())


CONTINUE = user("Please continue.")
BETWEEN = "\n\n"


def view_of(
    speaker: str,
    history: Iterable[Message],
    naming: Naming = "plain",
    descriptions: Mapping[str, str] | None = None,
) -> tuple[Message, ...]:
    """The request that lets `speaker` speak next: "user" and "assistant" in turns, from a user message to another.

    `history` has what participants said as assistant messages with their names, the steps with tools on the way
    included, and the prompt as a user message. Of what others did only the text crosses. All that they said since
    `speaker` last spoke is one message; `prefixed` puts each name before it, `nameless` leaves every name out. Large
    files come once, and `descriptions` of pictures by name take their place where the model sees none.
    """
    view = View(speaker, naming, descriptions)
    for message in history:
        view.append(message)
    return view.messages


class View:
    """What `view_of` says, kept up with each message at the cost of that message alone."""

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
        """Puts those that have come meanwhile into what is not answered yet."""
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
        """The user message that is due. It is kept, so that its bytes serve the next request too."""
        if self._new and self._merged is None:
            merged = _merge(self._new, self._naming)
            self._merged = merged if self._descriptions is None else describe(merged, self._descriptions)
        return self._merged or (CONTINUE if _is_over(self._settled) else None)


def _is_own(message: Message, speaker: str) -> bool:
    return message.speaker == speaker and message.role in ("assistant", "tool")


def _crosses(message: Message) -> bool:
    return message.role == "user" or (message.role == "assistant" and not message.tool_calls)


def _is_over(seen: Sequence[Message]) -> bool:
    """Says whether somebody else has to speak: the speaker's own turn came to its end, or there was nothing yet."""
    return not seen or (seen[-1].role == "assistant" and not seen[-1].tool_calls)


def _as_own(message: Message, naming: Naming) -> Message:
    """Returns a turn as its speaker sees it; thoughts stay only while tools are used, as the model needs them then."""
    if not message.tool_calls:
        parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
        message = message if len(parts) == len(message.parts) else replace(message, parts=parts)
    return replace(message, speaker="") if naming == "nameless" else message


def _merge(messages: Sequence[Message], naming: Naming) -> Message:
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0]
    files = tuple(part for message in messages for part in message.parts if _is_file(message, part))
    # A message of nothing but files is what a person attached.
    text = BETWEEN.join(filter(None, (_text_with_name(message, naming) for message in messages)))
    return Message("user", (*files, Text(text)), _speaker(messages) if naming == "plain" else "")


def _speaker(messages: Sequence[Message]) -> str:
    speakers = {message.speaker for message in messages if message.role == "assistant"}
    return speakers.pop() if len(speakers) == 1 else ""


def _is_file(message: Message, part: Part) -> bool:
    """Files stay parts of their own, in their order, as each may give way to a reference later."""
    return message.role == "user" and (not isinstance(part, Text) or bool(file_of(part)))


def _text_with_name(message: Message, naming: Naming) -> str:
    text = join_text(part for part in message.parts if not _is_file(message, part)).strip()
    if naming != "prefixed" or message.role == "user" or text.startswith(f"{message.speaker}:"):
        return text
    return f"{message.speaker}: {text}"
