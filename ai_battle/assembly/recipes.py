"""Describes a pair as a recipe, from which any number of equal clients can be built."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from ..collaboration._checks import VERIFIES, Check, Judge, OwnOpinion, PeerOpinion, Tested
from ..collaboration._hedging import Hedge
from ..collaboration._lessons import Lessons, LessonTerms
from ..collaboration._limits import HelpLimits, HelpUse
from ..collaboration._turn import AnswerCheck, Draft, HelperPool, Helping, consultation_event
from ..collaboration._wrappers import OptimisticStream
from ..collaboration.ladder import LadderState
from ..config.collaboration import AUTO, Help, HelperSettings, LessonSettings, PromiseSettings, UsedHelp
from ..core import plugins
from ..core.client import ClientWrapper, ModelClient, require_client
from ..core.errors import ConfigError
from ..core.events import Emit, Warned, as_role, ignore
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.files import state_directory
from ..core.helping import VERIFICATION, HelpAsked
from ..core.plugins import translate_errors
from ..core.traits import StrategyTraits
from ..judging.assessment import Assessment
from ..judging.calibration import ALWAYS_HELP, Calibration
from ..judging.detector import StuckDetector
from ..judging.promise import Promise
from ..providers._endpoints import PACKAGE, provider_module, provider_traits
from ..providers._veil import VeiledClient
from ..tools.client import ToolCapableClient
from ..tools.sandbox.sandbox import Level
from ..tools.verification import Verification
from . import strategies
from .models import BuildContext, Model, is_gateway, model, spelling, supporting_model

PLAIN_OPTIONS = ("threshold", "max_retries", "help_rate", "max_cost", "samples", "max_loops")
ONLY_ADVISES = "does not answer with the helper's words, so its loss is unknown; a promise goes with takeover or peers"
USUAL_CALL = Usage(1_500, 400)
"""The tokens that a helper is assumed to read and write per turn."""

Make = Callable[[str, HelperSettings], Model]
"""Builds a helper's model from its name in the journal and its settings."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A model with its helpers, named by their places in the file: "secondary", "peers.0".

    Paths are relative to `base`. If `is_of_helper`, the helped model is itself a helper.
    """

    model: Model
    help: Help
    helpers: Mapping[str, Model] = field(default_factory=dict)
    base: Path = field(default_factory=Path)
    detector: StuckDetector | None = None
    check: Check | None = None
    sandbox: Level = "auto"
    is_of_helper: bool = False
    lessons: Lessons | None = None

    @classmethod
    def of(cls, speaker: str, model: Model, help_: Help, make: Make, context: BuildContext | None = None) -> "Recipe":
        """Builds a recipe, with lessons only in the context of a file.

        Raises `ConfigError` for helpers that can't be built and keys that the strategy lacks.
        """
        base = context.base if context else Path()
        strategies.require(help_)
        steps = ((".".join(map(str, steps)), settings) for steps, settings in strategies.helpers_of(help_))
        recipe = cls(model, help_, {key: make(f"{speaker}.{key}", settings) for key, settings in steps}, base)
        if help_.hedge and recipe.large and recipe.large.price is None:
            words = f"the price of {recipe.large.name} is unknown, so the cost of asking it early can't be limited"
            raise ConfigError(f"{words}; state it under 'prices:', as 0 where it is free", "hedge")
        lessons = _lessons(recipe, context) if context else None
        return replace(recipe, detector=_detector(help_, model, recipe.large, base), lessons=lessons)

    @property
    def traits(self) -> StrategyTraits:
        return strategies.traits(self.help.strategy)

    @property
    def large(self) -> Model | None:
        """The secondary model; without one, the last helper, because the dearest of several comes last."""
        return next(iter((*self._helpers_of("secondary"), *reversed([*self.helpers.values()]))), None)

    def client(self, use: HelpUse | None = None, standing: LadderState | None = None) -> ModelClient:
        """Returns the helped model.

        Raises `ConfigError`. Without `use` and `standing` the client has limits and a ladder state of its own.
        """
        return self.maker()(use, standing)

    def maker(self) -> Callable[..., ModelClient]:
        """Returns a factory of clients, such as one per request, that shares everything they have in common.

        Raises `ConfigError`.
        """
        make = strategies.factory(self.help.strategy)
        known = strategies.parameters(make)
        helping, options = self._helping(known), self._options(known)
        secondary = self._secondary(announced=not strategies.announces_help(make))
        # A strategy that sees each step replaces the model inside its tool client, which then wraps the pair.
        below = self.model.client
        tool_user = below if self.traits.each_step and isinstance(below, ToolCapableClient) else None
        primary = tool_user.client if tool_user else below
        primary = self.lessons.student(primary) if self.lessons else primary
        pending = [*filter(None, [self._promise])]
        making = translate_errors(f"{self.help.strategy} can't be made of its options", ConfigError)

        def client(use: HelpUse | None = None, standing: LadderState | None = None) -> ModelClient:
            own = {"helping": helping(use=use or HelpUse()), "standing": standing}
            with making:
                pair = make(primary, secondary, **options, **{key: own[key] for key in own if key in known})
            require_client(pair, f"The client that {self.help.strategy} creates")
            pair = self._with_tools_or_stream(pair, tool_user)
            return WatchedPair(pair, self.model.name, pending) if self._promise else pair

        return client

    def _with_tools_or_stream(self, pair: ModelClient, tool_user: ToolCapableClient | None) -> ModelClient:
        """Wraps the pair with its model's tools, or with a stream that does not wait for the judgement."""
        if tool_user:
            tool_user.client, pair = pair, tool_user
        elif self.help.stream == "optimistic":
            pair = OptimisticStream(pair)
        return self.lessons.follow(pair) if self.lessons else pair

    def _options(self, known: frozenset[str]) -> dict[str, Any]:
        """Returns the stated and the live options, under the names of the strategy's parameters."""
        labels = tuple((each.name, each.purpose) for each in (*self.help.secondary[:1], *self.help.models))
        shared: dict[str, Any] = {"stuck_detector": self.detector or StuckDetector(), "base": self.base}
        shared |= {"labels": labels, "native_tool": self._native_tool}
        shared |= {"hedge": Hedge(**self.help.hedge.model_dump())} if self.help.hedge else {}
        plain = {key: getattr(self.help, key) for key in PLAIN_OPTIONS if key in self.help.model_fields_set}
        models = {key: clients for key in ("models", "peers") if (clients := self._clients(key))}
        options = {key: value for key, value in {**plain, **models, **shared}.items() if key in known}
        return options | self.help.options

    @property
    def _native_tool(self) -> Mapping[str, Any]:
        """The provider's own tool for asking the first helper; empty if there is none."""
        traits, helper_ = provider_traits(self.model.name.provider), next(iter(self._helpers_of("secondary")), None)
        if not (helper_ and traits.api == "messages" and helper_.name.provider == self.model.name.provider):
            return {}
        return {"type": traits.advisor_tool, "name": "advisor", "model": helper_.name.model}

    @property
    def note(self) -> str:
        """A warning that the promise has ended, if the tools differ from those of its test."""
        promise, tools = self._promise, tuple(sorted(tool.name for tool in self.model.client.offered_tools))
        if not promise or tools == promise.tools:
            return ""
        before, now = (", ".join(names) or "no tools" for names in (promise.tools, tools))
        return (
            f"The promise of {self.model.name} was tested with {before}, and now there are {now}: it no longer holds."
        )

    @property
    def _promise(self) -> Promise | None:
        calibration = self.detector.calibration if self.detector else None
        return calibration.promise if calibration and self.help.promise else None

    async def aclose(self) -> None:
        for each in (self.model, *self.helpers.values()):
            await each.client.aclose()
        if self.lessons:
            await self.lessons.aclose()

    async def aclose_checkers(self) -> None:
        """Closes the models that only check answers, which the strategy's client does not know."""
        known = strategies.parameters(strategies.factory(self.help.strategy))
        for key in {"judge", "peers"} - known:
            for client in self._clients(key):
                await client.aclose()

    def _helping(self, known: frozenset[str]) -> Callable[..., Helping]:
        help_ = self.help
        limits = HelpLimits(**help_.limits.model_dump())
        check = Verification(self.sandbox, required="verify" in help_.model_fields_set) if help_.verify else None
        verification = Tested(VERIFICATION, check, VERIFIES) if check else None
        checks = tuple(self._checks(known))
        return partial(
            Helping, help_.helper_timeout, help_.helper_sees, limits, checks=checks, verification=verification
        )

    def _checks(self, known: frozenset[str]) -> Iterator[AnswerCheck]:
        """Yields the checks of an answer, cheapest first, because each may make the later ones superfluous."""
        if self.help.check:
            if not self.check:
                words = f"check names the tool {self.help.check!r}, but only discussions have tools."
                raise ConfigError(words, "check")
            yield Tested(self.help.check, self.check)
        yield from map(Judge, self._clients("judge"))
        if "peers" not in known:
            yield from map(PeerOpinion, self._clients("peers"))
        if self.help.samples is not None and "samples" not in known:
            if self.help.samples < 2:
                raise ConfigError("samples is two or more: one answer agrees with itself.", "samples")
            yield from (OwnOpinion(self.model.client, number) for number in range(1, self.help.samples))

    def _secondary(self, *, announced: bool) -> ModelClient | None:
        helpers = self._clients("secondary")
        if announced:
            helpers = tuple(AnnouncedHelper(each, self.help.strategy) for each in helpers)
        return HelperPool(helpers, self.help.helper_timeout) if len(helpers) > 1 else next(iter(helpers), None)

    def _clients(self, key: str) -> tuple[ModelClient, ...]:
        clients = (model.client for model in self._helpers_of(key))
        if key == "secondary" and self.traits.steps_in:
            return tuple(each.client if isinstance(each, ToolCapableClient) else each for each in clients)
        return tuple(clients)

    def _helpers_of(self, key: str) -> tuple[Model, ...]:
        return tuple(model for name, model in self.helpers.items() if name.partition(".")[0] == key)


