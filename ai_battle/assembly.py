"""Checked configuration to live clients: the only module that knows every mechanism."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .config import Loaded, Problem
from .config.discussion import Timeouts
from .config.mask import Mask
from .config.participants import ParticipantSettings
from .core import plugins
from .core.client import ModelClient
from .core.errors import ConfigError
from .core.events import Emit
from .providers._adapting import Adapting
from .providers._capabilities import at_hand
from .providers._deadlines import Deadlines
from .providers._learned import Learned
from .providers._metered import Metered
from .providers._names import PROVIDERS as KNOWN_PROVIDERS
from .providers._names import ModelName, is_local, parse
from .providers._prices import FREE, Price, context_window, price
from .providers._retry import Retrying
from .providers._tape import Recorder, Tape
from .providers.openai import ENDPOINTS
from .providers.replay import Recording, ReplayClient
from .tools import loading as tool_files
from .tools import outfit as tool_outfit
from .tools.formats.auto import Forgetful
from .tools.outfit import Knows, Outfit

PROVIDERS = "ai_battle.providers"
REFUSE_NOTHING = ("scripted", "replay")


@dataclass(frozen=True, slots=True)
class Model:
    """A participant's model, ready to answer.

    `options` go with each request, `window` is its context in tokens, `price` is None where nobody knows it.
    """

    name: ModelName
    client: ModelClient
    options: Mapping[str, Any]
    window: int | None = None
    price: Price | None = None
    local: bool = False
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The models of one run by participant; people at the keyboard have none. `warnings` are for the user."""

    models: Mapping[str, Model]
    warnings: tuple[str, ...] = ()
    recorder: Recorder | None = None
    outfit: Outfit | None = None

    async def equip(self, run_dir: Path, emit: Emit) -> None:
        """Gives the models their tools, once it is known where the run is kept; raises `ConfigError`."""
        if self.outfit:
            await self.outfit.equip(run_dir, emit)

    async def aclose(self) -> None:
        for model in self.models.values():
            await model.client.aclose()
        if self.outfit:
            await self.outfit.aclose()
        if self.recorder:
            self.recorder.close()


@dataclass(frozen=True, slots=True)
class Tapes:
    """Files of exchanges with models: one to write (`record`), one to answer from without calling any (`replay`)."""

    record: str = ""
    replay: str = ""


NO_TAPES = Tapes()


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a model is asked: `retries` of a failed call, `seconds` for an answer with all of them."""

    retries: int = 3
    seconds: float = 600.0

    @classmethod
    def of(cls, timeouts: Timeouts) -> "Patience":
        return cls(timeouts.retry_count, timeouts.request)

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines(total=self.seconds)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What models are made with: sections of the file, the environment, and how many script entries are used up."""

    providers: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    context_windows: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    patience: Patience = Patience()
    starts: Mapping[str, int] = field(default_factory=dict)
    recorder: Recorder | None = None
    tape: Tape | None = None

    @classmethod
    def of(cls, loaded: Loaded, starts: Mapping[str, int] | None = None, tapes: Tapes = NO_TAPES) -> "Surroundings":
        file = loaded.file
        mask = Mask(loaded.secret_names)
        return cls(
            providers={name: _written(section) for name, section in file.providers.items()},
            prices={name: _written(section) for name, section in file.prices.items()},
            context_windows=file.context_windows,
            environment=loaded.environment,
            patience=Patience.of(file.discussion.timeouts),
            starts=starts or {},
            recorder=Recorder(Path(tapes.record), mask) if tapes.record else None,
            tape=Tape.read(Path(tapes.replay), mask) if tapes.replay else None,
        )


def create_client(type: str, *, patience: Patience = Patience(), **settings: Any) -> ModelClient:  # noqa: A002
    """A client for a model type such as "gpt-4o" or "ollama/phi4": with retries, metered.

    `settings` are the provider's: `base_url, api_key, headers, api_version, transport, client` (an official SDK's
    client object); for "scripted" `script, when, loop, pace`. Raises `ConfigError`.
    """
    name = parse(type)
    return _model(name, settings, Surroundings(patience=patience)).client


def build(
    loaded: Loaded,
    starts: Mapping[str, int] | None = None,
    tapes: Tapes = NO_TAPES,
    *,
    allow_unsandboxed: bool = False,
) -> Assembled:
    """All models of a discussion; `starts` is how many entries of its script each scripted participant has used up.

    Raises `ConfigError` for what `check` would have found.
    """
    around = Surroundings.of(loaded, starts, tapes)
    said = loaded.file.discussion.models
    models = {name: _participant(name, spec, around) for name, spec in said.items() if spec.role != "user"}
    outfit = _outfit(loaded, allow_unsandboxed=allow_unsandboxed)
    if outfit:
        models = {name: with_tools(model, outfit, said[name]) for name, model in models.items()}
    if loaded.file.discussion.local_only:
        for name, model in models.items():
            _require_local(name, model)
    notes = tuple(dict.fromkeys(model.name.note for model in models.values() if model.name.note))
    return Assembled(models, notes, around.recorder, outfit)


def with_tools(model: Model, outfit: Outfit, spec: ParticipantSettings) -> Model:
    """The model with tools; what the file says of its capabilities counts more than what it refused before."""
    known = at_hand(model.name, spec.capabilities).known.get("tools")
    native = bool(known.value) if known and known.source != "learned" else None
    memory = Learned.load() if "tools" not in spec.capabilities else Forgetful()
    knows = Knows(native, memory, (model.endpoint or model.name.provider, model.name.model))
    return replace(model, client=outfit.client(model.client, knows, spec.tools))


