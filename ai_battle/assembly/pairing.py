"""A participant's model and those that help it, put together as the file says."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..collaboration._helping import Helping, HelpLimits, Spent
from ..collaboration._pool import Pool
from ..collaboration._stuck.detector import StuckDetector
from ..config.collaboration import HelperSettings, Pair
from ..config.discussion import Discussion
from ..core.client import ModelClient
from ..providers._voice import Voice
from ..tools.offering import Offering
from ..tools.outfit import Outfit
from . import pairs, strategies
from .equipping import with_tools
from .models import Model, participant, require_local
from .pairs import Placed
from .surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Workshop:
    """What pairs are made with. `spent` is what the helpers of each participant have used, once they are made."""

    said: Discussion
    around: Surroundings
    outfit: Outfit | None = None
    spent: dict[str, Spent] = field(default_factory=dict)

    def pair_up(self, name: str, model: Model, placed: Iterable[Placed]) -> Model:
        """The model of a participant with the help that it gets; raises `ConfigError`."""
        alone = model.client
        for pair in placed:
            model = self._paired(name, model, pair)
        return model if model.client is alone else replace(model, client=Offering(model.client, alone))

    def helpers(self, name: str, placed: Placed) -> dict[str, Model]:
        """The models of a pair beside the participant's own, by their names in the journal; raises `ConfigError`."""
        where = f"{name}/{placed.path[-1]}"
        steps = ((".".join(map(str, steps)), helper) for steps, helper in pairs.helpers_of(placed.pair))
        return {key: self._model(f"{where}.{key}", helper, name) for key, helper in steps}

    def _paired(self, name: str, model: Model, placed: Placed) -> Model:
        make = strategies.factory(placed.pair.strategy)
        made = self.helpers(name, placed)
        clients = {key: helper.client for key, helper in made.items()}
        taken = inspect.signature(make).parameters
        options = {**self._terms(name, placed.pair), **_options(placed.pair), **_lists(clients)}
        if judge := clients.get("judge"):
            options["judge"] = judge
        options = {key: value for key, value in options.items() if key in taken} | placed.pair.options
        client = make(model.client, _pooled(clients), **options)
        return replace(model, client=client, helper=_large(made))

    def _model(self, voice: str, helper: HelperSettings, name: str) -> Model:
        settings = pairs.settings(helper, self.said)
        model = participant(voice, settings, self.around)
        if self.said.local_only:
            require_local(settings.type, model)
        model = replace(model, client=Voice(model.client, voice, model.options))
        if not self.outfit:
            return model
        spec = self.said.models[name].model_copy(update={"capabilities": settings.capabilities})
        return with_tools(voice, model, self.outfit, spec)

    def _terms(self, name: str, pair: Pair) -> dict[str, Any]:
        spent = self.spent.setdefault(name, Spent())
        limits = HelpLimits(**pair.limits.model_dump())
        helping = Helping(pair.helper_timeout, pair.helper_sees, limits, spent=spent)
        return {"helping": helping, "stuck_detector": StuckDetector(pair.threshold, pair.max_retries)}


def _options(pair: Pair) -> dict[str, Any]:
    """What the file says of the keys that are plain values."""
    plain = ("threshold", "max_retries", "help_rate", "max_cost", "samples", "max_loops")
    return {key: getattr(pair, key) for key in plain if key in pair.model_fields_set}


def _pooled(clients: dict[str, ModelClient]) -> ModelClient | None:
    helpers = [client for name, client in clients.items() if name.startswith("secondary")]
    return Pool(helpers) if len(helpers) > 1 else next(iter(helpers), None)


def _lists(clients: dict[str, ModelClient]) -> dict[str, tuple[ModelClient, ...]]:
    found = {
        key: tuple(client for name, client in clients.items() if name.startswith(f"{key}."))
        for key in ("models", "peers")
    }
    return {key: several for key, several in found.items() if several}


def _large(made: dict[str, Model]) -> Model | None:
    """The secondary model; without one the last, as the dearest of several comes last."""
    return next((model for key, model in made.items() if key.startswith("secondary")), None) or next(
        reversed(made.values()), None
    )
