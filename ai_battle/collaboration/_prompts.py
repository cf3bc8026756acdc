"""Builds requests to helpers from packaged prompts; texts of others are marked as data."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from string import ascii_uppercase
from typing import Any, Literal

from ..core.exchange import ModelRequest, ModelResponse, ToolSpec, estimate_text
from ..core.files import prompt_template
from ..core.helping import MOST_CHARACTERS
from ..core.messages import Document, Image, Message, Text, ToolCall, user
from ..judging.assessment import prompt_place
from ..wire.advice import with_cache_mark
from ..wire.dialects.schemas import call_key

Sees = Literal["prompt", "attempt", "history"]
SECTIONS = (
    "instructions", "history", "prompt", "attempt", "check", "tools", "done", "done_since",
    "advice", "criticism", "correction", "message", "question", "earlier_advice", "last_good", "in_vain",
)  # fmt: skip
HISTORY_TOKENS = 6_000
CONSULTATION_TOKENS = 24_000
LAST_SECTIONS = ("check", "question")
"""Sections about the attempt, besides its messages."""
ATTEMPT_TOKENS = 4_000
ATTEMPT_CHARACTERS = 8_000
RESULT_CHARACTERS = 2_000
ANSWER_LIMITS = frozenset(("max_tokens", "stop", "parallel_tool_calls"))
HIDDEN_REASON = "a check has found it poor."
_CACHE_KEY = "as text"
NOTHING_YET = ModelResponse(Message("assistant", ()))


def packaged_prompt(name: str, **values: str) -> str:
    """Returns `prompts/<name>.md` with its places filled in; filled-in text is not substituted again."""
    return prompt_template(__package__, name).substitute(values)


def data_section(tag: str, text: str) -> str:
    """Wraps a text in tags that nothing inside can open or close; empty for an empty text."""
    return f"<{tag}>\n{_tags(tag).sub('&lt;', text).strip()}\n</{tag}>" if text.strip() else ""


def labelled_answers(texts: Iterable[str]) -> str:
    """Renders answers as data under the letters A, B and so on."""
    labelled = zip(ascii_uppercase, texts, strict=False)
    return "\n\n".join(f"Answer {label}:\n{data_section('answer', text)}" for label, text in labelled)


def excerpt(text: str, characters: int) -> str:
    """Returns a text's beginning and end, with the number of characters left out, if it is too long."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def tools_text(tools: Iterable[ToolSpec]) -> str:
    """Lists the tools, each with its description and the JSON Schema of its arguments."""
    return "\n".join(
        f"{tool.name}: {tool.description}\n  arguments (JSON Schema): {json.dumps(tool.schema, ensure_ascii=False)}"
        for tool in tools
    )


@dataclass(frozen=True, slots=True)
class HelpCase:
    """A request, the attempt to answer it, and why that is not good enough.

    `tools` are the client's own, in addition to those of the request. `report` is the report of a check, and `fact` is
    what running code has shown about the prompt itself.
    """

    request: ModelRequest
    attempt: ModelResponse = NOTHING_YET
    reason: str = ""
    tools: tuple[ToolSpec, ...] = ()
    report: str = ""
    fact: str = ""

    @property
    def place(self) -> int:
        """The index of the prompt among the messages."""
        return prompt_place(self.request.messages)

    @property
    def prompt(self) -> tuple[Message, ...]:
        return self.request.messages[self.place : self.place + 1]

    @property
    def attempt_section(self) -> str:
        """The attempt, its calls and results, and the check's report, marked as data."""
        texts = _newest_texts((*self.attempt.steps, self.attempt.message), ATTEMPT_TOKENS)
        check = data_section("check", excerpt(self.report, RESULT_CHARACTERS))
        return "\n\n".join(filter(None, (data_section("attempt", "\n\n".join(texts)), check)))

    def calls_again(self, response: ModelResponse) -> bool:
        """Checks whether `response` only repeats calls that led to the attempt, although that is an answer."""
        return not self.attempt.tool_calls and calls_again(self.request, response, self.attempt.steps)


