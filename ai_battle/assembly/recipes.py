"""A model and those that help it, to be put together as often as one is needed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..collaboration._checks import VERIFIES, Check, Judge, OwnOpinion, PeerOpinion, Tested
from ..collaboration._turn import AnswerCheck, HelperPool, Helping, HelpLimits, HelpUse
from ..collaboration._wrappers import OptimisticStream
from ..collaboration.ladder import LadderState
from ..config.collaboration import Help, HelperSettings
from ..core.client import ModelClient
from ..core.errors import ConfigError, translate_errors
from ..core.helping import VERIFICATION
from ..judging.detector import StuckDetector
from ..tools.sandbox import Level
from ..tools.verification import Verification
from . import detecting, strategies
from .announcing import AnnouncedHelper
from .helpers import helpers_of
from .models import Model

HERE = Path()
PLAIN = ("threshold", "max_retries", "help_rate", "max_cost", "samples", "max_loops")

Make = Callable[[str, HelperSettings], Model]
"""A helper's model, by its name in the journal and its settings."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """`helpers` are named by their places in the file: "secondary", "peers.0"; its paths are relative to `base`."""

    model: Model
    help: Help
    helpers: Mapping[str, Model] = field(default_factory=dict)
    base: Path = field(default_factory=Path)
    detector: StuckDetector | None = None
    check: Check | None = None
    sandbox: Level = "auto"

    @classmethod
    def of(cls, voice: str, model: Model, help_: Help, make: Make, base: Path = HERE) -> "Recipe":
        """Raises `ConfigError` for a helper that can't be made, and for keys that the strategy does not have."""
        strategies.require(help_)
        steps = ((".".join(map(str, steps)), settings) for steps, settings in helpers_of(help_))
        recipe = cls(model, help_, {key: make(f"{voice}.{key}", settings) for key, settings in steps}, base)
        return replace(recipe, detector=detecting.detector(help_, recipe.large, base))

    @property
    def large(self) -> Model | None:
        """The secondary model; without one the last, as the dearest of several comes last."""
        last = [*self.helpers.values()][-1:]
        return self._first("secondary") or (last[0] if last else None)

    def client(self, use: HelpUse | None = None, standing: LadderState | None = None) -> ModelClient:
        """Without `use` with limits of its own, without `standing` with a memory of its own; raises `ConfigError`."""
        return self.maker()(use, standing)

    def maker(self) -> Callable[..., ModelClient]:
        """`client`, with all worked out that clients have in common: for a client per request. Raises `ConfigError`."""
        make = strategies.factory(self.help.strategy)
        taken = strategies.taken(make)
        secondary, helping = self._secondary(), self._helping()
        shared = {"stuck_detector": self.detector or StuckDetector(), "base": self.base}
        offered = {**self._plain(), **self._clients(), **shared}
        options = {key: value for key, value in offered.items() if key in taken} | self.help.options
        making = translate_errors(f"{self.help.strategy} can't be made of its options", ConfigError)

        def made(use: HelpUse | None = None, standing: LadderState | None = None) -> ModelClient:
            own = {"helping": helping(use=use or HelpUse()), "standing": standing}
            with making:
                pair = make(self.model.client, secondary, **options, **{key: own[key] for key in own if key in taken})
            return OptimisticStream(pair) if self.help.stream == "optimistic" else pair

        return made

    async def aclose(self) -> None:
        for model in (self.model, *self.helpers.values()):
            await model.client.aclose()

    async def aclose_looks(self) -> None:
        """Closes what a strategy does not know of: models that only look at answers."""
        taken = strategies.taken(strategies.factory(self.help.strategy))
        for name, model in self.helpers.items():
            if name.partition(".")[0] in {"judge", "peers"} - taken:
                await model.client.aclose()

    def _plain(self) -> dict[str, Any]:
        return {key: getattr(self.help, key) for key in PLAIN if key in self.help.model_fields_set}

    def _clients(self) -> dict[str, Any]:
        several = {key: self._all(key) for key in ("models", "peers")}
        return {key: clients for key, clients in several.items() if clients}

    def _helping(self) -> Callable[..., Helping]:
        limits = HelpLimits(**self.help.limits.model_dump())
        help_ = self.help
        required = "verify" in help_.model_fields_set
        check = Verification(self.sandbox, required=required) if help_.verify else None
        verification = Tested(VERIFICATION, check, VERIFIES) if check else None
        looks = tuple(self._looks())
        return partial(Helping, help_.helper_timeout, help_.helper_sees, limits, looks=looks, verification=verification)

    def _looks(self) -> Iterator[AnswerCheck]:
        """What costs least comes first, and may make the rest superfluous."""
        if self.help.check:
            if not self.check:
                raise ConfigError(f"check names the tool {self.help.check!r}, and only discussions have tools.")
            yield Tested(self.help.check, self.check)
        if judge := self._first("judge"):
            yield Judge(judge.client)
        yield from self._opinions()

    def _opinions(self) -> Iterator[AnswerCheck]:
        """Where the strategy itself has no use for them."""
        taken, samples = strategies.taken(strategies.factory(self.help.strategy)), self.help.samples
        if "peers" not in taken:
            yield from map(PeerOpinion, self._all("peers"))
        if samples is None or "samples" in taken:
            return
        if samples < 2:
            raise ConfigError("samples is two or more: one answer agrees with itself.", "samples")
        yield from (OwnOpinion(self.model.client, number) for number in range(1, samples))

    def _secondary(self) -> ModelClient | None:
        helpers = self._all("secondary")
        if not strategies.announces_help(strategies.factory(self.help.strategy)):
            helpers = tuple(AnnouncedHelper(each, self.help.strategy) for each in helpers)
        return HelperPool(helpers, self.help.helper_timeout) if len(helpers) > 1 else next(iter(helpers), None)

    def _all(self, key: str) -> tuple[ModelClient, ...]:
        return tuple(model.client for name, model in self.helpers.items() if name.partition(".")[0] == key)

    def _first(self, key: str) -> Model | None:
        return next((model for name, model in self.helpers.items() if name.partition(".")[0] == key), None)
