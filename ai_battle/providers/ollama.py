"""The provider for Ollama's own API. Fits the context to the conversation, as the default silently cuts long ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import to_json

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError, Unreachable
from ..core.exchange import ModelRequest, TokenEstimator
from ..core.traits import ProviderTraits, features
from ..wire import ollama as wire
from ._breaker import loop_value
from ._endpoints import Endpoint
from ._http import ApiAdapter, HttpClient, HttpRequest, ModelList, ask_server, mapping_at
from ._names import nearest_tag
from ._settings import Access, Settings, address_advice, find_key, read_settings
from ._transport import Sdk, Transport, open_transport

PORT = 11434
SMALLEST_CONTEXT = 4_096
ROOM_TO_ANSWER = 1_024
MOST_NAMES = 8

TRAITS = ProviderTraits(
    http=True,
    keys=("OLLAMA_API_KEY",),
    local=True,
    free=True,
    lists_all=True,
    needs_model=True,
    dashed=True,
    levels=True,
    tags=True,
    get_model="ollama pull gemma3:1b",
    models=(
        ("gpt-oss*", features("tools", "reasoning", "json_schema")),
        ("qwen3-vl*", features("tools", "images", "reasoning", "json_schema")),
        ("qwen3*", features("tools", "reasoning", "json_schema")),
        ("qwen2.5vl*", features("images", "json_schema")),
        ("qwen2.5*", features("tools", "json_schema")),
        ("llama3.2-vision*", features("images", "json_schema")),
        ("llama3.[1-3]*", features("tools", "json_schema")),
        ("llama4*", features("tools", "images", "json_schema")),
        ("mistral-small3*", features("tools", "images", "json_schema")),
        ("mistral*", features("tools", "json_schema")),
        ("phi4-mini*", features("tools", "json_schema")),
        ("phi4*", features("json_schema")),
        ("gemma3?1b*", features("json_schema")),
        ("gemma3*", features("images", "json_schema")),
        ("gemma2*", features("json_schema")),
        ("deepseek-r1*", features("reasoning", "json_schema")),
        ("llava*", features("images", "json_schema")),
    ),
)

ENDPOINT = Endpoint(
    TRAITS, f"http://127.0.0.1:{PORT}", ("OLLAMA_HOST",), "Is Ollama running? Start it with: ollama serve"
)


def create(model: str, **options: Any) -> ModelClient:
    """Returns the client; `options` are those of `Settings`. `base_url` may have any form of OLLAMA_HOST."""
    settings = read_settings("ollama", options)
    key = find_key("ollama", settings, TRAITS.keys, needed=False)
    access = Access("ollama", settings, key, _url(settings), address_advice("ollama", settings, ENDPOINT))
    chat = Chat(model, _transport(access), access)
    ways = chat.encode, wire.StreamReader, wire.decode_response, wire.decode_usage
    api = ApiAdapter(model, access, *ways, chat.advise, listing=_LIST, show=chat.show)
    return HttpClient(chat.transport, api)


def _read_shown(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the capabilities in an answer of `POST /api/show`; the rows of `/api/tags` have none."""
    if isinstance(can := row.get("capabilities"), list):
        yield from (("tools", "tools" in can), ("images", "vision" in can), ("reasoning", "thinking" in can))
    yield "context_window", _window(row)


_LIST = ModelList("/api/tags", "models", _read_shown)


@dataclass(slots=True)
class ServedModel:
    """A model on the server: its tag, its window, and the context that it is loaded with, both in tokens.

    All clients of the model share it, since Ollama reloads a model for each new size of context.
    """

    tag: str
    window: int | None = None
    num_ctx: int = SMALLEST_CONTEXT

    def room_for(self, needed: int) -> int:
        """Returns the context size for `needed` tokens: it doubles as needed, up to the window, and never shrinks."""
        while self.num_ctx < needed:
            self.num_ctx *= 2
        return min(self.num_ctx, self.window or self.num_ctx)


