"""Google's generateContent, the side of a client: requests, and answers streamed or not."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ..core.errors import BadReply, Refused
from ..core.events import Event, ToolCallDelta
from ..core.exchange import UNKNOWN_USAGE, ModelRequest, ModelResponse, Stop, ToolSpec, Usage
from ..core.messages import Document, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from . import streams
from .bodies import ANY_OBJECT, count, dumps, field_or, own, present, required_field, unknown_fields
from .errors import empty_answer, no_answer_error, plausible_usage, readable_answer, require_content
from .errors import http_error as decode_error
from .messages import turns, with_ids

__all__ = [
    "WIRE", "StreamReader", "decode_error", "decode_response", "decode_usage", "encode_request", "unsupported_options",
]  # fmt: skip

WIRE = "gemini"

Body = dict[str, Any]

NAMES = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
KNOWN_OPTIONS = {*NAMES, "reasoning", "cache"}  # prompts are cached without being asked to

BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
SMALLEST_BUDGET = 128  # of the models that can't stop thinking
LEVELS = {"none": "MINIMAL", "minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
MODES = {"none": "NONE", "required": "ANY", "auto": "AUTO"}

GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")

# Every other reason ends an answer that was filtered: SAFETY, RECITATION, BLOCKLIST, PROHIBITED_CONTENT, SPII, ...
STOPS: Mapping[str | None, Stop] = {
    None: "end",
    "FINISH_REASON_UNSPECIFIED": "end",
    "STOP": "end",
    "OTHER": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "TOO_MANY_TOOL_CALLS": "pause",
}
# The model tried to say something that can't be used; another try may bring it.
SLIPS = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})

MARKS = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion"})  # of an answer of this API
READ = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})
READ_IN_CANDIDATE = frozenset({"content", "finishReason", "index"})

PART_FIELDS = ("text", "functionCall", "inlineData", "fileData")
# What Google documents for calls that another model made: Gemini 3 refuses a turn of calls without a signature.
UNSIGNED = {"thoughtSignature": "skip_thought_signature_validator"}
ROLES: Mapping[Role, bytes] = {"system": b"user", "user": b"user", "tool": b"user", "assistant": b"model"}
TURNS = {role: b'{"role":"%b","parts":[' % theirs for role, theirs in ROLES.items()}


def encode_request(request: ModelRequest, model: str, *, stream: bool = False) -> bytes:
    """Returns the body, without the options that are unsupported; it is the same for a stream.

    The model and whether to stream stand in the address.
    """
    head: Body = own(WIRE, request.extra)
    if request.system:
        head["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        head["tools"] = [{"functionDeclarations": [*map(_encode_tool, request.tools)]}]
    head |= _encode_choice(request) | _encode_config(request, model)
    start = dumps(head)[:-1] + b"," if head else b"{"
    modern = generation(model) >= (3, 0)
    contents = turns(_encode_message(message, modern=modern) for message in request.messages)
    return b"".join((start, b'"contents":[', *contents, b"]}"))


def unsupported_options(options: Mapping[str, Any], model: str = "") -> tuple[str, ...]:
    """Returns the options that are set and that a request to `model` leaves out."""
    given = present(options)
    return tuple(
        name for name in given if name not in KNOWN_OPTIONS or (name == "reasoning" and not _takes(given[name], model))
    )


def generation(model: str) -> tuple[int, int]:
    """(2, 5) for `gemini-2.5-flash`; names without a number (`gemini-flash-latest`) are the newest."""
    found = GENERATION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)


def _encode_config(request: ModelRequest, model: str) -> Body:
    options = present(request.options)
    config: Body = {NAMES[name]: value for name, value in options.items() if name in NAMES and value != []}
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if thinking := _thinking(options.get("reasoning", ""), model):
        config["thinkingConfig"] = thinking
    if request.output_schema is not None:
        config["responseMimeType"] = "application/json"
        if request.output_schema != ANY_OBJECT:
            config["responseJsonSchema"] = request.output_schema
    return {"generationConfig": config} if config else {}


def _encode_choice(request: ModelRequest) -> Body:
    if not request.tools or request.tool_choice == "auto":
        return {}
    calling: Body = {"mode": MODES.get(request.tool_choice, "ANY")}
    if request.tool_choice not in MODES:
        calling["allowedFunctionNames"] = [request.tool_choice]
    return {"toolConfig": {"functionCallingConfig": calling}}


def _takes(level: str, model: str) -> bool:
    """Models before 2.5 do not think."""
    return level in BUDGETS and (level == "none" or generation(model) >= (2, 5))


def _thinking(level: str, model: str) -> dict[str, Any]:
    """Gemini 3 takes a level, 2.5 a budget, earlier ones nothing; the large ones always think a little."""
    if not _takes(level, model):
        return {}
    always = "-pro" in model
    shown = {} if level == "none" else {"includeThoughts": True}
    if generation(model) >= (3, 0):
        return {"thinkingLevel": "LOW" if always and LEVELS[level] == "MINIMAL" else LEVELS[level], **shown}
    if generation(model) < (2, 5):
        return {}
    return {"thinkingBudget": max(BUDGETS[level], SMALLEST_BUDGET if always else 0), **shown}


def _encode_message(message: Message, *, modern: bool) -> tuple[bytes, bytes]:
    """Returns how a turn in its role opens, and its parts, joined by commas, for all later requests too."""
    key = f"{WIRE} modern" if modern else WIRE
    if key not in message.encoded:
        message.encoded[key] = dumps(_encode_parts(message.parts, modern=modern))[1:-1]
    return TURNS[message.role], message.encoded[key]


def _encode_tool(tool: ToolSpec) -> Body:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parametersJsonSchema": tool.schema, **own(WIRE, tool.extra)}


def _encode_parts(parts: Iterable[Part], *, modern: bool) -> list[Body]:
    """Encodes the parts; `modern` is Gemini 3 and later, with signed calls and pictures inside of results."""
    bodies = [body for part in parts for body in _encode_part(part, modern)]
    calls = [body for body in bodies if "functionCall" in body]
    if modern and calls and not any("thoughtSignature" in call for call in calls):
        calls[0] |= UNSIGNED
    return bodies


def _encode_part(part: Part, modern: bool) -> list[Body]:
    extra = own(WIRE, part.extra)
    if "part" in extra:
        return [dict(extra["part"])]
    match part:
        case Text("") if not extra:
            return []
        case Text(text):
            return [{"text": text, **extra}]
        case Thinking(text):
            return [{"text": text, "thought": True, **extra}]
        case ToolCall(name, arguments, id_):
            return [{"functionCall": {"name": name, "args": dict(arguments), **_id(id_)}, **extra}]
        case ToolResult():
            return _encode_result(part, modern)
        case Image() | Document():
            return [{**_file(part), **extra}]


def _encode_result(result: ToolResult, modern: bool) -> list[Body]:
    answer = {"error" if result.is_error else "output": result.text}
    body: Body = {"name": result.call.name, "response": answer, **_id(result.call.id), **own(WIRE, result.extra)}
    files = [_file(shown) for shown in result.parts if isinstance(shown, Image | Document)]
    if files and modern:
        return [{"functionResponse": {**body, "parts": files}}]
    return [{"functionResponse": body}, *files]


def _file(file: Image | Document) -> Body:
    if not file.data:
        return {"fileData": {"mimeType": file.media_type, "fileUri": file.url}}
    return {"inlineData": {"mimeType": file.media_type, "data": b64encode(file.data).decode()}}


def _id(id_: str) -> Body:
    return {"id": id_} if id_ else {}


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `BadReply` for an empty answer, a malformed call and what is no answer, `Refused` for a blocked prompt."""
    if not isinstance(body, Mapping) or not MARKS & body.keys():
        raise no_answer_error(dumps(body))
    with readable_answer(body):
        candidate = (body.get("candidates") or [{}])[0]
        response = _decode(body, candidate)
        blocked: Body = field_or(body, "promptFeedback", {})
        ended = _sentence("The model ended without an answer", candidate, "finishReason", "finishMessage")
    if "blockReason" in blocked:
        raise Refused(_sentence("The prompt was blocked", blocked, "blockReason", "blockReasonMessage"))
    if candidate.get("finishReason") in SLIPS:
        raise BadReply(ended, again="once", partial=response.text)
    return require_content(response, ended)


