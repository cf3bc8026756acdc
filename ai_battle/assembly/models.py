"""Builds a client with retries and metering from a model type, and describes what clients are built with."""

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
from ..core.exchange import Usage
from ..core.ledger import SpendingLimits, unpriced_reason
from ..core.messages import FILE_KINDS
from ..core.redaction import NO_SECRETS, Redactor, without_keys
from ..providers._calls import DEFAULT_RETRY, ProviderCaller
from ..providers._calls import RetryPolicy as RetryPolicy
from ..providers._capabilities import capabilities_offline
from ..providers._endpoints import PACKAGE, create_provider, provider_module, provider_traits
from ..providers._filters import REMOVABLE, CapabilityFilter, NamedClient, RedactedClient
from ..providers._metered import CallTerms
from ..providers._names import ModelName, is_local, parse
from ..providers._prices import FREE_PRICE, TokenPrice, context_window, most_output, price

if TYPE_CHECKING:
    from ..config.benchmark import SuiteLimits
    from ..config.collaboration import PairLimits
    from ..config.discussion import Limits
    from ..config.loading import LoadedDiscussion
    from ..config.participants import ParticipantSettings
    from ..providers.replay import RecordedExchanges, Recorder

Speaking: TypeAlias = "ParticipantSettings | HelperSettings"


@dataclass(frozen=True, slots=True)
class RecordingFiles:
    """Files of exchanges with models: `record` is written, `replay` answers without calling any model."""

    record: str = ""
    replay: str = ""


NO_RECORDING: RecordingFiles = RecordingFiles()


@dataclass(frozen=True, slots=True)
class BuildContext:
    """The context for building models: sections of the file, the environment, and used script entries.

    `has_files` is true for discussions in which files are shown or may be. `evidence` is where pairs' evidence is kept:
    a folder, usually the state directory, or the address of a Redis.
    """

    providers: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    context_windows: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    retry: RetryPolicy = DEFAULT_RETRY
    starts: Mapping[str, int] = field(default_factory=dict)
    recorder: "Recorder | None" = None
    recording: "RecordedExchanges | None" = None
    base: Path = Path()
    redactor: Redactor = NO_SECRETS
    local_only: bool = False
    has_files: bool = False
    evidence: Path | str | None = None

    def without_secrets(self, text: str) -> str:
        """Removes known secrets, and everything that looks like a key."""
        return without_keys(self.redactor.text(text))

    @classmethod
    def of(
        cls,
        loaded: "LoadedDiscussion",
        starts: Mapping[str, int] | None = None,
        recordings: RecordingFiles = NO_RECORDING,
    ) -> Self:
        return replace(
            cls.for_document(loaded, RetryPolicy.of(loaded.file.discussion.timeouts)),
            local_only=loaded.file.discussion.local_only,
            has_files=loaded.file.discussion.has_files,
            starts=starts or {},
            recorder=assembly.replay.Recorder(Path(recordings.record), loaded.redactor) if recordings.record else None,
            recording=assembly.replay.RecordedExchanges.read(Path(recordings.replay)) if recordings.replay else None,
        )

    @classmethod
    def for_document(cls, document: ConfigDocument, retry: RetryPolicy) -> Self:
        """Takes the sections that all kinds of files share from a document."""
        file = document.file
        return cls(
            providers={name: section.model_dump(exclude_unset=True) for name, section in file.providers.items()},
            prices={name: section.model_dump(exclude_unset=True) for name, section in file.prices.items()},
            context_windows=file.context_windows,
            environment=document.environment,
            retry=retry,
            base=document.base,
            redactor=document.redactor,
        )


def _no_value() -> None:
    """Returns None, for a value that is not known."""


async def _assume_reachable() -> None:
    """Does nothing: without an address, reachability can't be checked."""


@dataclass(frozen=True, slots=True)
class Model:
    """A participant's model, ready to answer.

    `options` go with each request, and `helper` is the large model that helps this one. `reads` are the kinds of files
    it receives unchanged; `is_seeing` is true if it is known to see pictures. Price and window are looked up on access,
    because loading the price list takes a while.
    """

    name: ModelName
    client: ModelClient
    options: Mapping[str, Any]
    find_price: Callable[[], TokenPrice | None] = field(default=_no_value, repr=False)
    find_window: Callable[[], int | None] = field(default=_no_value, repr=False)
    local: bool = False
    endpoint: str = ""
    require_listener: Callable[[], Awaitable[None]] = field(default=_assume_reachable, repr=False)
    helper: "Model | None" = None
    reads: frozenset[str] = FILE_KINDS
    is_seeing: bool = False

    @property
    def upstream(self) -> str:
        """The identity that models on one server share: their address, else the provider."""
        return self.endpoint or self.name.provider

    @property
    def price(self) -> TokenPrice | None:
        """The price, or None if unknown."""
        return self.find_price()

    @property
    def window(self) -> int | None:
        """The context in tokens, or None if unknown."""
        return self.find_window()

    def usage_at_price(self, read: int, written: int = 0) -> Usage:
        """Returns a usage of so many tokens with what it costs."""
        usage = Usage(read, written)
        return replace(usage, cost_usd=self.price.cost(usage) if self.price else None)