def _lessons(recipe: Recipe, context: BuildContext) -> Lessons | None:
    """Returns the lessons that a pair shows its model, if the file asks for that. Raises `ConfigError`."""
    settings, large = recipe.help.lessons, recipe.large
    if not settings or context.recording:
        return None
    _require_sources(settings, recipe.help)
    terms = LessonTerms(
        pair=f"{recipe.model.name} + {large.name if large else 'itself'} ({recipe.help.strategy})",
        place=context.evidence or state_directory(context.environment or os.environ),
        most=settings.most,
        redact=context.without_secrets,
        learns=settings.source == "runs",
        seed=settings.seed,
        near=settings.near,
    )
    if settings.embeddings:
        embeds = _embedding_model(settings.embeddings, recipe, context)
        terms = replace(terms, embeds=embeds.client, placed_by=str(embeds.name))
    return Lessons(terms)


def _require_sources(settings: LessonSettings, pair: Help) -> None:
    """Raises `ConfigError` if lessons need a shadow or embeddings that the file does not name."""
    if settings.source == "shadow" and not (isinstance(pair, UsedHelp) and pair.shadow):
        words = "shadow takes lessons from the pair's shadow, and the pair has none"
        raise ConfigError(f"{words}; write a shadow:, or from: runs", "lessons.from")
    if "near" in settings.model_fields_set and not settings.embeddings:
        words = "near compares embeddings, and no model makes any; name one with `embeddings:`"
        raise ConfigError(f"{words}, or leave near out", "lessons.near")


