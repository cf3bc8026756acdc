"""Anthropic's Messages API, and servers that speak it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import Event
from ..core.exchange import ModelRequest
from ..wire import anthropic as wire
from ..wire.anthropic import sent_max_tokens
from ..wire.aws import Frames
from ._advice import advice
from ._http import HttpClient, HttpRequest, Limits
from ._names import is_loopback
from ._sdk import Sdk, SdkTransport
from ._settings import NO_KEY, Key, Settings, address_advice, find_key, find_url, read_settings, redactor, stated_url
from ._transport import NO_HEADERS, Address, AiohttpTransport, Transport

HEADERS = "anthropic headers"
"""Under this name the `extra` of a request has HTTP headers that go with it to this API alone.

It is there where a client of this very API has sent the request: then its marks for the cache stand, and no others are
set, and its `anthropic-version` is the one that is spoken.
"""
VERSION = "anthropic-version"
"""Also in the `extra` of a request that is to be sent in this version, whoever made it."""

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_URLS = ("ANTHROPIC_BASE_URL",)


def create(model: str, cache: bool = True, **options: Any) -> ModelClient:
    """`options` are those of `Settings`; `cache` lets the provider keep what a conversation repeats each turn."""
    settings = read_settings("anthropic", options)
    key = find_key("anthropic", settings, _KEYS, needed=not is_loopback(stated_url(settings, _URLS)))
    url = find_url("anthropic", settings, _URLS, "https://api.anthropic.com").removesuffix("/v1")
    version = settings.api_version or wire.CURRENT
    headers = {VERSION: version, **settings.headers}
    start = address_advice("anthropic", settings, _URLS)
    address = Address("anthropic", url, headers, settings.deadlines.connect, start)
    transport = _transport(address, key, settings)
    limits = Limits(settings.deadlines, redactor(key, settings, url))
    reader = FramedReader if type(settings.client).__name__ == "AsyncAnthropicBedrock" else wire.StreamReader
    spoken = ApiVersion(version, bool(settings.api_version) or settings.through_sdk)
    return HttpClient(transport, Messages(model, spoken, key, cache, reader), limits)


class FramedReader(wire.StreamReader):
    """Reads Amazon's encoding of the same events."""

    def __init__(self) -> None:
        super().__init__()
        self._frames = Frames()

    def feed(self, data: bytes, events: list[Event] | None = None) -> list[Event]:
        return super().feed(self._frames.feed(data), events)


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """The version of the API; one that is `settled` holds whatever a client of the same API speaks."""

    version: str
    settled: bool = False

    def to(self, client: Mapping[str, str]) -> str:
        return self.version if self.settled else client.get(VERSION, self.version)


class Messages:
    def __init__(self, model: str, spoken: ApiVersion, key: Key, cache: bool, reader: type[wire.StreamReader]) -> None:
        self.model = model
        self.reader = reader
        self._spoken = spoken
        self._key = key
        self._cache = cache

    decode_response = staticmethod(wire.decode_response)
    decode_usage = staticmethod(wire.decode_usage)
    decode_error = staticmethod(wire.decode_error)

    def most_output(self, request: ModelRequest) -> int:
        """The tokens that an answer can have; this API is always told."""
        return sent_max_tokens(request, self.model)

    async def question(self, request: ModelRequest) -> HttpRequest:
        told = request.extra.get(HEADERS, NO_HEADERS)
        if VERSION in request.extra:
            told = {VERSION: request.extra[VERSION], **told}
        version = self._spoken.to(told)
        left_out = wire.unsupported(request.options, version, self.model)
        clamped = wire.clamped(request.options, version, self.model)
        if self._cache and len(request.messages) > 1 and HEADERS not in request.extra:
            request = replace(request, options={"cache": True, **request.options})
        body = wire.encode_request(request, self.model, stream=request.wants.stream, version=version)
        return HttpRequest("/v1/messages", body, left_out, clamped, self._headers(told, version))

    def _headers(self, told: Mapping[str, str], version: str) -> Mapping[str, str]:
        """Where the client speaks another version, the key is presented as that one wants it."""
        if version == self._spoken.version:
            return {name: value for name, value in told.items() if name != VERSION}
        unused = {"authorization": "", "x-api-key": ""}
        return {**told, **unused, **_presented(self._key, version)}

    def advice(self, error: ProviderError, there: Sequence[str] = ()) -> str:
        return advice(error, "anthropic", self.model, self._key, there)


def _transport(address: Address, key: Key, settings: Settings) -> Transport:
    if settings.through_sdk:
        return SdkTransport(address, Sdk("anthropic", "httpx2", _maker(address, key), settings.client))
    presented = _presented(key, address.headers[VERSION])
    return AiohttpTransport(replace(address, headers={**presented, **address.headers}))


def _presented(key: Key, version: str) -> Mapping[str, str]:
    if not key.value:
        return {}
    classic = version < wire.CURRENT and key.source != "ANTHROPIC_AUTH_TOKEN"
    return {"x-api-key": key.value} if classic else {"authorization": f"Bearer {key.value}"}


def _maker(address: Address, key: Key) -> Callable[[Any, Any], Any]:
    named = {"auth_token" if key.source == "ANTHROPIC_AUTH_TOKEN" else "api_key": key.value or NO_KEY}

    def make(package: Any, certificates: Any) -> Any:
        http = package.DefaultAsyncHttpxClient(verify=certificates)
        return package.AsyncAnthropic(base_url=address.base_url, http_client=http, **named)

    return make