@dataclass(frozen=True, slots=True)
class Chat:
    """Encodes requests for a model, with its tag and context on the server."""

    model: str
    transport: Transport
    access: Access
    input: TokenEstimator = field(default_factory=TokenEstimator)

    async def encode(self, request: ModelRequest) -> HttpRequest:
        loaded = await self._served_model()
        if "num_ctx" not in request.options:
            needed = self.input.estimate(request) + (request.options.get("max_tokens") or ROOM_TO_ANSWER)
            request = replace(request, options={**request.options, "num_ctx": loaded.room_for(needed)})
        body = wire.encode_request(request, loaded.tag, stream=request.wants.stream)
        return HttpRequest("/api/chat", body, wire.unsupported_options(request.options))

    def advise(self, error: ProviderError, there: Sequence[str] = ()) -> str:
        if error.status != 404 or not (there or "model" in error.raw):  # else it is another server than Ollama
            return self.access.advice(error, self.model)
        known = [name.removesuffix(":latest") for name in there]
        close = get_close_matches(self.model, known, n=MOST_NAMES, cutoff=0.3)
        names = [*close, *(name for name in known if name not in close)][:MOST_NAMES]
        here = f"There is no {self.model}; here: {', '.join(names)}. " if names and self.model not in known else ""
        return f"{here}Get it with: ollama pull {self.model}"

    async def _served_model(self) -> ServedModel:
        """Returns the server's entry for the model, asked once. If that fails, the call itself shows what is wrong."""
        models: dict[str, ServedModel] = loop_value((ServedModel, self.transport.access.url), dict)
        if self.model not in models:
            try:
                shown = await self.show()
                models[self.model] = ServedModel(shown.get("model", self.model), _window(shown))
            except Unreachable:
                return ServedModel(self.model)
            except ProviderError:
                models[self.model] = ServedModel(self.model)
        return models[self.model]

    async def show(self) -> Mapping[str, Any]:
        """Returns the server's description of the model, with the tag as `model` if the name is spelled with dashes."""
        if shown := await self._ask_show(self.model):
            return shown
        tag = nearest_tag(self.model, (row.name for row in _LIST.rows(await ask_server(self.transport, _LIST.path))))
        if tag is None or tag == self.model:
            return {}
        return {**await self._ask_show(tag), "model": tag}

    async def _ask_show(self, model: str) -> Mapping[str, Any]:
        try:
            return await ask_server(self.transport, "/api/show", to_json({"model": model}))
        except ProviderError as error:
            if error.status == 404:
                return {}
            raise


def host_url(host: str) -> str:
    """Returns the URL for `host`, `host:port`, `:port` or a URL without a port, as Ollama reads OLLAMA_HOST."""
    scheme, separator, rest = host.strip().strip("\"'").partition("://")
    if not separator:
        scheme, rest = "http", scheme
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port or ({"http": 80, "https": 443}.get(scheme, PORT) if separator else PORT)
    except ValueError as error:
        raise ConfigError(f"Ollama's address {host!r} can't be read: {error}") from error
    if scheme not in ("http", "https"):
        raise ConfigError(f"Ollama's address {host!r} can't be read; it looks like 'http://127.0.0.1:{PORT}'.")
    name = parts.hostname or "127.0.0.1"
    return f"{scheme}://{_callable_host(name)}:{port}{parts.path.rstrip('/')}"


def _callable_host(host: str) -> str:
    """Returns a host that can be called, for the wildcard addresses that servers bind to."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return f"[{host}]" if isinstance(address, IPv6Address) else host


def _window(shown: Mapping[str, Any]) -> int | None:
    described = mapping_at(shown, "model_info")
    return next((value for name, value in described.items() if name.endswith(".context_length") and value), None)


def _url(settings: Settings) -> str:
    if settings.client is not None:
        return str(settings.client._client.base_url).rstrip("/")
    return host_url(settings.base_url or settings.environment.get("OLLAMA_HOST") or ENDPOINT.base_url)


def _transport(access: Access) -> Transport:
    def make(package: Any, certificates: Any) -> Any:
        return package.AsyncClient(host=access.url, verify=certificates)

    key = {"authorization": f"Bearer {access.key.value}"} if access.key.value else {}
    return open_transport(access, Sdk("ollama", "httpx", make, raw=True), key)