def calls_again(request: ModelRequest, response: ModelResponse, steps: Sequence[Message] = ()) -> bool:
    """Checks whether the response only repeats calls made since the prompt or in `steps`, with the same arguments."""
    if not response.tool_calls:
        return False
    since = (*request.messages[prompt_place(request.messages) + 1 :], *steps)
    schemas = {tool.name: tool.schema for tool in request.tools}

    def key(call: ToolCall) -> str:
        return call_key(call, schemas.get(call.name, {}))

    made = {key(result.call) for message in since for result in message.tool_results}
    return all(key(call) in made for call in response.tool_calls)


def advice_request(prompt: str, case: HelpCase, sees: Sees, **options: Any) -> ModelRequest:
    """Returns the request for advice on a case, by the packaged `prompt`. It has no tools, so that none is called."""
    shown = "\n\n".join(filter(None, _sections(case, sees)))
    reason = HIDDEN_REASON if sees == "prompt" else case.reason or HIDDEN_REASON
    asked = Text(packaged_prompt(prompt, case=shown, reason=reason))
    return _helper_request(case, packaged_prompt("helper"), (asked,), options)


def _helper_request(case: HelpCase, system: str, texts: Iterable[Text], options: Mapping[str, Any]) -> ModelRequest:
    """Returns a request for words about a case: the prompt's pictures and these texts, without tools."""
    pictures = (part for message in case.prompt for part in message.parts if isinstance(part, Image | Document))
    message = Message("user", (*pictures, *texts))
    return ModelRequest((message,), system, tool_choice="none", options=options, wants=case.request.wants)


def consultation(
    case: HelpCase, sees: Sees, question: str, earlier: str, max_tokens: int, caching: str = ""
) -> ModelRequest:
    """Returns the request for advice during work, with the parts that stay the same between questions first.

    So a provider that caches the beginning of requests reads only what is new. If the provider needs to be told,
    `caching` says for how long. `earlier` is the advice of earlier turns; a helper that sees the history finds it
    there.
    """
    messages = {"history": case.request.messages, "attempt": case.request.messages[case.place :], "prompt": case.prompt}
    unseen = {"history": ("earlier_advice",), "attempt": ("instructions",), "prompt": ("instructions", *LAST_SECTIONS)}

    def sections(**texts: str) -> str:
        shown = (data_section(tag, text) for tag, text in texts.items() if tag not in unseen[sees])
        return "\n\n".join(filter(None, shown))

    stable = sections(tools=tools_text(case.request.tools), instructions=case.request.system)
    new = sections(earlier_advice=earlier, check=excerpt(case.report, RESULT_CHARACTERS), question=question)
    reason = HIDDEN_REASON if sees == "prompt" else case.reason or "it wants to know how to go on."
    texts = (*_texts(messages[sees], caching), Text(packaged_prompt("advisor_question", case=new, reason=reason)))
    system = "\n\n".join(filter(None, (packaged_prompt("advisor"), stable)))
    return _helper_request(case, system, texts, {"max_tokens": max_tokens})


def _texts(messages: Sequence[Message], caching: str) -> list[Text]:
    """Returns each message as a text; with `caching`, the last one carries the provider's cache mark."""
    texts = [Text(f"{data_section('message', text)}\n\n") for text in _newest_texts(messages, CONSULTATION_TOKENS)]
    return [*texts[:-1], with_cache_mark(texts[-1], caching)] if texts and caching else texts


def _sections(case: HelpCase, sees: Sees) -> Iterator[str]:
    messages, place = case.request.messages, case.place
    if sees == "history":
        yield data_section("instructions", case.request.system)
        yield data_section("history", "\n\n".join(_newest_texts(messages[:place], HISTORY_TOKENS)))
    yield data_section("prompt", "".join(message.text for message in case.prompt))
    if sees != "prompt":
        yield data_section("done_since", "\n\n".join(_newest_texts(messages[place + 1 :], HISTORY_TOKENS)))
        yield case.attempt_section
    yield data_section("tools", tools_text(case.request.tools or case.tools))