def _outfit(loaded: Loaded, *, allow_unsandboxed: bool) -> Outfit | None:
    said = loaded.file.discussion
    used = said.tools and said.tools.enabled
    return Outfit(said, loaded.base, allow_unsandboxed=allow_unsandboxed) if used else None


def check(loaded: Loaded, tapes: Tapes = NO_TAPES) -> list[Problem]:
    """What would keep the models of a checked file from being made; code that the file names is not imported."""
    return list(_problems(loaded, Surroundings.of(loaded, tapes=replace(tapes, record=""))))


def named_code(loaded: Loaded) -> tuple[str, ...]:
    """The modules that the file names and that running it would import: they need to be trusted first."""
    around = Surroundings.of(loaded)
    named = (
        parse(spec.type, around.providers).provider for spec in loaded.file.discussion.models.values() if spec.type
    )
    tools = tool_files.named_code(said.tools) if (said := loaded.file.discussion).tools else ()
    modules = (provider for provider in named if "." in provider)
    return tuple(dict.fromkeys((*modules, *(loaded.expansion.hide(code) for code in tools))))


def _problems(loaded: Loaded, around: Surroundings) -> Iterator[Problem]:
    yield from _unknown_providers(around)
    for name, spec in loaded.file.discussion.models.items():
        if spec.role == "user":
            continue
        try:
            _try_out(name, spec, around, local_only=loaded.file.discussion.local_only)
        except ConfigError as error:
            yield Problem(("discussion", "models", name, "type"), str(error))
    if (tools := loaded.file.discussion.tools) and tools.enabled:
        for index, words in tool_outfit.problems(tools, loaded.base):
            yield Problem(("discussion", "tools", "registry", index), words)


def _unknown_providers(around: Surroundings) -> Iterator[Problem]:
    """A name of one's own needs an address; without one it is a misspelt name."""
    for name, section in around.providers.items():
        if name not in KNOWN_PROVIDERS and not _is_plugin(name) and not section.get("base_url"):
            hint = plugins.near(name, [*KNOWN_PROVIDERS])
            yield Problem(("providers", name), f"there is no such provider, and no base_url for one{hint}", key=True)


def _try_out(name: str, spec: ParticipantSettings, around: Surroundings, *, local_only: bool) -> None:
    if "." in parse(spec.type, around.providers).provider:
        return
    model = _participant(name, spec, around)
    if local_only:
        _require_local(name, model)


def _participant(name: str, spec: ParticipantSettings, around: Surroundings) -> Model:
    model_name = parse(spec.type, around.providers)
    settings = _script(spec, around.starts.get(name, 0)) if model_name.provider == "scripted" else {}
    model = _model(model_name, settings, around)
    return replace(model, options={**model.options, **spec.parameters.options()})


def _model(name: ModelName, settings: Mapping[str, Any], around: Surroundings) -> Model:
    if around.tape:
        return _replayed(name, around.tape)
    client = _provider_client(name, settings, around)
    address = getattr(client, "endpoint", "")
    cost = price(name, around.prices, address)
    local = is_local(name.provider, name.model, address)
    if name.provider not in REFUSE_NOTHING:
        client = Adapting(client, address or name.provider, name.model)
    patience = around.patience
    client = Retrying(client, str(name), patience.retries, patience.seconds)
    if around.recorder:
        client = Recording(client, around.recorder, str(name))
    window = context_window(name, around.context_windows, address)
    return Model(name, Metered(client, str(name), cost), name.options, window, cost, local, address)


def _replayed(name: ModelName, tape: Tape) -> Model:
    if str(name) not in tape.models:
        raise ConfigError(f"{tape.path} holds nothing of {name}, only of {', '.join(tape.models) or 'nobody'}.")
    client = Metered(ReplayClient(tape, str(name)), str(name), FREE)
    return Model(name, client, name.options, price=FREE, local=True)


def _provider_client(name: ModelName, settings: Mapping[str, Any], around: Surroundings) -> ModelClient:
    section = dict(around.providers.get(name.provider, {}))
    module, options = name.provider, {**section, **settings}
    if name.provider in ENDPOINTS or ("base_url" in section and not _is_plugin(name.provider)):
        module, options = "openai", {**options, "endpoint": name.provider}
    if _speaks_http(module):
        options |= {"deadlines": around.patience.deadlines}
        if around.environment is not None:
            options |= {"environment": around.environment}
    client: ModelClient = plugins.create(PROVIDERS, module, name.model, **options)
    return client


def _is_plugin(provider: str) -> bool:
    return "." in provider or provider in plugins.names(PROVIDERS)


def _speaks_http(module: str) -> bool:
    return module in ("anthropic", "gemini", "ollama", "openai")


def _script(spec: ParticipantSettings, start: int) -> dict[str, Any]:
    entries = [entry.model_dump(exclude_defaults=True) for entry in spec.script]
    rules = [rule.model_dump(exclude_defaults=True) for rule in spec.when]
    return {"script": entries, "when": rules, "loop": spec.loop, "pace": spec.pace, "start": start}


def _require_local(name: str, model: Model) -> None:
    if not model.local:
        raise ConfigError(
            f"{name} is {model.name}, which is not on this machine, and the file says 'local_only: true'."
        )


def _written(section: Any) -> dict[str, Any]:
    """What the file says of a section, without what it leaves open."""
    written: dict[str, Any] = section.model_dump(exclude_unset=True)
    return written
