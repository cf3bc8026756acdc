"""The provider for all servers that speak OpenAI's Chat Completions: a row of `ENDPOINTS`, or any base URL."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.exchange import ModelRequest
from ..core.plugins import near
from ..core.texts import public_url
from ..wire import openai as wire
from ._endpoints import CUSTOM_TRAITS, ENDPOINTS, Endpoint, packaged_providers
from ._http import ApiAdapter, HttpClient, HttpRequest
from ._settings import NO_KEY, Access, Settings, find_access, read_settings
from ._transport import Sdk, Transport, open_transport

_PATH = "/chat/completions"
_REASONS = re.compile(r"(^|/)(o\d|gpt-[5-9])")  # OpenAI's models that reject `max_tokens`, on any server
_AZURE_CAUGHT_UP = "2024-09-01"  # the first version with `stream_options` and `max_completion_tokens`

TRAITS = ENDPOINTS["openai"].traits


def create(model: str, endpoint: str = "openai", *, embeds: bool = False, **options: Any) -> ModelClient:
    """Returns the client; `options` are those of `Settings`. An endpoint without a row needs a `base_url`.

    A client that `embeds` answers with the vector of a text (`wire.openai.decode_embedding`).
    """
    settings = read_settings(endpoint, options)
    row = _row(endpoint, settings)
    access = find_access(settings, endpoint, row)
    url, path = _place(endpoint, model, access.url, settings)
    quirks = wire.Quirks(**_quirks(row, access, model))

    async def encode_text(request: ModelRequest) -> HttpRequest:
        return HttpRequest("/embeddings", wire.encode_embedding_request(request, model))

    async def encode(request: ModelRequest) -> HttpRequest:
        body = wire.pass_request(request.raw, model, quirks) if request.raw else b""
        stream = request.wants.stream
        return HttpRequest(path, body or wire.encode_request(request, model, stream=stream, quirks=quirks))

    asks, decode = (encode_text, wire.decode_embedding) if embeds else (encode, wire.decode_response)
    advise = partial(_advice, access, model)
    # A vector has no tokens: only the text that is read is paid for.
    most_output = (lambda request: 0) if embeds else None
    api = ApiAdapter(model, access, asks, wire.StreamReader, decode, wire.decode_usage, advise, most_output)
    return HttpClient(_transport(replace(access, url=url)), api)


def _advice(access: Access, model: str, error: ProviderError, there: Sequence[str]) -> str:
    advice = access.advice(error, model, there)
    if error.status == 404 and not urlsplit(access.url).path.strip("/"):
        return f"{advice} Most servers have this API under /v1: {public_url(access.url).rstrip('/')}/v1."
    return advice


def _row(endpoint: str, settings: Settings) -> Endpoint:
    if row := ENDPOINTS.get(endpoint):
        return row
    if settings.base_url or settings.client:
        key = f"{re.sub(r'[^A-Za-z0-9]+', '_', endpoint).upper()}_API_KEY"
        return Endpoint(replace(CUSTOM_TRAITS, keys=(key,)))
    known = list(packaged_providers())
    raise ConfigError(f"There is no provider {endpoint!r}, and no base_url for one{near(endpoint, known)}")


def _quirks(row: Endpoint, access: Access, model: str) -> Mapping[str, Any]:
    match access.provider:
        case "azure" if "" < _azure_version(access.settings) < _AZURE_CAUGHT_UP:
            return {"usage": False}
        # Most other servers at OPENAI_BASE_URL know only the older `max_tokens`.
        case "openai" if not ((urlsplit(access.url).hostname or "").endswith("openai.com") or _REASONS.search(model)):
            return {}
    return row.quirks


def _place(endpoint: str, model: str, url: str, settings: Settings) -> tuple[str, str]:
    """Returns URL and path. Azure with an `api_version` has a path per deployment; its newer API is like OpenAI's."""
    if endpoint != "azure" or settings.client is not None:
        return url, _PATH
    root = url.removesuffix("/openai/v1").removesuffix("/openai")
    if not (version := _azure_version(settings)):
        return f"{root}/openai/v1", _PATH
    if settings.through_sdk:
        return root, _PATH
    return root, f"/openai/deployments/{quote(model, safe='')}{_PATH}?api-version={quote(version)}"


def _azure_version(settings: Settings) -> str:
    return settings.api_version or settings.environment.get("OPENAI_API_VERSION", "")


def _transport(access: Access) -> Transport:
    key = access.key.value
    named = {"api-key": key} if access.provider == "azure" else {"authorization": f"Bearer {key}"}
    return open_transport(access, Sdk("openai", "httpx2", _maker(access)), named if key else {})


def _maker(access: Access) -> Callable[[Any, Any], Any]:
    key = access.key.value

    def make(package: Any, certificates: Any) -> Any:
        version = _azure_version(access.settings)
        http = package.DefaultAsyncHttpxClient(verify=certificates)
        if access.provider == "azure" and version:
            return package.AsyncAzureOpenAI(
                azure_endpoint=access.url, api_key=key, api_version=version, http_client=http
            )
        headers = {"api-key": key} if access.provider == "azure" else {}
        return package.AsyncOpenAI(
            base_url=access.url, api_key=key or NO_KEY, default_headers=headers, http_client=http
        )

    return make
