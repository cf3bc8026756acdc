"""A setting's models, made anew for each sample."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..assembly.models import Model, participant
from ..assembly.recipes import Recipe, helper
from ..assembly.surroundings import Surroundings
from ..config.collaboration import HelperSettings
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..providers._metered import Metered
from ..providers._names import ModelName
from ..providers._prices import price
from .recorded import RecordedClient
from .settings import RECORDED, Setting
from .tasks import Task

Around = Callable[[ModelClient, Model, HelperSettings, str], ModelClient]
"""What is put around a model's client: it, its model, how that was written, and what it is: small, large or other."""

NO_TASK = Task("", "")


@dataclass(frozen=True, slots=True)
class Made:
    """A client for one sample; `options` go with its requests."""

    client: ModelClient
    options: Mapping[str, Any]
    recipe: Recipe | None
    model: Model

    async def aclose(self) -> None:
        await (self.recipe.aclose() if self.recipe else self.model.client.aclose())


def bare(client: ModelClient, model: Model, settings: HelperSettings, part: str) -> ModelClient:
    """Nothing is put around it."""
    return client


def made(setting: Setting, task: Task, surroundings: Surroundings, around: Around = bare) -> Made:
    """Raises `ConfigError`."""
    if setting.model is None:
        raise ConfigError(f"{setting.name!r} has no model.")
    model = model_of(setting.name, setting.model, task, surroundings)
    model = replace(model, client=around(model.client, model, setting.model, "small" if setting.help else "alone"))
    if setting.help is None:
        return Made(model.client, model.options, None, model)

    def make(voice: str, settings: HelperSettings) -> Model:
        found = _helper(voice, settings, task, surroundings)
        part = "large" if voice.removeprefix(f"{setting.name}.").startswith("secondary") else "other"
        return replace(found, client=around(found.client, found, settings, part))

    recipe = Recipe.of(setting.name, model, setting.help, make)
    return Made(recipe.client(), model.options, recipe, model)


def model_of(voice: str, settings: HelperSettings, task: Task, surroundings: Surroundings) -> Model:
    """A model by its type, or the answer that the task brings for it."""
    if not settings.type.startswith(RECORDED):
        return participant(voice, settings, surroundings)
    role = settings.type.removeprefix(RECORDED)
    name = ModelName("recorded", role, spelled=settings.type)
    cost = price(name, surroundings.prices)
    return Model(name, Metered(RecordedClient(task, role), str(name), cost), {}, price=cost, local=True)


def _helper(voice: str, settings: HelperSettings, task: Task, surroundings: Surroundings) -> Model:
    if settings.type.startswith(RECORDED):
        return model_of(voice, settings, task, surroundings)
    return helper(voice, settings, surroundings)
