"""Google's Gemini API, `generateContent`."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.exchange import ModelRequest
from ..wire import gemini as wire
from ._advice import advice
from ._http import HttpClient, HttpRequest, Limits
from ._names import is_loopback
from ._settings import Key, address_advice, find_key, find_url, read_settings, redactor, stated_url
from ._transport import Address, AiohttpTransport

_NO_SDK = (
    "gemini has only the transport 'aiohttp': Google's SDK builds and reads the bodies itself, so that no other can be "
    "sent through it. Leave 'transport' and 'client' out."
)
_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_URLS = ("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
_STREAMED = "streamGenerateContent?alt=sse"
_WHOLE = "generateContent"


def create(model: str, **options: Any) -> ModelClient:
    """`options` are those of `Settings`; `api_version` is "v1beta" unless it says otherwise."""
    settings = read_settings("gemini", options)
    if settings.through_sdk:
        raise ConfigError(_NO_SDK)
    key = find_key("gemini", settings, _KEYS, needed=not is_loopback(stated_url(settings, _URLS)))
    url = find_url("gemini", settings, _URLS, "https://generativelanguage.googleapis.com")
    headers = {**({"x-goog-api-key": key.value} if key.value else {}), **settings.headers}
    start = address_advice("gemini", settings, _URLS)
    transport = AiohttpTransport(Address("gemini", url, headers, settings.deadlines.connect, start))
    dialect = GenerateContent(model, settings.api_version or "v1beta", key)
    return HttpClient(transport, dialect, Limits(settings.deadlines, redactor(key, settings, url)))


class GenerateContent:
    def __init__(self, model: str, version: str, key: Key) -> None:
        self.model = model
        self._path = f"/{version}/models/{quote(model, safe='')}"
        self._key = key

    reader = wire.StreamReader
    decode_response = staticmethod(wire.decode_response)
    decode_usage = staticmethod(wire.decode_usage)
    decode_error = staticmethod(wire.decode_error)

    async def question(self, request: ModelRequest) -> HttpRequest:
        body = wire.encode_request(request, self.model, stream=request.wants.stream)
        path = f"{self._path}:{_STREAMED if request.wants.stream else _WHOLE}"
        return HttpRequest(path, body, wire.unsupported(request.options, self.model))

    def advice(self, error: ProviderError, there: Sequence[str] = ()) -> str:
        return advice(error, "gemini", self.model, self._key, there)
