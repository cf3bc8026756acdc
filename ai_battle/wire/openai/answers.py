"""Decodes a server's answers in OpenAI's Chat Completions, whole and streamed, and in its Embeddings API."""

import base64
import mimetypes
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import hypot, isfinite
from typing import Any

from ...core.errors import BadReply
from ...core.events import Event, ThinkingDelta, ToolCallDelta
from ...core.exchange import UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ...core.messages import Document, Image, Message, Part, Text, Thinking, assistant, join_text
from .. import bodies
from ..bodies import count, decode_call, dumps, field_or, given_id, read_arguments, with_ids
from ..errors import empty_answer, error_in_answer, no_answer_error, plausible_usage, readable_answer, require_content
from ..streams import DONE, StreamReader, separate_thought

WIRE = "openai"
own = partial(bodies.own, WIRE)
unknown_fields = partial(bodies.unknown_fields, WIRE)
STOPS: Mapping[Any, Stop] = {
    "length": "length", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter",
    "refusal": "refusal",
}  # fmt: skip
KNOWN_FIELDS = frozenset(("object", "choices", "usage", "model", "obfuscation"))
CHOICE_FIELDS = frozenset(("index", "message", "delta", "finish_reason"))
MESSAGE_FIELDS = frozenset(
    ("role", "content", "name", "reasoning_content", "reasoning", "refusal", "tool_calls", "tool_call_id")
)
CALL_FIELDS = frozenset(("id", "type", "function", "index"))


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `ProviderError` for an error object, and `BadReply` for an empty answer or another kind of body."""
    if not isinstance(body, Mapping) or not (body.get("choices") or body.get("error")):
        raise no_answer_error(dumps(body))
    if body.get("error"):
        raise error_in_answer(body)
    with readable_answer(body):
        choice = body["choices"][0]
        if choice.get("finish_reason") == "error":
            raise error_in_answer(choice)
        message = decode_answer(choice["message"])
        stop, model = _stop_from(choice.get("finish_reason"), message), field_or(body, "model", "")
        message = separate_thought(message, stop)
        extra = unknown_fields({**body, "choice": own(unknown_fields(choice, CHOICE_FIELDS))}, KNOWN_FIELDS)
        usage, id_ = decode_usage(body), given_id(body)
        return require_content(ModelResponse(message, stop=stop, usage=usage, model=model, extra=extra, id=id_))


def decode_embedding(body: Mapping[str, Any]) -> ModelResponse:
    """Returns the vector as text: its numbers with four bytes each, in base64. Its length is one.

    Raises `BadReply` if the body holds no vector or one without a finite, positive length.
    """
    try:
        vector = [float(value) for value in body["data"][0]["embedding"]]
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise BadReply("The answer has no embedding.") from error
    length = hypot(*vector)
    if not (isfinite(length) and length):
        raise BadReply("The embedding has no length.")
    text = base64.b64encode(array("f", (value / length for value in vector)).tobytes()).decode()
    return ModelResponse(assistant(text), usage=decode_usage(body), model=str(body.get("model") or ""))


def _stop_from(reason: Any, message: Message) -> Stop:
    """Returns why the answer ended; "tool_calls" if there are any, as several servers send `stop` with them."""
    if reason in STOPS:
        return STOPS[reason]
    if message.tool_calls:
        return "tool_calls"
    return "refusal" if any(map(is_refusal, message.parts)) else "end"


@plausible_usage
def decode_usage(body: Mapping[str, Any]) -> Usage:
    """Returns the usage, with the cost in dollars that OpenRouter reports."""
    if not (bill := bill_in(body)):
        return UNKNOWN_USAGE
    into: dict[str, Any] = field_or(bill, "prompt_tokens_details", {})
    out: dict[str, Any] = field_or(bill, "completion_tokens_details", {})
    return Usage(
        count(bill, "prompt_tokens"),
        count(bill, "completion_tokens"),
        count(into, "cached_tokens") or count(bill, "prompt_cache_hit_tokens"),
        count(into, "cache_write_tokens"),
        count(out, "reasoning_tokens"),
        float(bill["cost"]) if bill.get("cost") is not None else None,
    )


def bill_in(body: Mapping[str, Any]) -> Any:
    """Returns the usage object, which Groq's streams put into `x_groq`."""
    return body.get("usage") or (body.get("x_groq") or {}).get("usage")


NO_FIELDS: frozenset[str] = frozenset()
PLAIN_FIELDS = frozenset(("role", "content"))


