"""Asks providers which models they have and what these can do."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic_core import from_json, to_json

from ..core import plugins
from ..core.errors import AIBattleError, BadReply, ConfigError, ProviderError
from . import openai
from ._capabilities import LISTS, ListedModel, ModelCapabilities, Says, merge_capabilities, model_list, row_capabilities
from ._deadlines import Clocks, Deadlines
from ._http import HttpClient
from ._names import PROVIDERS, ModelName, nearest_tag
from .gguf import context_length, file_metadata, find_model_file, model_files
from .openai import ENDPOINTS

_A_LOOK = Deadlines(connect=5.0, total=15.0)
_OWN_APIS = tuple(LISTS)
_WITHOUT_LIST = ("replay", "scripted")


async def list_models(provider: str, **settings: Any) -> tuple[ListedModel, ...]:
    """All models of a provider, by name; `settings` are those of its section in the file. Raises `ProviderError`."""
    if provider in _WITHOUT_LIST:
        return ()
    if provider == "gguf":
        return tuple(ListedModel(str(path)) for path in model_files())
    client = connection(provider, "", **settings)
    models = model_list(provider, await _read(client, LISTS.get(provider, "/models")))
    return tuple(sorted(models, key=lambda model: model.name))


async def capabilities(
    name: ModelName, stated: Says | None = None, settings: Mapping[str, Any] | None = None, endpoint: str = ""
) -> ModelCapabilities:
    """Asks the provider too; when that can't be done, `note` says why and the rest still counts."""
    asked: Says = {}
    note = ""
    try:
        asked = await ask(name.provider, name.model, **(settings or {}))
    except AIBattleError as error:
        note = str(error)
    return merge_capabilities(name, stated or {}, asked, endpoint, note)


async def ask(provider: str, model: str, **settings: Any) -> Says:
    """What the provider says now of one model; nothing where it does not know it. Raises `ProviderError`."""
    if provider in _WITHOUT_LIST:
        return {}
    if provider == "gguf":
        return {"context_window": context_length(file_metadata(find_model_file(model)))}
    client = connection(provider, model, **settings)
    if provider == "ollama":
        return row_capabilities(provider, await _show_model(client, model))
    if provider in ("anthropic", "gemini"):
        version = "v1" if provider == "anthropic" else "v1beta"
        return row_capabilities(provider, await _read_if_there(client, f"/{version}/models/{quote(model, safe='')}"))
    rows = model_list(provider, await _read(client, "/models"))
    return next((row.says for row in rows if row.name == model), {})


def connection(provider: str, model: str, **settings: Any) -> HttpClient:
    """The bare client of a provider that is reached over HTTP."""
    if provider not in _OWN_APIS and (provider in ENDPOINTS or settings.get("base_url")):
        client = openai.create(model, endpoint=provider, **settings)
    else:
        known = [*PROVIDERS, *plugins.names("ai_battle.providers")]
        if provider not in known and "." not in provider:
            raise ConfigError(f"There is no provider {provider!r}{plugins.near(provider, [*dict.fromkeys(known)])}")
        client = plugins.create("ai_battle.providers", provider, model, **settings)
    if not isinstance(client, HttpClient):
        raise ConfigError(f"{provider} has no list of models that could be asked for.")
    return client


async def _show_model(client: HttpClient, model: str) -> Mapping[str, Any]:
    """What Ollama says of a model, also when it is spelled with dashes."""
    if found := await _read_if_there(client, "/api/show", to_json({"model": model})):
        return found
    tag = nearest_tag(model, (row.name for row in model_list("ollama", await _read(client, "/api/tags"))))
    return await _read_if_there(client, "/api/show", to_json({"model": tag})) if tag else {}


async def _read_if_there(client: HttpClient, path: str, body: bytes = b"") -> Mapping[str, Any]:
    try:
        return await _read(client, path, body)
    except ProviderError as error:
        if error.status == 404:
            return {}
        raise


async def _read(client: HttpClient, path: str, body: bytes = b"") -> Mapping[str, Any]:
    where = str(client.transport.address)
    async with Clocks(_A_LOOK, where), client.transport.send("POST" if body else "GET", path, body) as reply:
        data = await reply.whole()
    if reply.status >= 300:
        raise _refusal(client, client.api.wire.decode_error(reply.status, data, reply.headers))
    try:
        answer = from_json(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        head = data[:200].decode(errors="replace")
        raise BadReply(f"{where}: {path} answers with no JSON object; is base_url right? {head!r}", raw=head)
    return answer


def _refusal(client: HttpClient, error: ProviderError) -> ProviderError:
    error.args = (f"{client.transport.address}: {error} {client.api.advice(error)}".rstrip(),)
    return error
