"""The provider for Anthropic's Messages API and servers that speak it."""

import struct
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core import plugins
from ..core.client import ModelClient
from ..core.errors import BadReply
from ..core.events import Event
from ..core.exchange import ModelRequest
from ..core.traits import ProviderTraits, features
from ..wire import anthropic as wire
from ..wire.bodies import dumps, loads, own
from ..wire.errors import UNREADABLE
from ._endpoints import Endpoint
from ._http import ApiAdapter, HttpClient, HttpRequest, ModelList, mapping_at
from ._settings import NO_KEY, Access, Key, find_access, read_settings
from ._transport import NO_HEADERS, Sdk, open_transport

HEADERS = "anthropic headers"
"""The key in the `extra` of a request for HTTP headers that are sent only to this API.

It is present if a client of this API sent the request. Then only that client's cache marks are used, and its
`anthropic-version` is sent.
"""
VERSION = "anthropic-version"
"""Also a key in the `extra` of any request, for the version that it must be sent in."""

BETA, ADVISOR_BETA = "anthropic-beta", "advisor-tool-2026-03-01"

_CAPABILITY_NAMES = {
    "images": "image_input",
    "documents": "pdf_input",
    "json_schema": "structured_outputs",
    "reasoning": "thinking",
}

TRAITS = ProviderTraits(
    http=True,
    api="messages",
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    needs_model=True,
    price_list="anthropic",
    lists_all=True,
    advisor_tool="advisor_20260301",
    starter="haiku",
    models=(("claude-*", features("tools", "images", "documents", "reasoning", "json_schema")),),
)

ENDPOINT = Endpoint(TRAITS, "https://api.anthropic.com", ("ANTHROPIC_BASE_URL",), needs_key=True)


def create(model: str, cache: bool = True, **options: Any) -> ModelClient:
    """Returns the client; `options` are those of `Settings`, and `cache` turns on the provider's prompt cache."""
    settings = read_settings("anthropic", options)
    access = find_access(settings, "anthropic", ENDPOINT)
    access = replace(access, url=access.url.removesuffix("/v1"))
    fixed = bool(settings.api_version) or settings.through_sdk
    version = settings.api_version or wire.CURRENT
    reader = FramedReader if type(settings.client).__name__ == "AsyncAnthropicBedrock" else wire.StreamReader
    messages = Messages(model, version, fixed, access.key, cache)
    ways = messages.encode, reader, wire.decode_response, wire.decode_usage
    api = ApiAdapter(model, access, *ways, most_output=messages.most_output, listing=_LIST)
    sdk = Sdk("anthropic", "httpx2", _maker(access))
    return HttpClient(open_transport(access, sdk, _key_header(access.key, version), {VERSION: version}), api)