class ChatReader(StreamReader):
    """Assembles one streamed answer. It is whole once a finish reason has come; `[DONE]` is optional.

    From a server that never sends the field `finish_reason`, `[DONE]` is enough.
    """

    end_mark = DONE

    def __init__(self) -> None:
        super().__init__()
        self._first: Mapping[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._reason = ""
        self._gives_reasons = self._refused = False
        self._calls: list[_GrowingCall] = []
        self._latest: dict[Any, _GrowingCall] = {}  # by index and by id, since fragments may have either

    @property
    def whole(self) -> bool:
        return self.is_done or bool(self._reason)

    def finish(self) -> ModelResponse:
        if not self._first and (self.is_done or self.bill):
            raise empty_answer("the server sent no choices")
        if not self._reason and (self._gives_reasons or not self.is_done):
            raise self._cut_error()
        choice = {**self._choice, "message": self._whole_message(), "finish_reason": self._reason}
        return decode_response({**self._first, "choices": [choice], "usage": bill_in(self.bill)})

    def _whole_message(self) -> dict[str, Any]:
        texts = {"refusal" if self._refused else "content": self.text, "reasoning_content": "".join(self._thoughts)}
        return {**self._message, **texts, "tool_calls": [growing.whole() for growing in self._calls]}

    def _read(self, name: str, chunk: Mapping[str, Any], events: list[Event]) -> str:
        if bill_in(chunk):
            self.bill = chunk
        if not (choices := chunk.get("choices")):
            self.is_done = bool(self.bill and self._reason)
            return ""
        self._first = self._first or chunk
        texts = [self._read_choice(choice, events) for choice in choices]
        return texts[0] if len(texts) == 1 and self.bill is not chunk else ""

    def _read_choice(self, choice: dict[str, Any], events: list[Event]) -> str:
        """Reads a choice. Returns its text if it brings nothing else."""
        if choice.get("index"):
            return ""  # requests ask for one choice, so further ones are dropped
        delta = choice.get("delta") or {}
        content = delta.get("content")
        if isinstance(content, str) and delta.keys() <= PLAIN_FIELDS:
            self._say_or_think(content, events)
            return "" if self._has_ended(choice, events) or not self._splitter.is_past else content
        self._read_rare(delta, events)
        self._has_ended(choice, events)
        return ""

    def _has_ended(self, choice: Mapping[str, Any], events: list[Event]) -> bool:
        """Reads the fields next to the delta. Returns whether there were any."""
        reason, probabilities = choice.get("finish_reason"), choice.get("logprobs")
        self._gives_reasons = self._gives_reasons or "finish_reason" in choice
        if reason == "error":
            raise error_in_answer(choice, "always", self.text)
        if reason:
            self._reason = reason
            self._end_content(events, is_cut=STOPS.get(reason) == "length")
            _merge(self._choice, choice, CHOICE_FIELDS | {"logprobs"})
        if probabilities:
            _merge(self._choice, {"logprobs": probabilities}, NO_FIELDS)
        return bool(reason or probabilities)

    def _read_rare(self, delta: dict[str, Any], events: list[Event]) -> None:
        if len(delta) > 1 or "tool_calls" not in delta:
            self._read_words(delta, events)
        events += [self._grow_call(fragment) for fragment in delta.get("tool_calls") or ()]

    def _read_words(self, delta: dict[str, Any], events: list[Event]) -> None:
        for part in decode_words(delta):
            if is_refusal(part) and not self._refused:
                self._refused = True
                events.append(REFUSES)
            if isinstance(part, Text | Thinking):
                (self._say_or_think if isinstance(part, Text) else self._think)(part.text, events)
        _merge(self._message, delta, MESSAGE_FIELDS)

    def _grow_call(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        """Adds a fragment to its call, found by index, or else by id, or else the last one without an index."""
        function, index = fragment.get("function") or {}, fragment.get("index")
        id_, name, arguments = given_id(fragment), field_or(function, "name", ""), _arguments_text(function)
        growing = self._latest.get((id_ or None) if index is None else index)
        if growing and not growing.ends_before(id_, name):
            growing.name = growing.name or name
            growing.fragments.append(arguments)
            return ToolCallDelta(growing.number, arguments=arguments)
        number, own_id = self._number_call(id_)
        growing = _GrowingCall(number, id_, name, {**fragment, "id": own_id}, [arguments])
        self._calls.append(growing)
        self._latest |= {id_: growing, index: growing}  # later fragments give either or neither
        return ToolCallDelta(number, own_id, name, arguments)


def _arguments_text(function: Mapping[str, Any]) -> str:
    """Returns arguments as text, since some servers related to Ollama send the object itself."""
    arguments = function.get("arguments") or ""
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()


def _merge(into: dict[str, Any], fields: Mapping[str, Any], known: frozenset[str]) -> None:
    """Merges fields of a chunk into those before. Appends to lists, even inside objects (`logprobs.content`)."""
    for key, value in fields.items():
        if key in known or value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value, NO_FIELDS)
        elif isinstance(value, list):
            into[key] = into.get(key, []) + value
        else:
            into[key] = value


@dataclass(slots=True)
class _GrowingCall:
    number: int
    given_id: str
    name: str
    body: Mapping[str, Any]
    fragments: list[str]

    def whole(self) -> dict[str, Any]:
        return {**self.body, "function": {"name": self.name, "arguments": "".join(self.fragments)}}

    def ends_before(self, given_id: str, name: str) -> bool:
        """Returns whether a new id, or a name after whole arguments, starts another call.

        Several servers give all calls the same index.
        """
        if given_id and self.given_id:
            return given_id != self.given_id
        return bool(name) and any(self.fragments) and not read_arguments("".join(self.fragments))[1]


def decode_answer(body: Mapping[str, Any]) -> Message:
    """Decodes a model's message, ignoring the role that it states."""
    return Message("assistant", with_ids(tuple(decode_parts(body))), extra=unknown_fields(body, MESSAGE_FIELDS))


def decode_words(body: Mapping[str, Any]) -> Iterable[Part]:
    """Yields all parts except calls. Reads one field of reasoning, as servers that send both send the same text."""
    if reasoning := field_or(body, "reasoning_content", "") or field_or(body, "reasoning", ""):
        yield Thinking(reasoning)
    yield from decode_content(body.get("content"))
    if refusing := field_or(body, "refusal", ""):
        yield refusal(refusing)


def decode_parts(body: Mapping[str, Any]) -> Iterable[Part]:
    yield from decode_words(body)
    for call in body.get("tool_calls") or ():
        yield decode_call(call, WIRE, CALL_FIELDS)


def refusal(text: str) -> Text:
    """Returns a refusal, which this API has as a separate kind of part."""
    return Text(text, extra={WIRE: {"type": "refusal", "refusal": text}})


def is_refusal(part: Part) -> bool:
    return isinstance(part, Text) and own(part.extra).get("type") == "refusal"


REFUSES = ThinkingDelta("", extra=refusal("").extra)
"""Announces that the following text is a refusal."""


def refuses(event: Event) -> bool:
    return type(event) is ThinkingDelta and event.extra is not None and own(event.extra).get("type") == "refusal"


def decode_content(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, Mapping):
        raise TypeError("content is an object")
    return tuple(Text(part) if isinstance(part, str) else _decode_part(part) for part in content or ())


def _decode_part(part: Mapping[str, Any]) -> Part:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text, extra=unknown_fields(part, frozenset(("type", "text"))))
        case {"type": "refusal", "refusal": str(text)}:
            return refusal(text)
        case {"type": "image_url", "image_url": {"url": str()} as image}:
            return image_at(image["url"], unknown_fields(image, frozenset(("url",))))
        case {"type": "image_url", "image_url": str(url)}:
            return image_at(url, {})
        case {"type": "file", "file": {"file_data": str(url)} as file}:
            extra = unknown_fields(file, frozenset(("filename", "file_data")))
            return document_at(url, field_or(file, "filename", ""), extra)
        case {"type": "input_audio", "input_audio": {"data": str(), "format": str()}}:
            return audio(part)
        case {"type": "thinking", "thinking": list(thoughts)}:  # Mistral's
            return Thinking(join_text(decode_content(thoughts)))
    return Text("", extra={WIRE: dict(part)})


