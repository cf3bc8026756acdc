"""The provider for Google's Gemini API (`generateContent`)."""

from math import ceil
from typing import Any
from urllib.parse import quote

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.exchange import FileTokens, ModelRequest
from ..core.traits import ProviderTraits, features
from ..wire import gemini as wire
from ._endpoints import Endpoint
from ._http import ApiAdapter, HttpClient, HttpRequest, ModelList
from ._settings import find_access, read_settings
from ._transport import AiohttpTransport

_TILE_PIXELS = 768


def _picture_tokens(width: int, height: int) -> int:
    """Returns 258 tokens, or for sides above 384 px 258 per tile of 768 px (ai.google.dev/gemini-api/docs/tokens)."""
    return 258 if max(width, height) <= 384 else 258 * ceil(width / _TILE_PIXELS) * ceil(height / _TILE_PIXELS)


TRAITS = ProviderTraits(
    http=True,
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    signs_calls=True,
    needs_model=True,
    files=FileTokens(_picture_tokens, page=258),
    price_list="google",
    telemetry="gcp.gemini",
    lists_all=True,
    starter="gemini-2.5-flash",
    models=(("gemini-*", features("tools", "images", "documents", "video", "reasoning", "json_schema")),),
)
ENDPOINT = Endpoint(
    TRAITS, "https://generativelanguage.googleapis.com", ("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), needs_key=True
)
_LIST = ModelList(
    "/v1beta/models?pageSize=1000",
    "models",
    lambda row: (
        ("context_window", row.get("inputTokenLimit")),
        ("max_output_tokens", row.get("outputTokenLimit")),
        ("reasoning", row.get("thinking")),
    ),
    one="/v1beta/models/{}",
)


def create(model: str, **options: Any) -> ModelClient:
    """Returns the client; `options` are those of `Settings`. The default of `api_version` is "v1beta"."""
    settings = read_settings("gemini", options)
    if settings.through_sdk:
        raise ConfigError(
            "gemini has only the transport 'aiohttp', because Google's SDK builds and reads the bodies itself. "
            "Leave 'transport' and 'client' out."
        )
    access = find_access(settings, "gemini", ENDPOINT)
    headers = {"x-goog-api-key": access.key.value} if access.key.value else {}
    path = f"/{settings.api_version or 'v1beta'}/models/{quote(model, safe='')}"

    async def encode(request: ModelRequest) -> HttpRequest:
        body = wire.encode_request(request, model, stream=request.wants.stream)
        way = "streamGenerateContent?alt=sse" if request.wants.stream else "generateContent"
        return HttpRequest(f"{path}:{way}", body, wire.unsupported_options(request.options, model))

    api = ApiAdapter(model, access, encode, wire.StreamReader, wire.decode_response, wire.decode_usage, listing=_LIST)
    return HttpClient(AiohttpTransport(access.with_headers(headers)), api)
