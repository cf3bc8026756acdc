"""What the two models of the boost loop are asked: one to plan in text alone, the other to carry the plan out."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..core.exchange import ModelRequest, ToolSpec
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ._boost_reply import Guidance
from ._boost_template import Template
from ._prompts import arguments_text, data_section, excerpt, packaged_prompt, tools_text, with_note
from ._turn import Sees

_ATTEMPT_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """A reply that led to nothing, and why; `answer` is what the auxiliary model said to it."""

    reply: str
    why: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Planning:
    """What there is to plan: a request, the tools that it can be met with, and what was tried."""

    request: ModelRequest
    tools: tuple[ToolSpec, ...]
    attempts: Sequence[Attempt] = ()

    def asked(self, template: Template, sees: Sees) -> ModelRequest:
        """The request to the boost model: the conversation so far, and the template around what is asked now.

        There is no tools parameter, and no part that an API takes only beside one. Of the options only the length goes
        along, as a plan is paid for like an answer, and may become one.
        """
        most = self.request.options.get("max_tokens")
        bound = {} if most is None else {"max_tokens": most}
        messages, place = self.request.messages, _place(self.request.messages)
        wrapped = template.filled(
            loop=str(len(self.attempts)),
            previous_attempts="\n\n".join(_attempts(self.attempts, sees)) or "none",
            request=self._request_text(place, sees),
            tools=tools_text(self.tools),
        )
        now = messages[place:] if sees == "history" else messages[place : place + 1]
        asked = Message("user", (*_pictures(now), Text(wrapped)))
        if sees != "history":
            return ModelRequest((asked,), tool_choice="none", options=bound, wants=self.request.wants)
        before = (plain for message in messages[:place] if (plain := in_text(message)).parts)
        conversation, wants = (*before, asked), self.request.wants
        return ModelRequest(conversation, self.request.system, tool_choice="none", options=bound, wants=wants)

    def _request_text(self, place: int, sees: Sees) -> str:
        """Never empty: what the user wants, what was done for it since, and the form that the answer must have."""
        now = self.request.messages[place:]
        text = now[0].text.strip() if now else ""
        done = "\n\n".join(map(_told, now[1:])) if sees == "history" else ""
        schema = self.request.output_schema
        sections = (
            text or ("[see what is attached]" if _pictures(now) else "[go on with the conversation above]"),
            done and f"What was done for it so far:\n{data_section('done_so_far', done)}",
            f"A SUMMARY has to be JSON that fits this schema: {json.dumps(schema, ensure_ascii=False)}"
            if schema
            else "",
        )
        return "\n\n".join(section for section in sections if section)


def guided(request: ModelRequest, guidance: Guidance) -> ModelRequest:
    """The whole original request, with its tools, and the plan at its end."""
    analysis = f"ANALYSIS:\n{guidance.analysis}\n\n" if guidance.analysis else ""
    return with_note(request, packaged_prompt("boosted", plan=f"{analysis}GUIDANCE:\n{guidance.guidance}"))


def has_new_results(request: ModelRequest) -> bool:
    """Whether tools have returned something since the model spoke last."""
    for message in reversed(request.messages):
        if message.role == "assistant":
            return False
        if message.tool_results:
            return True
    return False


def in_text(message: Message) -> Message:
    """The message without parts that need tools; what was thought is left out."""
    if not any(isinstance(part, Thinking | ToolCall | ToolResult) for part in message.parts):
        return message
    parts = tuple(plain for part in message.parts for plain in _in_text(part))
    return Message("user" if message.role == "tool" else message.role, parts, message.speaker)


def _place(messages: Sequence[Message]) -> int:
    """Where the request begins: the last message of a user that is more than what tools returned, or a note to it."""
    for number in reversed(range(len(messages))):
        message, before = messages[number], messages[number - 1] if number else None
        if message.role == "user" and not message.tool_results and not (before and before.tool_results):
            return number
    return len(messages)


def _attempts(attempts: Iterable[Attempt], sees: Sees) -> Iterator[str]:
    for number, attempt in enumerate(attempts):
        answer = data_section("its_answer", excerpt(attempt.answer, _ATTEMPT_CHARACTERS)) if sees != "prompt" else ""
        reply = data_section("reply", excerpt(attempt.reply, _ATTEMPT_CHARACTERS))
        yield f"\nLoop {number} failed: {attempt.why}\n{reply}\n{answer}".rstrip()


def _told(message: Message) -> str:
    said = "\n".join(part.text for part in in_text(message).parts if isinstance(part, Text))
    return f"{message.role}: {said}"


def _in_text(part: Part) -> Iterator[Part]:
    match part:
        case Thinking():
            return
        case ToolCall():
            yield Text(f"[called {part.name} with {arguments_text(part)}]\n")
        case ToolResult():
            yield Text(f"[{part.call.name} returned{' an error' if part.is_error else ''}: {part.text}]\n")
            yield from (inner for inner in part.parts if isinstance(inner, Image))
        case _:
            yield part


def _pictures(messages: Iterable[Message]) -> tuple[Image | Document, ...]:
    return tuple(part for m in messages for part in in_text(m).parts if isinstance(part, Image | Document))