def live_model(client: ModelClient) -> Model:
    """Wraps a client that a program brings, of which nothing else is known."""
    return Model(ModelName(type(client).__name__, ""), client, {})


def create_client(type: str, *, retry: RetryPolicy = DEFAULT_RETRY, **settings: Any) -> ModelClient:  # noqa: A002
    """Returns a metered client with retries for a model type such as "gpt-4o" or "ollama/phi4".

    `settings` are the provider's: `base_url, api_key, headers, api_version, transport, client` (an official SDK's
    client object); for "scripted" `script, when, loop, pace`. With a `base_url`, "lab/our-model" is a model of any
    server with OpenAI's API. Raises `ConfigError`.
    """
    head, slash, _ = type.partition("/")
    name = parse(type, {head} if slash and "base_url" in settings else ())
    return model(name, settings, BuildContext(retry=retry)).client


def participant(name: str, spec: Speaking, context: BuildContext) -> Model:
    """Builds the model of a participant or helper. A recording has to contain participants' models only."""
    model_name = parse(spec.type, context.providers)
    if context.recording and not isinstance(spec, HelperSettings):
        _require_recorded(model_name, context.recording)
    settings = _script(spec, context.starts.get(name, 0)) if _takes_script(model_name, context) else {}
    made = model(model_name, settings, context)
    if spec.veil:
        made = assembly.veiling.with_veil(made, spec.veil, context)
    made = _with_capabilities(spec.capabilities, made, context)
    if context.local_only and not made.local:
        raise ConfigError(f"{name} is {made.name}, which is not on this machine, and the file says 'local_only: true'.")
    return replace(made, options={**made.options, **spec.parameters.options()})


def supporting_model(spelled: str, place: str, context: BuildContext) -> ModelName:
    """Returns the name of a finder or an embedding model.

    Raises `ConfigError` for code that the file names: nobody was asked to trust it, as it can be of no use here.
    """
    try:
        name = parse(spelled, context.providers)
    except ConfigError as error:
        raise ConfigError(str(error), place) from error
    if "." in name.provider:
        raise ConfigError(f"{name} is made by code of your own, which can't serve here; name another provider.", place)
    return name


def is_gateway(made: Model) -> bool:
    return bool(made.endpoint) and not provider_traits(made.name.provider).local


def _with_capabilities(stated: Capabilities, made: Model, context: BuildContext) -> Model:
    """Limits requests to what the model can do, and sends files of discussions in a form that it reads.

    A server's requests keep their files unchanged, because its clients have chosen the model themselves.
    """
    seeing = capabilities_offline(made.name, stated.stated_values()).get("images") is True
    made = replace(made, reads=readable_kinds(made.name, stated), is_seeing=seeing)
    lacks = stated.lacking & REMOVABLE | (FILE_KINDS - made.reads if context.has_files else frozenset())
    if lacks or context.has_files:
        made = replace(made, client=CapabilityFilter(made.client, lacks, has_files=context.has_files))
    return replace(made, find_window=lambda: stated.context_window) if stated.context_window else made


def readable_kinds(name: ModelName, stated: Capabilities) -> frozenset[str]:
    """Returns the kinds of files to send unchanged: pictures unless the model can't see them, others only if known."""
    known = {"images": True, **capabilities_offline(name, stated.stated_values())}
    return frozenset(kind for kind in FILE_KINDS if known.get(kind))