def _embedding_model(spelled: str, recipe: Recipe, context: BuildContext) -> Model:
    """Builds the embedding model. Raises `ConfigError` if it has no embeddings API, or if texts must not leave."""
    where = "lessons.embeddings"
    name = supporting_model(spelled, where, context)
    if not plugins.takes(plugins.factory(PACKAGE, provider_module(name.provider)), "embeds"):
        words = "is not asked by /v1/embeddings; name its server under providers:, with a base_url"
        raise ConfigError(f"{name} {words}", where)
    made = model(name, {"embeds": True}, context)
    is_veiled = any(map(_is_veiled, (recipe.model, *recipe.helpers.values())))
    if (not made.local or is_gateway(made)) and (is_veiled or context.local_only):
        reason = "what the veil hides would leave" if is_veiled else "the file says 'local_only: true'"
        raise ConfigError(f"{name} is not on this machine, and {reason}", where)
    return made


def _is_veiled(of: Model) -> bool:
    client: Any = of.client
    while client and not isinstance(client, VeiledClient):
        client = getattr(client, "client", None)
    return bool(client)


class WatchedPair(ClientWrapper):
    """Warns once, at the first answer, if the system prompt differs from the one the promise was tested with.

    `pending` holds the promise until then; all clients of a pair share it.
    """

    def __init__(self, client: ModelClient, name: object, pending: list[Promise]) -> None:
        super().__init__(client)
        self._name = name
        self._pending = pending

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if self._pending and not self._pending.pop().is_of(request.system):
            words = f"The promise of {self._name} was tested with another system prompt: it no longer holds."
            await emit(Warned(f"{words} Calibrate again, with answers to this one."))
        return await self.client.complete(request, emit)


