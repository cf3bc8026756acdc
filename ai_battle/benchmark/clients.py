"""A setting's models and how they help each other, put together for each sample."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import assembly
from ..assembly.models import BuildContext, Model, participant, require_no_tools
from ..config.collaboration import HelperSettings
from ..core.client import ModelClient
from ..core.errors import ConfigError, Unscripted
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.messages import assistant
from ..core.tokens import estimate_message, estimate_request
from ..providers._calls import ProviderCaller
from ..providers._endpoints import provider_traits
from ..providers._filters import NamedClient
from ..providers._metered import CallTerms
from ..providers._names import ModelName
from ..providers._prices import price
from .settings import RECORDED, Setting
from .tasks import Task

Wrapper = Callable[[ModelClient, Model, HelperSettings, str], ModelClient]
"""What is put around a client: it, its model, how that was written, and its part: alone, small, large or other."""

NO_TASK = Task("", "")
ALONE = "alone"


@dataclass(frozen=True, slots=True)
class BuiltSetting:
    """A client for one sample; `options` go with its requests."""

    client: ModelClient
    options: Mapping[str, Any]
    recipe: "assembly.recipes.Recipe | None" = None

    async def aclose(self) -> None:
        await (self.recipe.aclose() if self.recipe else self.client.aclose())


def has_memory(provider: str) -> bool:
    """Checks whether its clients know how far they have come: what is recorded for a task, a script, a recording."""
    return f"{provider}/" == RECORDED or provider_traits(provider).recited


def without_wrapper(client: ModelClient, model: Model, settings: HelperSettings, part: str) -> ModelClient:
    """Returns the client as it is, with nothing around it."""
    return client


class ClientPool:
    """Models for samples: what has a memory is made anew for each, clients of providers have none and are kept."""

    def __init__(self, surroundings: BuildContext) -> None:
        self.surroundings = surroundings
        self._kept: dict[int, Model] = {}

    @property
    def base(self) -> Path:
        """The folder where the paths of a suite start."""
        return self.surroundings.base

    def model(self, settings: HelperSettings, task: Task = NO_TASK) -> Model:
        """A model by its type, or the answer that the task brings for it; raises `ConfigError`."""
        if settings.type.startswith(RECORDED):
            return self._recorded_model(settings, task)
        if (kept := self._kept.get(id(settings))) is not None:
            return kept
        model = participant(settings.type, settings, self.surroundings)
        if not has_memory(model.name.provider):
            self._kept[id(settings)] = model
        return model

    async def aclose(self) -> None:
        for model in self._kept.values():
            await model.client.aclose()

    def _recorded_model(self, settings: HelperSettings, task: Task) -> Model:
        role = settings.type.removeprefix(RECORDED)
        name = ModelName("recorded", role, spelled=settings.type)
        cost = price(name, self.surroundings.prices)
        terms = CallTerms(cost, bounded=False, paid=False)
        client = ProviderCaller(RecordedClient(task, role), str(name), terms, retry=None)
        return Model(name, client, {}, lambda: cost, local=True)


def build_setting(setting: Setting, task: Task, clients: ClientPool, wrap: Wrapper = without_wrapper) -> BuiltSetting:
    """Raises `ConfigError`."""
    if setting.model is None:
        raise ConfigError(f"{setting.name!r} has no model.")
    model = clients.model(setting.model, task)
    client = wrap(model.client, model, setting.model, "small" if setting.help else ALONE)
    if setting.help is None:
        return BuiltSetting(client, model.options)

    def make(speaker: str, settings: HelperSettings) -> Model:
        require_no_tools(settings)
        found = clients.model(settings, task)
        # The last word of the secondary is scored beside the small model's; judges, peers and others only look.
        part = "large" if speaker.removeprefix(f"{setting.name}.").startswith("secondary") else "other"
        client = wrap(found.client, found, settings, part)
        return replace(found, client=NamedClient(client, speaker, found.options, settings.instructions))

    recipe = assembly.recipes.Recipe.of(setting.name, replace(model, client=client), setting.help, make, clients.base)
    recipe = assembly.recipes.with_lessons(recipe, clients.surroundings)
    return BuiltSetting(recipe.client(), model.options, recipe)


class RecordedClient(ModelClient):
    """Gives the answer that was recorded for one task, once: what the model would say next, nobody knows."""

    def __init__(self, task: Task, role: str) -> None:
        self._task = task
        self._role = role
        self._asked = False

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        found = self._task.recorded.get(self._role)
        if found is None:
            raise Unscripted(f"The task {self._task.id!r} has no recorded answer of {self._role!r}.")
        if self._asked:
            raise Unscripted(
                f"{self._role!r} is recorded: it has one answer to {self._task.id!r}, and was asked again."
            )
        self._asked = True
        await emit(TextDelta(found.text))
        message = assistant(found.text)
        usage = Usage(estimate_request(request), estimate_message(message))
        return ModelResponse(message, usage=usage, model=found.model or self._role)
