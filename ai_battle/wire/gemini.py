"""The client's side of Google's generateContent API: encodes requests, decodes answers, streamed or whole."""

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
from .bodies import ANY_OBJECT, count, dumps, field_or, own, present, required_field, turns, unknown_fields, with_ids
from .errors import empty_answer, no_answer_error, plausible_usage, readable_answer, require_content

__all__ = [
    "WIRE", "StreamReader", "decode_response", "decode_usage", "encode_request", "unsupported_options",
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
KNOWN_OPTIONS = {*NAMES, "reasoning", "cache"}  # Google caches prompts unasked

BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
PRO_BUDGET, LITE_BUDGET = 128, 512  # tokens: the least of models that always think, and of those of flash-lite
LEVELS = {"none": "MINIMAL", "minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
MODES = {"none": "NONE", "required": "ANY", "auto": "AUTO"}

GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")

# All other reasons mean a filtered answer: SAFETY, RECITATION, BLOCKLIST, PROHIBITED_CONTENT, SPII, ...
STOPS: Mapping[str | None, Stop] = {
    None: "end",
    "FINISH_REASON_UNSPECIFIED": "end",
    "STOP": "end",
    "OTHER": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "TOO_MANY_TOOL_CALLS": "pause",
}
# The model's output was unusable; a retry may succeed.
UNUSABLE = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})

MARKS = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion"})  # one at least is in each answer
READ_FIELDS = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})
CANDIDATE_FIELDS = frozenset({"content", "finishReason", "index"})

PART_FIELDS = ("text", "functionCall", "inlineData", "fileData")
# Gemini 3 rejects a turn of calls without a signature; Google documents this value for calls of another model.
PLACEHOLDER_SIGNATURE = {"thoughtSignature": "skip_thought_signature_validator"}
ROLES: Mapping[Role, bytes] = {"system": b"user", "user": b"user", "tool": b"user", "assistant": b"model"}
TURNS = {role: b'{"role":"%b","parts":[' % theirs for role, theirs in ROLES.items()}


def encode_request(request: ModelRequest, model: str, *, stream: bool = False) -> bytes:
    """Returns the JSON body, without unsupported options. The URL, not the body, gives the model and streaming."""
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
    """Returns the names of given options that a request to `model` omits."""
    given = present(options)
    return tuple(
        name for name in given if name not in KNOWN_OPTIONS or (name == "reasoning" and not _takes(given[name], model))
    )


def generation(model: str) -> tuple[int, int]:
    """Returns (2, 5) for `gemini-2.5-flash`, and (99, 0) for names without a number such as `gemini-flash-latest`."""
    found = GENERATION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)


def _encode_config(request: ModelRequest, model: str) -> Body:
    options = present(request.options)
    config: Body = {NAMES[name]: value for name, value in options.items() if name in NAMES and value != []}
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if thinking := _thinking(options.get("reasoning", ""), model, options.get("max_tokens")):
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
    """Returns whether the model accepts a level of reasoning; models before 2.5 do not think."""
    return level in BUDGETS and (level == "none" or generation(model) >= (2, 5))


def _thinking(level: str, model: str, max_tokens: int | None) -> Body:
    """Returns a level for Gemini 3, a budget in tokens for 2.5, nothing for earlier ones; Pro models always think."""
    if not _takes(level, model):
        return {}
    always = "-pro" in model
    shown = {} if level == "none" else {"includeThoughts": True}
    if generation(model) >= (3, 0):
        return {"thinkingLevel": "LOW" if always and LEVELS[level] == "MINIMAL" else LEVELS[level], **shown}
    if generation(model) < (2, 5):
        return {}
    budget = _budget(BUDGETS[level], model, max_tokens)
    return {"thinkingBudget": budget, **(shown if budget else {})}


