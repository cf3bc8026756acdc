"""A model type to a client that answers, with retries, metered; and what such clients are made with."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from .. import assembly
from ..config.collaboration import HelperSettings
from ..config.documents import ConfigDocument
from ..config.participants import Capabilities
from ..core import plugins
from ..core.client import ModelClient
from ..core.errors import ConfigError, Unreachable
from ..core.ledger import SpendingLimits, unpriced_reason
from ..core.messages import FILE_KINDS
from ..core.redaction import NO_SECRETS, Redactor, without_keys
from ..providers._calls import PATIENT, ProviderCaller
from ..providers._calls import RetryPolicy as RetryPolicy
from ..providers._capabilities import readable_files
from ..providers._endpoints import PACKAGE, create_provider, provider_module, provider_traits
from ..providers._filters import LEFT_OUT, CapabilityFilter, NamedClient, RedactedClient
from ..providers._metered import CallTerms
from ..providers._names import ModelName, is_local, parse
from ..providers._prices import FREE, TokenPrice, context_window, most_output, price
from ..providers._recordings import RecordedExchanges, Recorder
from ..providers.replay import RecordingClient, ReplayClient

if TYPE_CHECKING:
    from ..config.benchmark import SuiteLimits
    from ..config.collaboration import PairLimits
    from ..config.discussion import Limits
    from ..config.loading import LoadedDiscussion
    from ..config.participants import ParticipantSettings

Speaking: TypeAlias = "ParticipantSettings | HelperSettings"


@dataclass(frozen=True, slots=True)
class RecordingFiles:
    """Files of exchanges with models: one to write (`record`), one to answer from without calling any (`replay`)."""

    record: str = ""
    replay: str = ""


NO_RECORDING: RecordingFiles = RecordingFiles()


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What models are made with: sections of the file, the environment, and how many script entries are used up.

    `has_files`: it is a discussion in which files are shown, or may be. `evidence` is where it is kept what pairs
    have shown: a folder, usually the state directory, or the address of a Redis.
    """

    providers: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    context_windows: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    retry: RetryPolicy = PATIENT
    starts: Mapping[str, int] = field(default_factory=dict)
    recorder: Recorder | None = None
    recording: RecordedExchanges | None = None
    base: Path = Path()
    redactor: Redactor = NO_SECRETS
    local_only: bool = False
    has_files: bool = False
    evidence: Path | str | None = None

    def without_secrets(self, text: str) -> str:
        """Returns a text as it may be kept: without secrets that are known, and without what looks like a key."""
        return without_keys(self.redactor.text(text))

    @classmethod
    def of(
        cls,
        loaded: "LoadedDiscussion",
        starts: Mapping[str, int] | None = None,
        recordings: RecordingFiles = NO_RECORDING,
    ) -> Self:
        return replace(
            cls.beside(loaded, RetryPolicy.of(loaded.file.discussion.timeouts)),
            local_only=loaded.file.discussion.local_only,
            has_files=loaded.file.discussion.has_files,
            starts=starts or {},
            recorder=Recorder(Path(recordings.record), loaded.redactor) if recordings.record else None,
            recording=RecordedExchanges.read(Path(recordings.replay)) if recordings.replay else None,
        )

    @classmethod
    def beside(cls, document: ConfigDocument, retry: RetryPolicy) -> Self:
        """Returns what stands beside the main section of any kind of file."""
        file = document.file
        return cls(
            providers={name: _stated_options(section) for name, section in file.providers.items()},
            prices={name: _stated_options(section) for name, section in file.prices.items()},
            context_windows=file.context_windows,
            environment=document.environment,
            retry=retry,
            base=document.base,
            redactor=document.redactor,
        )


def _stated_options(section: Any) -> dict[str, Any]:
    """Returns what the file says of a section, without what it leaves open."""
    options: dict[str, Any] = section.model_dump(exclude_unset=True)
    return options


def _unknown() -> None:
    """Is what a value is before anybody has said it."""


async def _believe() -> None:
    """Checks nothing: of a model without an address nobody can tell that it is not there."""


