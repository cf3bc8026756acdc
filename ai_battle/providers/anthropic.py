"""Anthropic's Messages API, and servers that speak it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import Event
from ..core.exchange import ModelRequest
from ..wire import anthropic as wire
from ..wire.aws import Frames
from ._advice import advice
from ._http import HttpClient, Limits, Question, is_streamed
from ._names import is_loopback
from ._sdk import Sdk, SdkTransport
from ._settings import NO_KEY, Key, Settings, find_key, find_url, read_settings, secrets_in, stated_url
from ._transport import NO_HEADERS, Address, AiohttpTransport, Transport

HEADERS = "anthropic headers"
"""Under this name the `extra` of a request has HTTP headers that go with it to this API alone."""

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_URLS = ("ANTHROPIC_BASE_URL",)


def create(model: str, cache: bool = True, **options: Any) -> ModelClient:
    """`options` are those of `Settings`; `cache` lets the provider keep what a conversation repeats each turn."""
    settings = read_settings("anthropic", options)
    key = find_key("anthropic", settings, _KEYS, needed=not is_loopback(stated_url(settings, _URLS)))
    url = find_url("anthropic", settings, _URLS, "https://api.anthropic.com").removesuffix("/v1")
    version = settings.api_version or wire.CURRENT
    headers = {"anthropic-version": version, **settings.headers}
    transport = _transport(Address("anthropic", url, headers, settings.deadlines.connect), key, settings)
    limits = Limits(settings.deadlines, secrets_in(key, settings, url))
    reader = FramedReader if type(settings.client).__name__ == "AsyncAnthropicBedrock" else wire.StreamReader
    return HttpClient(transport, Messages(model, version, key, cache, reader), limits)


class FramedReader(wire.StreamReader):
    """Reads Amazon's encoding of the same events."""

    def __init__(self) -> None:
        super().__init__()
        self._frames = Frames()

    def feed(self, data: bytes) -> list[Event]:
        return super().feed(self._frames.feed(data))


class Messages:
    def __init__(self, model: str, version: str, key: Key, cache: bool, reader: type[wire.StreamReader]) -> None:
        self.model = model
        self.reader = reader
        self._version = version
        self._key = key
        self._cache = cache

    decode_response = staticmethod(wire.decode_response)
    decode_error = staticmethod(wire.decode_error)

    async def question(self, request: ModelRequest) -> Question:
        left_out = wire.unsupported(request.options, self._version, self.model)
        clamped = wire.clamped(request.options, self._version, self.model)
        if self._cache and len(request.messages) > 1:
            request = replace(request, options={"cache": True, **request.options})
        body = wire.encode_request(request, self.model, stream=is_streamed(request), version=self._version)
        return Question("/v1/messages", body, left_out, clamped, request.extra.get(HEADERS, NO_HEADERS))

    def advice(self, error: ProviderError, there: Sequence[str] = ()) -> str:
        return advice(error, "anthropic", self.model, self._key, there)


def _transport(address: Address, key: Key, settings: Settings) -> Transport:
    if settings.through_sdk:
        return SdkTransport(address, Sdk("anthropic", "httpx2", _maker(address, key), settings.client))
    classic = address.headers["anthropic-version"] < wire.CURRENT and key.source != "ANTHROPIC_AUTH_TOKEN"
    named = {"x-api-key": key.value} if classic else {"authorization": f"Bearer {key.value}"}
    return AiohttpTransport(replace(address, headers={**(named if key.value else {}), **address.headers}))


def _maker(address: Address, key: Key) -> Callable[[Any, Any], Any]:
    named = {"auth_token" if key.source == "ANTHROPIC_AUTH_TOKEN" else "api_key": key.value or NO_KEY}

    def make(package: Any, certificates: Any) -> Any:
        http = package.DefaultAsyncHttpxClient(verify=certificates)
        return package.AsyncAnthropic(base_url=address.base_url, http_client=http, **named)

    return make