def model(name: ModelName, settings: Mapping[str, Any], context: BuildContext) -> Model:
    if context.recording:
        return _replay_model(name, context.recording)
    client = _provider_client(name, settings, context)
    address, require_listener = getattr(client, "endpoint", ""), getattr(client, "require_listener", _assume_reachable)
    cost = cache(partial(price, name, context.prices, address))
    local = is_local(name.provider, name.model, address)
    window = cache(partial(context_window, name, context.context_windows, address))
    is_real = not provider_traits(name.provider).recited
    most = getattr(client, "most_output", None) or partial(most_output, name, window)
    # The redactor wraps the caller, which sends and retries, so that no attempt leaves unredacted.
    terms = CallTerms(
        cost, most, bounded=is_real, find_price=lambda model: price(name.of_model(model), context.prices, address)
    )
    client = ProviderCaller(client, str(name), terms, context.retry)
    client = RedactedClient(client, context.redactor)
    if context.recorder:
        client = assembly.replay.RecordingClient(client, context.recorder, str(name))
    return Model(name, client, name.options, cost, window, local, address, require_listener)


def _require_recorded(name: ModelName, recording: "RecordedExchanges") -> None:
    if str(name) not in recording.models:
        raise ConfigError(
            f"{recording.path} holds nothing of {name}, only of {', '.join(recording.models) or 'nobody'}."
        )


def _replay_model(name: ModelName, recording: "RecordedExchanges") -> Model:
    terms = CallTerms(replace(FREE_PRICE, stated=True), bounded=False)
    client = ProviderCaller(assembly.replay.ReplayClient(recording, str(name)), str(name), terms, retry=None)
    return Model(name, client, name.options, lambda: FREE_PRICE, local=True)


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
    """Checks whether the provider takes a script. With a recording the provider is not needed, so it is not loaded."""
    return not context.recording and provider_traits(name.provider).takes_script


def _script(spec: Speaking, start: int) -> dict[str, Any]:
    entries = [entry.model_dump(exclude_defaults=True) for entry in spec.script]
    rules = [rule.model_dump(exclude_defaults=True) for rule in spec.when]
    return {"script": entries, "when": rules, "loop": spec.loop, "pace": spec.pace, "start": start}


def require_priced(model: Model, *limits: "Limits | PairLimits | SuiteLimits | SpendingLimits") -> None:
    """Raises `ConfigError` if a dollar limit can't hold for an unpriced model, unless `unpriced` allows it."""
    is_limited = any(each.cost_usd is not None and each.unpriced == "refuse" for each in limits)
    if is_limited and model.price is None:
        raise ConfigError(unpriced_reason(str(model.name)))


def helper_model(speaker: str, settings: HelperSettings, context: BuildContext) -> Model:
    """Builds a helper's model with its own parameters. Only a script needs the name, to report its position.

    Raises `ConfigError`.
    """
    require_no_tools(settings)
    model = participant(speaker, settings, context)
    if not (model.options or settings.instructions or _takes_script(model.name, context)):
        return model
    return replace(model, client=NamedClient(model.client, speaker, model.options, settings.instructions))


def judge_models(judges: Iterable[HelperSettings], context: BuildContext) -> dict[str, Model]:
    """Builds the judges by name, numbering equal names. Raises `ConfigError`."""
    models: dict[str, Model] = {}
    for number, settings in enumerate(judges):
        model = helper_model(f"judge:{number}", settings, context)
        name = settings.name or str(model.name)
        same = sum(each == name or each.startswith(f"{name} (") for each in models)
        models[f"{name} ({same + 1})" if same else name] = model
    return models


def require_no_tools(settings: HelperSettings) -> None:
    """Raises `ConfigError` for a helper's tools outside of a discussion, where nothing provides them."""
    if settings.tools is not None:
        raise ConfigError(f"{settings.type} has tools, which only a discussion gives its helpers; take the key away.")


async def find_unreachable(models: Iterable[tuple[str, Model]]) -> list[str]:
    """Returns a sentence for each unreachable address, naming the models that need it."""
    names: dict[str, list[str]] = {}
    needed: dict[str, Model] = {}
    for name, model in models:
        names.setdefault(model.upstream, []).append(name)
        needed[model.upstream] = model
    faults = zip(needed, await asyncio.gather(*map(_fault, needed.values())), strict=True)
    return [f"{', '.join(dict.fromkeys(names[where]))}: {fault}" for where, fault in faults if fault]


async def _fault(model: Model) -> str:
    try:
        await model.require_listener()
    except Unreachable as error:
        return str(error)
    return ""


def spelling(type_: str, providers: Collection[str] = ()) -> str:
    """Returns the same text for all spellings of a model, for comparison; an unknown model is returned unchanged.

    `gemma3-1b` may mean `gemma3:1b`, which only the provider knows.
    """
    try:
        return str(parse(type_, providers)).replace(":", "-")
    except ConfigError:
        return type_