@dataclass(frozen=True, slots=True)
class Model:
    """A participant's model, ready to answer.

    `options` go with each request; `helper` is the large one that helps it, `reads` the kinds of files that it is sent
    as they are; `is_seeing` where it is known to see pictures. What it costs and how much it holds is
    looked up when it is asked for, as loading the list of prices takes a while.
    """

    name: ModelName
    client: ModelClient
    options: Mapping[str, Any]
    find_price: Callable[[], TokenPrice | None] = field(default=_unknown, repr=False)
    find_window: Callable[[], int | None] = field(default=_unknown, repr=False)
    local: bool = False
    endpoint: str = ""
    require_listener: Callable[[], Awaitable[None]] = field(default=_believe, repr=False)
    helper: "Model | None" = None
    reads: frozenset[str] = FILE_KINDS
    is_seeing: bool = False

    @property
    def upstream(self) -> str:
        """What its calls share with those of other models: an address, else the provider."""
        return self.endpoint or self.name.provider

    @property
    def price(self) -> TokenPrice | None:
        """None where nobody knows it."""
        return self.find_price()

    @property
    def window(self) -> int | None:
        """Its context in tokens."""
        return self.find_window()


def live_model(client: ModelClient) -> Model:
    """Returns the model behind a client that a program brings, of which nothing else is known."""
    return Model(ModelName(type(client).__name__, ""), client, {})


def create_client(type: str, *, retry: RetryPolicy = PATIENT, **settings: Any) -> ModelClient:  # noqa: A002
    """A client for a model type such as "gpt-4o" or "ollama/phi4": with retries, metered.

    `settings` are the provider's: `base_url, api_key, headers, api_version, transport, client` (an official SDK's
    client object); for "scripted" `script, when, loop, pace`. Raises `ConfigError`.
    """
    name = parse(type)
    return model(name, settings, BuildContext(retry=retry)).client


def participant(name: str, spec: Speaking, context: BuildContext) -> Model:
    """The model of a participant, or of one that helps: of that, a recording may hold nothing."""
    model_name = parse(spec.type, context.providers)
    if context.recording and not isinstance(spec, HelperSettings):
        _require_recorded(model_name, context.recording)
    settings = _script(spec, context.starts.get(name, 0)) if _takes_script(model_name, context) else {}
    made = model(model_name, settings, context)
    if spec.veil:
        made = assembly.veiling.behind_veil(made, spec.veil, context)
    made = _within(spec.capabilities, made, context)
    if context.local_only and not made.local:
        raise ConfigError(f"{name} is {made.name}, which is not on this machine, and the file says 'local_only: true'.")
    return replace(made, options={**made.options, **spec.parameters.options()})


def is_gateway(made: Model) -> bool:
    return bool(made.endpoint) and not provider_traits(made.name.provider).local


def _within(stated: Capabilities, made: Model, context: BuildContext) -> Model:
    """Keeps from a model what it can't do, and gives it files of a discussion in a form that it reads.

    What clients of a server send goes to it as they sent it: they have chosen the model.
    """
    seeing = readable_files(made.name, stated.stated_values())["images"] is True
    made = replace(made, reads=readable_kinds(made.name, stated), is_seeing=seeing)
    lacks = stated.lacking & LEFT_OUT | (FILE_KINDS - made.reads if context.has_files else frozenset())
    if lacks or context.has_files:
        made = replace(made, client=CapabilityFilter(made.client, lacks, has_files=context.has_files))
    return replace(made, find_window=lambda: stated.context_window) if stated.context_window else made


def readable_kinds(name: ModelName, stated: Capabilities) -> frozenset[str]:
    """The kinds of files that it is sent as they are: pictures unless it sees none, others only where that is known."""
    known = readable_files(name, stated.stated_values())
    return frozenset(kind for kind, reads in known.items() if reads or (reads is None and kind == "images"))


def model(name: ModelName, settings: Mapping[str, Any], context: BuildContext) -> Model:
    if context.recording:
        return _replay_model(name, context.recording)
    client = _provider_client(name, settings, context)
    address, require_listener = getattr(client, "endpoint", ""), getattr(client, "require_listener", _believe)
    cost = cache(partial(price, name, context.prices, address))
    local = is_local(name.provider, name.model, address)
    window = cache(partial(context_window, name, context.context_windows, address))
    is_real = not provider_traits(name.provider).recited
    most = getattr(client, "most_output", None) or partial(most_output, name, window)
    # The redactor is around all that sends and repeats, so that no attempt leaves without it; a recorder has its own.
    terms = CallTerms(
        cost, most, bounded=is_real, find_price=lambda model: price(name.of_model(model), context.prices, address)
    )
    client = ProviderCaller(client, str(name), terms, context.retry)
    client = RedactedClient(client, context.redactor)
    if context.recorder:
        client = RecordingClient(client, context.recorder, str(name))
    return Model(name, client, name.options, cost, window, local, address, require_listener)