@plausible_usage
def decode_usage(body: Mapping[str, Any]) -> Usage:
    if not (usage := body.get("usageMetadata")):
        return UNKNOWN_USAGE
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount"),
        count(usage, "candidatesTokenCount") + thoughts,
        cache_read_tokens=count(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )


def _decode(body: Mapping[str, Any], candidate: Mapping[str, Any]) -> ModelResponse:
    parts = (candidate.get("content") or {}).get("parts") or ()
    message = Message("assistant", with_ids(tuple(_join_texts(_decode_part(part) for part in parts))))
    stop = STOPS.get(candidate.get("finishReason"), "content_filter")
    about = own(WIRE, unknown_fields(WIRE, candidate, READ_IN_CANDIDATE))
    return ModelResponse(
        message,
        stop="tool_calls" if message.tool_calls and stop == "end" else stop,
        usage=decode_usage(body),
        model=field_or(body, "modelVersion", ""),
        extra=unknown_fields(WIRE, {**body, "candidate": about}, READ),
        id=str(field_or(body, "responseId", "")),
    )


def _join_texts(parts: Iterable[Part]) -> Iterator[Part]:
    """Makes one text of a text that came in several parts, as it is in a stream."""
    for kind, run in groupby(parts, _bare):
        if kind is None:
            yield from run
        else:
            yield kind("".join(part.text for part in run if isinstance(part, Text | Thinking)))