class AnnouncedHelper(ClientWrapper):
    """Reports requests of a user's own strategy to its helper as help, and books their cost on the helper."""

    def __init__(self, client: ModelClient, strategy: str) -> None:
        super().__init__(client)
        self._strategy = Path(strategy).stem if strategy.endswith(".py") else strategy

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await emit(HelpAsked(self._strategy, "the strategy asked for it", "history"))
        started = monotonic()
        response = await self.client.complete(request, as_role(emit, "helper"))
        draft = Draft(response, response.usage, "helper")
        await emit(consultation_event(self._strategy, "helper", request, draft, monotonic() - started))
        return response


def _detector(help_: Help, small: Model, large: Model | None, base: Path) -> StuckDetector:
    """Returns the detector that decides if a model is stuck, as the file configures it.

    Raises `ConfigError` for a calibration that is unreadable or does not support the promise, and for `max_cost`
    without a price.
    """
    if help_.calibration == AUTO:  # ask for help always, until the shadow has found enough to calibrate
        return StuckDetector(help_.threshold, calibration=ALWAYS_HELP)
    calibration = None if help_.calibration is None else _calibration(help_.calibration, base)
    if help_.promise:
        if not strategies.traits(help_.strategy).is_answered_by_helper:
            raise ConfigError(f"{help_.strategy} {ONLY_ADVISES}", "promise")
        _require_promise(help_.promise, calibration.promise if calibration else None, small, large)
    if calibration:
        return StuckDetector(help_.threshold, calibration=calibration)
    if help_.max_cost is not None:
        return StuckDetector(help_.threshold, help_rate=_affordable_share(help_.max_cost, large))
    return StuckDetector(help_.threshold, help_.max_retries, help_rate=help_.help_rate)


def _require_promise(settings: PromiseSettings, kept: Promise | None, small: Model, large: Model | None) -> None:
    way = f"`ai-battle calibrate DATA --promise {settings.loss:g} --models SMALL+LARGE --out FILE` makes one"
    if not kept:
        raise ConfigError(f"A promise needs a calibration that was tested for it; {way}.", "promise")
    if kept.loss > settings.loss or kept.confidence < settings.confidence:
        tested = f"a loss of at most {kept.loss:.1%} with {kept.confidence:.0%} confidence"
        wanted = f"{settings.loss:.1%} with {settings.confidence:.0%}"
        raise ConfigError(f"The calibration was tested for {tested}, not for {wanted}; {way}.", "promise")
    those = [str(model.name) for model in (small, large) if model]
    if kept.models and [*map(spelling, kept.models)] != [*map(spelling, those)]:
        of, here = " and ".join(kept.models), " and ".join(those)
        raise ConfigError(f"The calibration is of {of} and promises nothing for this pair, {here}; {way}.", "promise")


def assess(request: ModelRequest, answer: ModelResponse) -> Assessment:
    """Assesses an answer without calibration, for strategies without a detector."""
    return StuckDetector().assess_response(request, answer)


def _affordable_share(dollars: float, large: Model | None) -> float:
    """Returns the share of turns that may get help within the cost; 1 if help is free."""
    if large is None or large.price is None:
        who = f"{large.name} has no known price" if large else "there is no model that helps"
        raise ConfigError(f"max_cost needs a price, and {who}; write one under prices:, or say help_rate.", "max_cost")
    each = large.price.cost(USUAL_CALL)
    return min(1.0, dollars / each) if each else 1.0


def _calibration(value: Any, base: Path) -> Calibration:
    if isinstance(value, Mapping):
        return Calibration.of_json(value)
    if not isinstance(value, str):
        raise ConfigError("calibration must be the path of a file or what `ai-battle calibrate` prints.", "calibration")
    path = base / os.path.expanduser(value)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The calibration {path} can't be read: {error.strerror}", "calibration") from error
    except ValueError as error:
        raise ConfigError(f"The calibration {path} is not JSON: {error}", "calibration") from error
    if not isinstance(found, Mapping):
        raise ConfigError(f"{path} is not a calibration; `ai-battle calibrate --out FILE` writes one.", "calibration")
    return Calibration.of_json(found)