def _budget(wanted: int, model: str, max_tokens: int | None) -> int:
    """Limits thinking to half of `max_tokens`, which includes its tokens, or else no words would be left."""
    budget = min(wanted, max_tokens // 2) if max_tokens else wanted
    if "-pro" in model:
        return max(budget, PRO_BUDGET)
    return 0 if "-lite" in model and budget < LITE_BUDGET else budget


def _encode_message(message: Message, *, modern: bool) -> tuple[bytes, bytes]:
    """Returns the opening of a turn in this role, and the parts joined by commas, which `message.encoded` keeps."""
    key = f"{WIRE} modern" if modern else WIRE
    if key not in message.encoded:
        message.encoded[key] = dumps(_encode_parts(message.parts, modern=modern))[1:-1]
    return TURNS[message.role], message.encoded[key]


def _encode_tool(tool: ToolSpec) -> Body:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parametersJsonSchema": tool.schema, **own(WIRE, tool.extra)}


def _encode_parts(parts: Iterable[Part], *, modern: bool) -> list[Body]:
    """Encodes parts. `modern` means Gemini 3 and later, which want signed calls and pictures inside results."""
    bodies = [body for part in parts for body in _encode_part(part, modern)]
    calls = [body for body in bodies if "functionCall" in body]
    if modern and calls and not any("thoughtSignature" in call for call in calls):
        calls[0] |= PLACEHOLDER_SIGNATURE
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
            return [{"functionCall": {"name": name, "args": dict(arguments), **_id_field(id_)}, **extra}]
        case ToolResult():
            return _encode_result(part, modern)
        case Image() | Document():
            return [{**_file(part), **extra}]


def _encode_result(result: ToolResult, modern: bool) -> list[Body]:
    answer = {"error" if result.is_error else "output": result.text}
    body: Body = {"name": result.call.name, "response": answer, **_id_field(result.call.id), **own(WIRE, result.extra)}
    files = [_file(shown) for shown in result.parts if isinstance(shown, Image | Document)]
    if files and modern:
        return [{"functionResponse": {**body, "parts": files}}]
    return [{"functionResponse": body}, *files]


def _file(file: Image | Document) -> Body:
    if not file.data:
        return {"fileData": {"mimeType": file.media_type, "fileUri": file.url}}
    return {"inlineData": {"mimeType": file.media_type, "data": b64encode(file.data).decode()}}


def _id_field(id_: str) -> Body:
    return {"id": id_} if id_ else {}


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `Refused` for a blocked prompt, `BadReply` for an empty or malformed answer or a body of another kind."""
    if not isinstance(body, Mapping) or not MARKS & body.keys():
        raise no_answer_error(dumps(body))
    with readable_answer(body):
        candidate = (body.get("candidates") or [{}])[0]
        response = _decode(body, candidate)
        blocked: Body = field_or(body, "promptFeedback", {})
        ended = _sentence("The model ended without an answer", candidate, "finishReason", "finishMessage")
    if "blockReason" in blocked:
        raise Refused(_sentence("The prompt was blocked", blocked, "blockReason", "blockReasonMessage"))
    if candidate.get("finishReason") in UNUSABLE:
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
    about = own(WIRE, unknown_fields(WIRE, candidate, CANDIDATE_FIELDS))
    return ModelResponse(
        message,
        stop="tool_calls" if message.tool_calls and stop == "end" else stop,
        usage=decode_usage(body),
        model=field_or(body, "modelVersion", ""),
        extra=unknown_fields(WIRE, {**body, "candidate": about}, READ_FIELDS),
        id=str(field_or(body, "responseId", "")),
    )


def _join_texts(parts: Iterable[Part]) -> Iterator[Part]:
    """Joins adjacent texts, so that an answer has the same parts whether it was streamed or not."""
    for kind, run in groupby(parts, _bare_type):
        if kind is None:
            yield from run
        else:
            yield kind("".join(part.text for part in run if isinstance(part, Text | Thinking)))


def _bare_type(part: Part) -> type[Text] | type[Thinking] | None:
    """Returns the type of a text without further fields. A signed text returns None, as joining would lose that."""
    match part:
        case Text(extra=extra) if not extra:
            return Text
        case Thinking(signature="", extra=extra) if not extra:
            return Thinking
    return None


def _sentence(what: str, body: Mapping[str, Any], reason: str, message: str) -> str:
    return f"{what}: {body.get(reason)}. {body.get(message) or ''}".rstrip()


def _decode_part(body: Mapping[str, Any]) -> Part:
    """Decodes a part. Fields without a counterpart (`thoughtSignature`, `videoMetadata`) are kept in `extra`.

    A part of an unknown kind is kept whole and sent back unchanged.
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
    """Decodes both base64 alphabets, padded or not: Google's own client writes the URL-safe one, others the usual."""
    return b64decode(text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4))


class GeminiReader(streams.StreamReader):
    """Assembles the answer from its pieces. It is whole once a finish reason has come."""

    def __init__(self) -> None:
        super().__init__()
        self.bill = self._answer = Body()
        self._candidate: Body = {}
        self._parts: list[tuple[Body, list[str]]] = []

    @property
    def whole(self) -> bool:
        # Some models give a finish reason with every piece, so `is_done` stays false until the body ends.
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
        """Appends to the preceding text unless the piece is signed, as a signature covers only its own piece."""
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
