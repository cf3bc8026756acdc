"""Lists models, and finds their capabilities and the source: the file, remembered refusals, the server, or a table."""

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from ..core import plugins
from ..core.errors import AIBattleError, ConfigError, ContextTooLong, ProviderError
from ..core.events import Emit, Warned
from ..core.exchange import ModelRequest
from ..core.files import cache_directory, make_private
from ._endpoints import PACKAGE, create_provider, provider_module, provider_traits
from ._names import CATALOGUE_DATE, ModelName
from ._prices import context_window

REFUSAL_SECONDS = 24 * 3600  # for which a refusal counts, as servers and their models change


class RefusalMemory:
    """Remembers on disk the parameters and features that models refused. `load()` returns the one of this user.

    Each refusal is an empty file, so that processes never disturb each other. Its time is that of the refusal, and its
    name has a hash of endpoint and model, as endpoints may contain passwords.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._refused: dict[str, dict[str, float]] = {}

    @classmethod
    def load(cls, folder: Path | None = None) -> "RefusalMemory":
        folder = folder or cache_directory() / "refused"
        memory = _memories.setdefault(folder, cls(folder))
        memory._read()
        return memory

    def refuses(self, endpoint: str, model: str) -> frozenset[str]:
        """Returns the parameters and features that this model refused within a day."""
        return frozenset(_recent_refusals(self._refused.get(_digest(endpoint, model), {})))

    def by_digest(self) -> Mapping[str, Mapping[str, float]]:
        """Returns all refusals with their times, sorted, by hashes of endpoint and model."""
        known = sorted(self._refused.items())
        return {digest: fresh for digest, refused in known if (fresh := _recent_refusals(refused))}

    def take_over(self, from_others: Mapping[str, Mapping[str, float]]) -> None:
        """Adds the refusals known from other machines, in the form of `by_digest`."""
        for digest, refused in from_others.items():
            for name, at in refused.items():
                self._note(digest, name, at)

    def remember(self, endpoint: str, model: str, refused: str) -> None:
        """Remembers a refusal, only for the life of the process if the directory can't be written."""
        if refused in self.refuses(endpoint, model):
            return
        digest = _digest(endpoint, model)
        self._note(digest, refused, time.time())
        with suppress(OSError):
            make_private(self.folder.parent)
            make_private(self.folder)
            (self.folder / f"{digest}.{quote(refused, safe='')}").touch(0o600)

    def _note(self, digest: str, name: str, at: float) -> None:
        known = self._refused.setdefault(digest, {})
        known[name] = max(at, known.get(name, 0.0))

    def _read(self) -> None:
        """Reads the refusals of all processes, and deletes those older than a day."""
        earliest = time.time() - REFUSAL_SECONDS
        for file in self.folder.glob("*.*"):
            with suppress(OSError):  # another process may have deleted it
                digest, _, name = file.name.partition(".")
                self._note(digest, unquote(name), at := file.stat().st_mtime)
                if at < earliest:
                    file.unlink()


_memories: dict[Path, RefusalMemory] = {}


def _recent_refusals(refused: Mapping[str, float]) -> Mapping[str, float]:
    earliest = time.time() - REFUSAL_SECONDS
    return {name: at for name, at in sorted(refused.items()) if at > earliest}


@lru_cache(maxsize=1024)
def _digest(endpoint: str, model: str) -> str:
    return sha256(f"{endpoint} {model}".encode()).hexdigest()


_SPELLINGS = {
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict"),
    "top_p": ("top_p", "topP"),
    "top_k": ("top_k", "topK"),
    "seed": ("seed",),
    "stop": ("stop", "stop_sequences", "stopSequences"),
    "reasoning": ("reasoning", "reasoning_effort", "thinking", "think", "thinkingConfig", "thinking_config", "effort"),
}
_LASTING = re.compile(
    r"unsupported|not supported|(does not|doesn't) support|unknown|unrecogni[sz]ed|not permitted|not allowed|unexpected"
    r"|deprecated|only the default|not available|cannot be (used|specified)",
    re.IGNORECASE,
)


