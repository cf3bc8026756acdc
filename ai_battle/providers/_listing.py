"""Lists a provider's models and their capabilities."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_core import from_json

from ..core import plugins
from ..core.errors import AIBattleError, BadReply, ConfigError, ProviderError
from ._calls import Clocks, Deadlines
from ._capabilities import NAMES, CapabilityValues, ModelCapabilities, RefusalMemory, first_known, listed_capabilities
from ._endpoints import PACKAGE, create_provider, provider_module, provider_traits
from ._names import CATALOGUE_DATE, ModelName
from ._prices import context_window
from ._transport import Transport

LOOKUP = Deadlines(connect=5.0, total=15.0)
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that a provider offers; `capabilities` are the capabilities that the list contains."""

    name: str
    capabilities: CapabilityValues = field(default_factory=dict)


def mapping_at(row: Row, key: str) -> Row:
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def _read_open_ai_row(row: Row) -> Iterable[tuple[str, Any]]:
    """Yields capabilities: OpenRouter has many, vLLM, llama.cpp, Groq and LM Studio only windows, OpenAI none."""
    windows = ("context_length", "context_window", "max_model_len", "loaded_context_length", "max_context_length")
    meant = mapping_at(row, "meta").get("n_ctx")
    yield "context_window", next((row[key] for key in windows if row.get(key)), meant)
    longest = mapping_at(row, "top_provider").get("max_completion_tokens")
    yield "max_output_tokens", row.get("max_completion_tokens") or longest
    if isinstance(reads := mapping_at(row, "architecture").get("input_modalities"), list):
        yield from (("images", "image" in reads), ("documents", "file" in reads))
    if isinstance(takes := row.get("supported_parameters"), list):
        yield from (("tools", "tools" in takes), ("reasoning", "reasoning" in takes))
        yield "json_schema", "structured_outputs" in takes


@dataclass(frozen=True, slots=True)
class ModelList:
    """An API's list of models: the rows are in `key` of the answer to `path`, and `read` yields a row's capabilities.

    `one` is the path of a single row, with `{}` for the model; empty if the API has only the list.
    """

    path: str = "/models"
    key: str = "data"
    read: Callable[[Row], Iterable[tuple[str, Any]]] = _read_open_ai_row
    one: str = ""

    def rows(self, body: Row) -> tuple[ListedModel, ...]:
        """Returns the rows that name a model."""
        entries = body.get(self.key)
        rows = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
        return tuple(ListedModel(name, self.capabilities(row)) for row in rows if (name := _name(row)))

    def capabilities(self, row: Row) -> CapabilityValues:
        """Returns the capabilities that a row states."""
        return {name: value for name, value in self.read(row) if isinstance(value, bool) or value}


def _name(row: Row) -> str:
    name = row.get("id") or row.get("model") or row.get("name")
    return name.removeprefix("models/") if isinstance(name, str) else ""


async def ask_server(
    transport: Transport,
    decode_error: Callable[[int, bytes, Mapping[str, str]], ProviderError],
    path: str,
    body: bytes = b"",
    deadlines: Deadlines = LOOKUP,
) -> Row:
    """Returns the JSON object that a server answers to a free request. Raises `ProviderError`."""
    where = str(transport.access)
    with Clocks(deadlines, where):
        async with await transport.send("POST" if body else "GET", path, body) as reply:
            data = await reply.whole()
    if reply.status >= 300:
        error = decode_error(reply.status, data, reply.headers)
        error.args = (f"{where}: {error}",)
        raise error
    try:
        answer = from_json(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        head = data[:200].decode(errors="replace")
        raise BadReply(f"{where}: {path} does not answer with a JSON object; is base_url right? {head!r}", raw=head)
    return answer


async def list_models(provider: str, **settings: Any) -> tuple[ListedModel, ...]:
    """Returns a provider's models, sorted by name; `settings` is its section in the file. Raises `ProviderError`."""
    if provider_traits(provider).recited:
        return ()
    if list_ := getattr(plugins.load(PACKAGE, provider_module(provider)), "list_models", None):
        return tuple(map(ListedModel, await list_(**settings)))
    models = await _connection(provider, "", settings).list_models()
    return tuple(sorted(models, key=lambda model: model.name))


def _connection(provider: str, model: str, settings: Mapping[str, Any]) -> Any:
    """Returns the bare client of a provider. Raises `ConfigError` if it can't list models."""
    client = create_provider(provider, model, settings)
    if not hasattr(client, "list_models"):
        raise ConfigError(f"{provider} can't list its models.")
    return client


async def capabilities(name: ModelName, **settings: Any) -> ModelCapabilities:
    """Returns a model's capabilities, asking the provider too. If that fails, `note` says why."""
    asked: CapabilityValues = {}
    upstream, note = name.provider, ""
    try:
        if ask := getattr(plugins.load(PACKAGE, provider_module(name.provider)), "ask", None):
            asked = await ask(name.model, **settings)
        elif not provider_traits(name.provider).recited:
            client = _connection(name.provider, name.model, settings)
            upstream = getattr(client, "endpoint", "") or upstream
            asked = await client.ask()
    except AIBattleError as error:
        note = str(error)
    refused = RefusalMemory.load().refuses(upstream, name.model)
    sources = (
        ("learned", dict.fromkeys(refused & set(NAMES), False)),
        ("server", asked),
        (f"table of {CATALOGUE_DATE}", listed_capabilities(name)),
        ("genai-prices", {"context_window": context_window(name)}),
    )
    return ModelCapabilities(first_known(sources), refused, note)