def _bare(part: Part) -> type[Text] | type[Thinking] | None:
    """Returns the kind of a text that nothing else is said of: what is signed stays as it came."""
    match part:
        case Text(extra=extra) if not extra:
            return Text
        case Thinking(signature="", extra=extra) if not extra:
            return Thinking
    return None


def _sentence(what: str, body: Mapping[str, Any], reason: str, message: str) -> str:
    return f"{what}: {body.get(reason)}. {body.get(message) or ''}".rstrip()


def _decode_part(body: Mapping[str, Any]) -> Part:
    """Keeps as `extra` what our values have no fields for (`thoughtSignature`, `videoMetadata`).

    A part without a counterpart in our values is kept whole and goes back as it came.
    """
    field = next((name for name in PART_FIELDS if body.get(name) is not None), "")
    extra = unknown_fields(WIRE, body, frozenset((field, "thought") if field == "text" else (field,)))
    if field == "text":
        return (Thinking if body.get("thought") else Text)(required_field(body, "text", str), extra=extra)
    if not field:
        return Text("", extra={WIRE: {"part": dict(body)}})
    inner = body[field]
    if field == "functionCall":
        arguments: Body = field_or(inner, "args", {})
        return ToolCall(required_field(inner, "name", str), arguments, field_or(inner, "id", ""), extra=extra)
    return _decode_file(inner, extra)


def _decode_file(body: Mapping[str, Any], extra: Mapping[str, Any]) -> Image | Document:
    media_type = field_or(body, "mimeType", "")
    data, url = _read_base64(field_or(body, "data", "")), field_or(body, "fileUri", "")
    return (Image if media_type.startswith("image/") else Document)(media_type, data, url, extra=extra)


def _read_base64(text: str) -> bytes:
    """Google's own client writes the alphabet of addresses, others the usual one, some leave the padding out."""
    return b64decode(text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4))


class GeminiReader(streams.StreamReader):
    """Puts the answer together from its pieces; whole only when a finish reason has come."""

    def __init__(self) -> None:
        super().__init__()
        self.bill = self._answer = Body()
        self._candidate: Body = {}
        self._parts: list[tuple[Body, list[str]]] = []

    @property
    def whole(self) -> bool:
        # Nothing says that it is done before the body ends: some models give a finish reason with each of their pieces.
        return "finishReason" in self._candidate or "blockReason" in self._answer.get("promptFeedback", ())

    def finish(self) -> ModelResponse:
        if not self.whole:
            if self._answer and not self._candidate and not self._tokens.unread:
                raise empty_answer("the server sent no candidates")
            raise self._cut_error()
        parts = [{"text": "".join(texts), **body} if texts else body for body, texts in self._parts]
        candidate = {**self._candidate, "content": {"role": "model", "parts": parts}}
        return decode_response({**self._answer, "candidates": [candidate]})

    def _read(self, name: str, event: dict[str, Any], events: list[Event]) -> str:
        for candidate in event.get("candidates") or ():
            if not candidate.get("index"):
                self._read_candidate(candidate, events)
        self._answer.update(event)
        return ""

    def _read_candidate(self, candidate: Mapping[str, Any], events: list[Event]) -> None:
        for part in (candidate.get("content") or {}).get("parts") or ():
            if "functionCall" in part:
                self._add_call(dict(part), events)
            elif part.get("text") is None:
                self._parts.append((dict(part), []))
            else:
                about = {name: value for name, value in part.items() if name != "text"}
                self._add_text(required_field(part, "text", str), about, events)
        self._candidate.update({name: value for name, value in candidate.items() if value is not None})

    def _add_text(self, text: str, about: Body, events: list[Event]) -> None:
        """Adds to the text before, unless the piece is signed: a signature speaks of its own piece alone."""
        last, texts = self._parts[-1] if self._parts else ({}, [])
        if texts and last == about and "thoughtSignature" not in about:
            texts.append(text)
        else:
            self._parts.append((about, [text]))
        (self._think if about.get("thought") else self._say)(text, events)

    def _add_call(self, part: Body, events: list[Event]) -> None:
        call = {**part["functionCall"]}
        number, call["id"] = self._number_call(field_or(call, "id", ""))
        self._parts.append(({**part, "functionCall": call}, []))
        arguments = dumps(call.get("args") or {}).decode()
        events.append(ToolCallDelta(number, call["id"], required_field(call, "name", str), arguments))


StreamReader = GeminiReader