class LearnedRefusals:
    """Leaves options that a model refused out of requests, and remembers them on this machine for its endpoint.

    If not `learns`, as for a scripted model, it does nothing, since a script's errors don't depend on the options.
    """

    def __init__(self, endpoint: str, model: str, *, learns: bool = True) -> None:
        self._learns = learns
        self._refusal_key = (endpoint, model)
        self._refused: set[str] = set()
        self._warned: set[str] = set()

    async def without_known(self, request: ModelRequest, emit: Emit) -> ModelRequest:
        """Returns the request without the options that were refused before."""
        if not (request.options and self._learns):
            return request
        refused = self._memory.refuses(*self._refusal_key) | self._refused
        for option in sorted(refused & request.options.keys()) if refused else ():
            request = await self._without_option(request, option, ", as it did before.", emit)
        return request

    async def without_refused(self, request: ModelRequest, error: ProviderError, emit: Emit) -> ModelRequest | None:
        """Returns the request without the option that `error` refuses, or None if it refuses none.

        It remembers only options that are refused whatever their value, as another value may be in range.
        """
        option = _refused_option(error, request.options) if self._learns else None
        if option is None:
            return None
        if _LASTING.search(str(error)):
            self._refused.add(option)
            self._memory.remember(*self._refusal_key, option)
        return await self._without_option(request, option, f": {error}", emit)

    @cached_property
    def _memory(self) -> RefusalMemory:
        """The memory, loaded once: other processes' new refusals aren't worth a disk access with each call."""
        return RefusalMemory.load()

    async def _without_option(self, request: ModelRequest, option: str, why: str, emit: Emit) -> ModelRequest:
        if option not in self._warned or request.wants.each_warning:
            self._warned.add(option)
            await emit(Warned(f"{option!r} is left out: {'/'.join(self._refusal_key)} refuses it{why}", option))
        return replace(request, options={name: value for name, value in request.options.items() if name != option})


def _refused_option(error: ProviderError, options: Iterable[str]) -> str | None:
    """Returns the option that a 400 or 422 names, in any of the APIs' spellings."""
    if error.status not in (400, 422) or isinstance(error, ContextTooLong):
        return None
    options = tuple(options)
    return next((option for text in (str(error), error.raw) for option in options if _names(text, option)), None)


def _names(text: str, option: str) -> bool:
    spellings = "|".join(map(re.escape, _SPELLINGS.get(option, (option,))))
    return re.search(rf"(?<![\w-])({spellings})(?![\w-])", text) is not None


CapabilityValues = Mapping[str, Any]
NAMES = ("tools", "images", "documents", "video", "reasoning", "json_schema", "context_window", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that a provider offers; `capabilities` are the capabilities that the list contains."""

    name: str
    capabilities: CapabilityValues = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A capability and its source."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """A model's capabilities. One that is missing in `known` is unknown: try it, and a refusal is remembered."""

    known: Mapping[str, KnownValue]
    refused: frozenset[str] = frozenset()
    note: str = ""

    def __getitem__(self, name: str) -> Any:
        """Returns the value, or None if it is unknown."""
        found = self.known.get(name)
        return found.value if found else None


def capabilities_offline(name: ModelName, stated: CapabilityValues) -> CapabilityValues:
    """Returns what the file states, and else the table. It is fast: it asks no server and loads no price list."""
    return {**listed_capabilities(name), **stated}


def listed_capabilities(name: ModelName) -> CapabilityValues:
    """Returns what the table of known models says."""
    if "." in name.provider:  # a dotted module must not be imported before the user has allowed it
        return {}
    models = provider_traits(name.provider).models
    return next((values for pattern, values in models if fnmatchcase(name.model.lower(), pattern)), {})


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
    sources: Mapping[str, CapabilityValues] = {  # the later one counts
        "genai-prices": {"context_window": context_window(name)},
        f"table of {CATALOGUE_DATE}": listed_capabilities(name),
        "server": asked,
        "learned": dict.fromkeys(refused & set(NAMES), False),
    }
    known = {
        feature: KnownValue(value, source)
        for source, values in sources.items()
        for feature, value in values.items()
        if value is not None
    }
    return ModelCapabilities(known, refused, note)