def _read_row(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "context_window", row.get("max_input_tokens")
    yield "max_output_tokens", row.get("max_tokens")
    can = mapping_at(row, "capabilities")
    for name, theirs in _CAPABILITY_NAMES.items():
        yield name, mapping_at(can, theirs).get("supported")


_LIST = ModelList("/v1/models?limit=1000", "data", _read_row, one="/v1/models/{}")


_FRAMED_ERRORS = {
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
    "accessDeniedException": "permission_error",
    "resourceNotFoundException": "not_found_error",
    "modelTimeoutException": "timeout_error",
    "serviceUnavailableException": "overloaded_error",
}


class FramedReader(wire.StreamReader):
    """Reads the same events in Amazon's frames, which the SDK decodes with botocore, too."""

    def __init__(self) -> None:
        super().__init__()
        self._amazon = plugins.optional("botocore.eventstream", "bedrock")
        self._frames = self._amazon.EventStreamBuffer()

    def feed(self, data: bytes, events: list[Event] | None = None) -> list[Event]:
        self._frames.add_data(data)
        try:
            pieces = [b"data: %b\n\n" % _framed_event(frame.to_response_dict()) for frame in self._frames]
        except (self._amazon.ParserError, struct.error, *UNREADABLE) as error:
            words = "The server's stream is not in Amazon's encoding, or was damaged on its way."
            raise BadReply(words, again="once", partial=self.text) from error
        return super().feed(b"".join(pieces), events)


def _framed_event(frame: Mapping[str, Any]) -> bytes:
    headers, body = frame["headers"], loads(frame["body"] or b"{}")
    if frame["status_code"] == 200:
        return b64decode(body["bytes"]) if "bytes" in body else b"{}"
    kind = headers.get(":exception-type") or headers.get(":error-code") or ""
    message = body.get("message") or body.get("Message") or headers.get(":error-message") or kind
    return dumps({"type": "error", "error": {"type": _FRAMED_ERRORS.get(kind, "api_error"), "message": message}})


@dataclass(frozen=True, slots=True)
class Messages:
    """Encodes requests for a model; `cache` adds marks for the prompt cache.

    A `fixed` version of the API overrides that of the client that sent the request.
    """

    model: str
    version: str
    fixed: bool
    key: Key
    cache: bool

    def most_output(self, request: ModelRequest) -> int:
        """Returns the maximum tokens of an answer, which this API requires in each request."""
        return wire.sent_max_tokens(request, self.model)

    async def encode(self, request: ModelRequest) -> HttpRequest:
        headers_of_client = _client_headers(request)
        version = self.version if self.fixed else headers_of_client.get(VERSION, self.version)
        left_out = wire.unsupported_options(request.options, version, self.model)
        clamped = wire.clamped_options(request.options, version, self.model)
        headers = self._headers(headers_of_client, version)
        if request.raw and version == request.raw.headers.get(VERSION) and not (left_out or clamped):
            return HttpRequest("/v1/messages", wire.pass_request(request.raw, self.model), headers=headers)
        if self.cache and len(request.messages) > 1 and not _has_marks(request):
            request = replace(request, options={"cache": True, **request.options})
        body = wire.encode_request(request, self.model, stream=request.wants.stream, version=version)
        headers = {**headers, **_beta_header(request, headers_of_client)}
        return HttpRequest("/v1/messages", body, left_out, clamped, headers)

    def _headers(self, client_headers: Mapping[str, str], version: str) -> Mapping[str, str]:
        """Returns the headers; if the client uses another version, the key is sent in that version's header."""
        if version == self.version:
            return {name: value for name, value in client_headers.items() if name != VERSION}
        unused = {"authorization": "", "x-api-key": ""}
        return {**client_headers, **unused, **_key_header(self.key, version)}


def _has_marks(request: ModelRequest) -> bool:
    """Returns whether the request has its own cache marks; the API rejects a longer-lived mark after a shorter one."""
    marks = ("cache_control" in own(wire.WIRE, part.extra) for part in request.messages[0].parts)
    return HEADERS in request.extra or any(marks)


def _beta_header(request: ModelRequest, client_headers: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the beta header that an advisor tool needs, together with the client's own betas."""
    tools, betas = own(wire.WIRE, request.extra).get("tools", ()), client_headers.get(BETA, "")
    if ADVISOR_BETA in betas or not any(tool.get("type") == TRAITS.advisor_tool for tool in tools):
        return {}
    return {BETA: f"{betas},{ADVISOR_BETA}".removeprefix(",")}


def _client_headers(request: ModelRequest) -> Mapping[str, str]:
    """Returns the headers of the request's client, with the version that the request needs if the client gives none."""
    if request.raw and VERSION in request.raw.headers:
        return request.raw.headers
    headers = request.extra.get(HEADERS, NO_HEADERS)
    return {VERSION: request.extra[VERSION], **headers} if VERSION in request.extra else headers


def _key_header(key: Key, version: str) -> Mapping[str, str]:
    if not key.value:
        return {}
    classic = version < wire.CURRENT and key.source != "ANTHROPIC_AUTH_TOKEN"
    return {"x-api-key": key.value} if classic else {"authorization": f"Bearer {key.value}"}


def _maker(access: Access) -> Callable[[Any, Any], Any]:
    key = access.key
    named = {"auth_token" if key.source == "ANTHROPIC_AUTH_TOKEN" else "api_key": key.value or NO_KEY}

    def make(package: Any, certificates: Any) -> Any:
        http = package.DefaultAsyncHttpxClient(verify=certificates)
        return package.AsyncAnthropic(base_url=access.url, http_client=http, **named)

    return make
