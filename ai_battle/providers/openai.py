"""OpenAI, and all servers that speak its Chat Completions: a row of `ENDPOINTS` each, or just a base URL."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlsplit

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.exchange import ModelRequest
from ..core.plugins import near
from ..core.traits import ProviderTraits
from ..wire import openai as wire
from ._http import ApiAdapter, HttpClient, HttpRequest
from ._sdk import Sdk, SdkTransport
from ._settings import NO_KEY, Access, Settings, find_access, read_settings
from ._transport import AiohttpTransport, ProviderAddress, Transport


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`start` says how the server is started, where that is the user's matter; those servers need no key."""

    base_url: str = ""
    keys: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    start: str = ""
    needs_key: bool = False
    quirks: wire.Quirks = wire.Quirks()  # noqa: RUF009 - a frozen value


_OPENAI = wire.Quirks(max_tokens="max_completion_tokens")
_COMPATIBLE = wire.Quirks()  # most of those that OPENAI_BASE_URL leads to know only the older `max_tokens`
_REASONS = re.compile(r"(^|/)(o\d|gpt-[5-9])")  # OpenAI's models that refuse it, wherever they are served
_GROQ = wire.Quirks(max_tokens="max_completion_tokens", reasoning="reasoning", names=False)  # a name is a 400 there
_REASONING = wire.Quirks(reasoning="reasoning")
_TEMPLATE = wire.Quirks(reasoning="reasoning_content")  # goes to the model's template as it is, which reads this name
_OLD_AZURE = wire.Quirks(usage=False)
_AZURE_CAUGHT_UP = "2024-09-01"  # with `stream_options` and `max_completion_tokens`

ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": Endpoint(
        "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",), needs_key=True, quirks=_OPENAI
    ),
    "openrouter": Endpoint(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        ("OPENROUTER_BASE_URL",),
        needs_key=True,
        quirks=_REASONING,
    ),
    "groq": Endpoint(
        "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), ("GROQ_BASE_URL",), needs_key=True, quirks=_GROQ
    ),
    "azure": Endpoint("", ("AZURE_OPENAI_API_KEY",), ("AZURE_OPENAI_ENDPOINT",), needs_key=True, quirks=_OPENAI),
    "lmstudio": Endpoint(
        "http://127.0.0.1:1234/v1",
        ("LMSTUDIO_API_KEY", "LM_API_TOKEN"),
        ("LMSTUDIO_BASE_URL",),
        "Is LM Studio's server running? Start it with: lms server start",
    ),
    "vllm": Endpoint(
        "http://127.0.0.1:8000/v1",
        ("VLLM_API_KEY",),
        ("VLLM_BASE_URL",),
        "Is vLLM running? Start it with: vllm serve MODEL",
        quirks=_REASONING,
    ),
    "llamacpp": Endpoint(  # no reasoning: the template of gpt-oss fails when a call has both a text and reasoning
        "http://127.0.0.1:8080/v1",
        ("LLAMA_API_KEY",),
        ("LLAMACPP_BASE_URL",),
        "Is llama.cpp's server running? Start it with: llama-server -m MODEL.gguf",
    ),
    "mlx": Endpoint(
        "http://127.0.0.1:8080/v1",
        (),
        ("MLX_BASE_URL",),
        "Is the MLX server running? Start it with: mlx_lm.server --model MODEL",
        quirks=_TEMPLATE,
    ),
}


TRAITS = ProviderTraits(http=True)


def create(model: str, endpoint: str = "openai", **options: Any) -> ModelClient:
    """`options` are those of `Settings`; an endpoint that has no row needs a `base_url`."""
    settings = read_settings(endpoint, options)
    row = _row(endpoint, settings)
    access = find_access(settings, endpoint, row.keys, row.urls, row.base_url, needs_key=row.needs_key, start=row.start)
    place = _place(endpoint, model, access.url, settings)
    quirks = _quirks(row, endpoint, settings)
    if quirks is _OPENAI and endpoint == "openai" and not _is_openais(access.url, model):
        quirks = _COMPATIBLE

    async def encode(request: ModelRequest) -> HttpRequest:
        body = wire.encode_request(request, model, stream=request.wants.stream, quirks=quirks)
        return HttpRequest(place.path, body)

    return HttpClient(_transport(replace(access, url=place.url)), ApiAdapter(model, access, wire, encode))


@dataclass(frozen=True, slots=True)
class _Place:
    url: str
    path: str = "/chat/completions"


def _row(endpoint: str, settings: Settings) -> Endpoint:
    if row := ENDPOINTS.get(endpoint):
        return row
    if settings.base_url or settings.client:
        return Endpoint(keys=(f"{re.sub(r'[^A-Za-z0-9]+', '_', endpoint).upper()}_API_KEY",))
    raise ConfigError(f"There is no endpoint {endpoint!r} and no base_url for one{near(endpoint, list(ENDPOINTS))}")


def _quirks(row: Endpoint, endpoint: str, settings: Settings) -> wire.Quirks:
    version = _azure_version(settings) if endpoint == "azure" else ""
    return _OLD_AZURE if version and version < _AZURE_CAUGHT_UP else row.quirks


def _is_openais(url: str, model: str) -> bool:
    return (urlsplit(url).hostname or "").endswith("openai.com") or _REASONS.search(model) is not None


def _place(endpoint: str, model: str, url: str, settings: Settings) -> _Place:
    """Azure with an `api_version` has a path for each deployment; its newer API, without one, is like OpenAI's."""
    if endpoint != "azure" or settings.client is not None:
        return _Place(url)
    root = url.removesuffix("/openai/v1").removesuffix("/openai")
    if not (version := _azure_version(settings)):
        return _Place(f"{root}/openai/v1")
    if settings.through_sdk:
        return _Place(root)
    return _Place(root, f"/openai/deployments/{quote(model, safe='')}/chat/completions?api-version={quote(version)}")


def _azure_version(settings: Settings) -> str:
    return settings.api_version or settings.environment.get("OPENAI_API_VERSION", "")


def _transport(access: Access) -> Transport:
    settings, key = access.settings, access.key
    if settings.through_sdk:
        return SdkTransport(ProviderAddress.of(access), Sdk("openai", "httpx2", _maker(access), settings.client))
    named = {"api-key": key.value} if access.provider == "azure" else {"authorization": f"Bearer {key.value}"}
    return AiohttpTransport(ProviderAddress.of(access, named if key.value else {}))


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