def image_at(url: str, extra: Mapping[str, Any]) -> Image:
    """Returns the picture at a URL, which may be a data URL."""
    if (read := _read_data_url(url)) is not None:
        return Image(*read, extra=extra)
    return Image(mimetypes.guess_type(url)[0] or "image/png", url=url, extra=extra)


def document_at(url: str, name: str, extra: Mapping[str, Any]) -> Document:
    """Returns the file at a URL, which may be a data URL."""
    if (read := _read_data_url(url)) is not None:
        return Document(*read, name=name, extra=extra)
    return Document(mimetypes.guess_type(name or url)[0] or "application/pdf", url=url, name=name, extra=extra)


def audio(part: Mapping[str, Any]) -> Document:
    """Returns a recording as a file for other APIs; this API gets the original part back."""
    sound = part["input_audio"]
    return Document(f"audio/{sound['format']}", base64.b64decode(sound["data"]), extra={WIRE: dict(part)})


def _read_data_url(url: str) -> tuple[str, bytes] | None:
    """Returns media type and bytes, or None for any other URL. Raises `ValueError` for broken base64."""
    start, comma, encoded = url.partition(",")
    if not comma or not start.startswith("data:") or not start.endswith(";base64"):
        return None
    return start[5:-7].partition(";")[0], base64.b64decode(encoded)