def _require_recorded(name: ModelName, recording: RecordedExchanges) -> None:
    if str(name) not in recording.models:
        raise ConfigError(
            f"{recording.path} holds nothing of {name}, only of {', '.join(recording.models) or 'nobody'}."
        )


def _replay_model(name: ModelName, recording: RecordedExchanges) -> Model:
    terms = CallTerms(replace(FREE, stated=True), bounded=False)
    client = ProviderCaller(ReplayClient(recording, str(name)), str(name), terms, retry=None)
    return Model(name, client, name.options, lambda: FREE, local=True)


def _provider_client(name: ModelName, settings: Mapping[str, Any], context: BuildContext) -> ModelClient:
    options = {**context.providers.get(name.provider, {}), **settings}
    if provider_traits(name.provider).http:
        options |= {"deadlines": context.retry.deadlines}
        if context.environment is not None:
            options |= {"environment": context.environment}
    if plugins.takes(plugins.factory(PACKAGE, provider_module(name.provider)), "base"):
        options = {"base": context.base, **options}
    client: ModelClient = create_provider(name.provider, name.model, options)
    return client


def _takes_script(name: ModelName, context: BuildContext) -> bool:
    """A recording does without the provider, which need not be loaded then."""
    return not context.recording and provider_traits(name.provider).takes_script


def _script(spec: Speaking, start: int) -> dict[str, Any]:
    entries = [entry.model_dump(exclude_defaults=True) for entry in spec.script]
    rules = [rule.model_dump(exclude_defaults=True) for rule in spec.when]
    return {"script": entries, "when": rules, "loop": spec.loop, "pace": spec.pace, "start": start}


def require_priced(model: Model, *limits: "Limits | PairLimits | SuiteLimits | SpendingLimits") -> None:
    """Raises `ConfigError` where a limit in dollars can't hold for a model, and nobody has said that it need not."""
    is_limited = any(each.cost_usd is not None and each.unpriced == "refuse" for each in limits)
    if is_limited and model.price is None:
        raise ConfigError(unpriced_reason(str(model.name)))


def helper_model(speaker: str, settings: HelperSettings, context: BuildContext) -> Model:
    """A model under its own parameters; raises `ConfigError`. Only scripts tell under a name how far they are."""
    require_no_tools(settings)
    model = participant(speaker, settings, context)
    if not (model.options or settings.instructions or _takes_script(model.name, context)):
        return model
    return replace(model, client=NamedClient(model.client, speaker, model.options, settings.instructions))


def judge_models(judges: Iterable[HelperSettings], context: BuildContext) -> dict[str, Model]:
    """The models that judge a run, by name, numbered where several have the same; raises `ConfigError`."""
    models: dict[str, Model] = {}
    for number, settings in enumerate(judges):
        model = helper_model(f"judge:{number}", settings, context)
        name = settings.name or str(model.name)
        same = sum(each == name or each.startswith(f"{name} (") for each in models)
        models[f"{name} ({same + 1})" if same else name] = model
    return models


def require_no_tools(settings: HelperSettings) -> None:
    """Raises `ConfigError` for tools of a helper where there is nothing that gives it any."""
    if settings.tools is not None:
        raise ConfigError(f"{settings.type} has tools, which only a discussion gives its helpers; take the key away.")


async def find_unreachable(models: Iterable[tuple[str, Model]]) -> list[str]:
    """A sentence for each address where nothing listens, which names those who need it."""
    names: dict[str, list[str]] = {}
    needed: dict[str, Model] = {}
    for name, model in models:
        names.setdefault(model.upstream, []).append(name)
        needed[model.upstream] = model
    faults = await asyncio.gather(*map(_fault, needed.values()))
    return [f"{', '.join(names[where])}: {fault}" for where, fault in zip(needed, faults, strict=True) if fault]


async def _fault(model: Model) -> str:
    try:
        await model.require_listener()
    except Unreachable as error:
        return str(error)
    return ""


def spelling(type_: str, providers: Collection[str] = ()) -> str:
    """Returns the same for all spellings of a model, to compare them by; one that nobody knows is itself.

    `gemma3-1b` may stand for `gemma3:1b`, which is found out where the models are.
    """
    try:
        return str(parse(type_, providers)).replace(":", "-")
    except ConfigError:
        return type_
