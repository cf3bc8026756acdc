"""Builds the boost model's requests: the conversation as text, with a template around what is asked now."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, ToolSpec
from ..core.files import prompt_template
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ..judging.assessment import prompt_place
from ._prompts import Sees, data_section, excerpt, tools_text

HERE = Path()
_ATTEMPT_CHARACTERS = 4_000
_PLACE = re.compile(
    r"\$(?P<name>loop|previous_attempts|request|tools)(?![A-Za-z0-9_])"
    r"|\{(?P<old>loop_count|previous_attempts|user_request|tools_text)\}"
)
_OLD_PLACES = {"loop_count": "loop", "user_request": "request", "tools_text": "tools"}
_ELSEWHERE = "In the environment it is BOOST_WRAPPER_TEMPLATE."


@dataclass(frozen=True, slots=True)
class BoostTemplate:
    """A text with the places `$loop $previous_attempts $request $tools`, or in their older spelling.

    All other dollars and braces are literal. Raises `ConfigError` if there is no place for the request.
    """

    text: str
    name: str = "The template of boost"

    def __post_init__(self) -> None:
        if "request" not in map(_place_name, _PLACE.finditer(self.text)):
            raise ConfigError(
                f"{self.name} has no place for the request; write $request (or {{user_request}}) where it belongs."
                f" {_ELSEWHERE}",
                "template",
            )

    @classmethod
    def read(cls, stated: str, base: Path = HERE) -> "BoostTemplate":
        """Returns the template that `stated` is, or that a path (relative to `base`) leads to.

        An empty text means the packaged template. Raises `ConfigError`.
        """
        if not stated.strip():
            return cls(prompt_template(__package__, "boost").template, "prompts/boost.md")
        if "\n" in stated or _PLACE.search(stated):
            return cls(stated)
        try:
            text = (base / Path(stated).expanduser()).read_text(encoding="utf-8")
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(
                f"The template of boost is {excerpt(stated, 100)!r}: no text with a place for the request"
                f" ($request or {{user_request}}) and no file that can be read ({reason}). {_ELSEWHERE}",
                "template",
            ) from error
        return cls(text, f"The template of boost, {stated},")

    def fill(self, **values: str) -> str:
        """Returns the text with its places filled in; filled-in text is not substituted again."""
        return _PLACE.sub(lambda place: values[_place_name(place)], self.text)


def _place_name(place: re.Match[str]) -> str:
    return place["name"] or _OLD_PLACES.get(place["old"], place["old"])


@dataclass(frozen=True, slots=True)
class FailedPlan:
    """A plan that led to nothing, and why; `answer` is what the auxiliary model said to it."""

    reply: str
    why: str
    answer: str = ""


def plan_request(
    template: BoostTemplate,
    request: ModelRequest,
    tools: Sequence[ToolSpec],
    failed: Sequence[FailedPlan],
    sees: Sees,
) -> ModelRequest:
    """Returns the request to the boost model: the conversation so far, and the template around the current request.

    It has no tools parameter, and no parts that an API accepts only together with one. Of the options it keeps only the
    length, because a plan is paid for like an answer, and may become one.
    """
    messages, place = request.messages, prompt_place(request.messages)
    now = messages[place:] if sees == "history" else messages[place : place + 1]
    wrapped = template.fill(
        loop=str(len(failed)),
        previous_attempts="\n\n".join(_failed_plans(failed, sees)) or "none",
        request=_request_text(request, now),
        tools=tools_text(tools),
    )
    wrapped_message = Message("user", (*_pictures(now), Text(wrapped)))
    before = (plain for message in messages[:place] if (plain := _in_text(message)).parts) if sees == "history" else ()
    system = request.system if sees == "history" else ""
    most = request.options.get("max_tokens")
    options = {} if most is None else {"max_tokens": most}
    return ModelRequest((*before, wrapped_message), system, tool_choice="none", options=options, wants=request.wants)


def has_new_results(request: ModelRequest) -> bool:
    """Checks whether tools have returned something since the model last spoke."""
    for message in reversed(request.messages):
        if message.role == "assistant" or message.tool_results:
            return message.role != "assistant"
    return False


def _request_text(request: ModelRequest, now: Sequence[Message]) -> str:
    """Returns the user's request, what was done for it, and the form that the answer must have; never empty."""
    done = "\n\n".join(map(_message_text, now[1:]))
    schema = request.output_schema
    nothing = "[see what is attached]" if _pictures(now) else "[go on with the conversation above]"
    sections = (
        (now[0].text.strip() if now else "") or nothing,
        done and f"What was done for it so far:\n{data_section('done_so_far', done)}",
        f"A SUMMARY has to be JSON that fits this schema: {json.dumps(schema, ensure_ascii=False)}" if schema else "",
    )
    return "\n\n".join(filter(None, sections))


def _message_text(message: Message) -> str:
    text = "\n".join(part.text for part in _in_text(message).parts if isinstance(part, Text))
    return f"{message.role}: {text}"


def _failed_plans(failed: Iterable[FailedPlan], sees: Sees) -> Iterator[str]:
    for number, plan in enumerate(failed):
        answer = data_section("its_answer", excerpt(plan.answer, _ATTEMPT_CHARACTERS)) if sees != "prompt" else ""
        reply = data_section("reply", excerpt(plan.reply, _ATTEMPT_CHARACTERS))
        yield f"\nLoop {number} failed: {plan.why}\n{reply}\n{answer}".rstrip()


def _in_text(message: Message) -> Message:
    """Returns the message with calls and results as text, and without thinking."""
    if not any(isinstance(part, Thinking | ToolCall | ToolResult) for part in message.parts):
        return message
    parts = tuple(plain for part in message.parts for plain in _text_parts(part))
    return Message("user" if message.role == "tool" else message.role, parts, message.speaker)


def _text_parts(part: Part) -> Iterator[Part]:
    match part:
        case Thinking():
            return
        case ToolCall():
            yield Text(f"[called {part.name} with {part.arguments_text}]\n")
        case ToolResult():
            yield Text(f"[{part.call.name} returned{' an error' if part.is_error else ''}: {part.text}]\n")
            yield from (inner for inner in part.parts if isinstance(inner, Image))
        case _:
            yield part


def _pictures(messages: Iterable[Message]) -> tuple[Image | Document, ...]:
    return tuple(part for m in messages for part in _in_text(m).parts if isinstance(part, Image | Document))