def request_in_place(case: HelpCase, sees: Sees) -> ModelRequest:
    """Returns the request for a helper that answers itself.

    It has what the helper may see, the tools, and what was done with them so far.
    """
    request = case.request
    if sees != "history":
        end = case.place + 1 if sees == "prompt" else None
        request = replace(request, messages=request.messages[case.place : end], system="", extra={})
    done = data_section("done", "\n\n".join(_newest_texts(case.attempt.steps, ATTEMPT_TOKENS)))
    if sees != "prompt" and done:
        request = with_note(request, packaged_prompt("finished_steps", steps=done))
    return without_tuning(with_fact(request, case.fact))


def with_fact(request: ModelRequest, fact: str) -> ModelRequest:
    """Adds what running code has shown about the prompt, as data."""
    return with_note(request, packaged_prompt("check_result", fact=data_section("check", fact))) if fact else request


def without_tuning(request: ModelRequest) -> ModelRequest:
    """Drops options tuned for the small model; limits of the answer apply to any model."""
    kept = {name: value for name, value in request.options.items() if name in ANSWER_LIMITS}
    return replace(request, options=kept)


def with_note(request: ModelRequest, note: str) -> ModelRequest:
    """Appends a note: to the prompt itself if that comes last, else as a message of its own."""
    *before, last = request.messages or (user(""),)
    if last.role == "user" and not last.tool_results:
        noted = replace(last, parts=(*last.parts, Text(f"\n\n{note}")))
        return replace(request, messages=(*before, noted))
    return replace(request, messages=(*request.messages, user(note)))


def _newest_texts(messages: Sequence[Message], tokens: int) -> list[str]:
    """Returns messages as texts: the first, which states the task, and the newest that fit into `tokens`."""
    if not messages:
        return []
    first = _message_text(messages[0])
    kept = _last_texts(messages[1:], tokens - estimate_text(first), estimate_text)
    missing = len(messages) - 1 - len(kept)
    return [first, *([f"[{missing} messages left out]"] if missing else []), *kept]


def _last_texts(messages: Sequence[Message], room: int, size: Callable[[str], int]) -> list[str]:
    """Returns the texts of the last messages that fit; older messages of a long history are not rendered at all."""
    kept: list[str] = []
    for message in reversed(messages):
        text = _message_text(message)
        room -= size(text)
        if room < 0:
            break
        kept.append(text)
    return kept[::-1]


def _message_text(message: Message) -> str:
    """Renders a message as bounded text: its speaker, text, calls and results, but not its thinking.

    The text is cached in the message, because a conversation is shown again in each of its turns.
    """
    if _CACHE_KEY not in message.encoded:
        text = excerpt(_render_message(message), ATTEMPT_CHARACTERS)
        message.encoded[_CACHE_KEY] = text.encode(errors="surrogatepass")
    return message.encoded[_CACHE_KEY].decode(errors="surrogatepass")


def _render_message(message: Message) -> str:
    lines = [excerpt(message.text, ATTEMPT_CHARACTERS)] if message.text.strip() else []
    lines += [f"calls {call.name} {call.arguments_text}" for call in message.tool_calls]
    lines += [
        f"{result.call.name} returned{' an error' if result.is_error else ''}: "
        f"{excerpt(result.text, RESULT_CHARACTERS)}"
        for result in message.tool_results
    ]
    return f"{message.speaker or message.role}: " + ("\n".join(lines) or "(nothing)")


def bounded_text(message: Message) -> str:
    """Renders an answer's text and calls for people."""
    calls = (f"calls {call.name} {call.arguments_text}" for call in message.tool_calls)
    return excerpt("\n".join(filter(None, (message.text, *calls))), MOST_CHARACTERS)


def shown_text(request: ModelRequest) -> str:
    """Renders the newest part of a request for people."""
    kept = _last_texts(request.messages, MOST_CHARACTERS, len)
    missing = len(request.messages) - len(kept)
    system = f"system: {excerpt(request.system, RESULT_CHARACTERS)}" if request.system else ""
    return "\n\n".join(filter(None, (system, f"[{missing} earlier messages]" if missing else "", *kept)))


@cache
def _tags(tag: str) -> re.Pattern[str]:
    """Matches the beginning of this section's tag, or of any other section's."""
    return re.compile(rf"<(?=\s{{0,3}}/?\s{{0,3}}(?:{'|'.join((tag, *SECTIONS))})\b)", re.IGNORECASE)
