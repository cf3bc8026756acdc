"""What a helper is shown of a case: the prompt, the attempt and why it fell short, the tools, and what was said."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Document, Image, Message, Text, ToolCall, user
from ..core.tokens import estimate_text
from ..judging.assessment import prompt_place
from ..wire.dialects.schemas import call_key
from ._helping import Sees
from ._prompts import arguments_text, filled, marked, shortened

HISTORY_TOKENS = 6_000
ATTEMPT_TOKENS = 4_000
ATTEMPT_CHARACTERS = 8_000
RESULT_CHARACTERS = 2_000
UNSEEN = "a check has found it poor."
NOTHING_YET = ModelResponse(Message("assistant", ()))


@dataclass(frozen=True, slots=True)
class Case:
    """A request, what was answered to it so far, and why that is not good enough.

    `tools` are those that the one who answered has beside the tools of the request, `report` is what a check said,
    `fact` what running has shown of the prompt itself.
    """

    request: ModelRequest
    attempt: ModelResponse = NOTHING_YET
    reason: str = ""
    tools: tuple[ToolSpec, ...] = ()
    report: str = ""
    fact: str = ""

    @property
    def place(self) -> int:
        """Where the prompt stands."""
        return prompt_place(self.request.messages)

    def calls_again(self, response: ModelResponse) -> bool:
        """Whether the attempt is an answer, and all that `response` does is to make calls again that led to it."""
        return not self.attempt.tool_calls and calls_again(self.request, response, self.attempt.steps)


def calls_again(request: ModelRequest, response: ModelResponse, steps: Sequence[Message] = ()) -> bool:
    """Whether each call of an answer was made before, since the prompt or in `steps`, with the same arguments."""
    since = (*request.messages[prompt_place(request.messages) + 1 :], *steps)
    schemas = {tool.name: tool.schema for tool in request.tools}

    def key(call: ToolCall) -> str:
        return call_key(call, schemas.get(call.name, {}))

    made = {key(result.call) for message in since for result in message.tool_results}
    return bool(response.tool_calls) and all(key(call) in made for call in response.tool_calls)


def advising(prompt: str, case: Case, sees: Sees, **options: Any) -> ModelRequest:
    """The request for words about a case, by the packaged `prompt`: in text alone, so that no tool is called for it."""
    shown = "\n\n".join(section for section in _sections(case, sees) if section)
    reason = UNSEEN if sees == "prompt" else case.reason or UNSEEN
    asked = Text(filled(prompt, case=shown, reason=reason))
    message = Message("user", (*_pictures(case), asked))
    return ModelRequest((message,), filled("helper"), tool_choice="none", options=options, wants=case.request.wants)


def _sections(case: Case, sees: Sees) -> Iterator[str]:
    messages, place = case.request.messages, case.place
    if sees == "history":
        yield marked("instructions", case.request.system)
        yield marked("history", "\n\n".join(_newest(messages[:place], HISTORY_TOKENS)))
    yield marked("prompt", "".join(message.text for message in messages[place : place + 1]))
    if sees != "prompt":
        yield marked("done_since", "\n\n".join(_newest(messages[place + 1 :], HISTORY_TOKENS)))
        yield told(case)
    yield marked("tools", described(case.request.tools or case.tools))


def told(case: Case) -> str:
    """The attempt, with the calls and results on the way to it and what a check said of it, marked as data."""
    attempt = marked("attempt", "\n\n".join(_newest((*case.attempt.steps, case.attempt.message), ATTEMPT_TOKENS)))
    return "\n\n".join(filter(None, (attempt, marked("check", shortened(case.report, RESULT_CHARACTERS)))))


def done(case: Case) -> str:
    """What the attempt has done with tools, marked as data; empty when it used none."""
    return marked("done", "\n\n".join(_newest(case.attempt.steps, ATTEMPT_TOKENS)))


def described(tools: Iterable[ToolSpec]) -> str:
    """Each tool with its name, what it is for, and the JSON Schema of its arguments."""
    return "\n".join(
        f"{tool.name}: {tool.description}\n  arguments (JSON Schema): {json.dumps(tool.schema, ensure_ascii=False)}"
        for tool in tools
    )


def _newest(messages: Sequence[Message], tokens: int) -> list[str]:
    """What was said, the first (what it is all about) and the newest first where not all fits."""
    if not messages:
        return []
    left = tokens

    def fits(text: str) -> bool:
        nonlocal left
        left -= estimate_text(text)
        return left >= 0

    first, *others = (shortened(_told(message), ATTEMPT_CHARACTERS) for message in messages)
    fits(first)
    kept = list(takewhile(fits, reversed(others)))[::-1]
    missing = len(others) - len(kept)
    return [first, *([f"[{missing} messages left out]"] if missing else []), *kept]


def _told(message: Message) -> str:
    """A message as text: who speaks, what is said, called and returned; what was thought is left out."""
    said = [shortened(message.text, ATTEMPT_CHARACTERS)] if message.text.strip() else []
    said += [f"calls {call.name} {arguments_text(call)}" for call in message.tool_calls]
    said += [
        f"{result.call.name} returned{' an error' if result.is_error else ''}: "
        f"{shortened(result.text, RESULT_CHARACTERS)}"
        for result in message.tool_results
    ]
    who = message.speaker or message.role
    return f"{who}: " + ("\n".join(said) or "(nothing)")


def _pictures(case: Case) -> tuple[Image | Document, ...]:
    """Those that belong to the prompt."""
    asked = case.request.messages[case.place : case.place + 1]
    return tuple(part for message in asked for part in message.parts if isinstance(part, Image | Document))


def with_note(request: ModelRequest, note: str) -> ModelRequest:
    """The request with a note at its end: at the prompt itself where that comes last."""
    *before, last = request.messages or (user(""),)
    if last.role == "user" and not last.tool_results:
        noted = replace(last, parts=(*last.parts, Text(f"\n\n{note}")))
        return replace(request, messages=(*before, noted))
    return replace(request, messages=(*request.messages, user(note)))
