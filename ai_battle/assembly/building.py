"""All models of one discussion, made ready to answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import assembly, collaboration, tools
from ..config import Loaded
from ..core.events import Emit
from ..providers._recordings import Recorder
from . import pairs
from .equipping import tool_set_of, with_tools
from .models import NO_RECORDING, BuildContext, Model, RecordingFiles, find_unreachable, participant, require_local
from .pairing import Workshop
from .sections import require_known_options


@dataclass(frozen=True, slots=True)
class Assembled:
    """The models of one run by participant; people at the keyboard have none. `warnings` are for the user.

    `help_use` is what the helpers of each participant have used, which counts against their limits; `standings` is
    where its ladders stand, `recipes` are its pairs.
    """

    models: Mapping[str, Model]
    warnings: tuple[str, ...] = ()
    recorder: Recorder | None = None
    tool_set: "tools.ToolSet | None" = None
    help_use: "Mapping[str, collaboration.HelpUse]" = field(default_factory=dict)
    standings: "Mapping[str, Sequence[collaboration.LadderState]]" = field(default_factory=dict)
    recipes: "Mapping[str, Sequence[assembly.Recipe]]" = field(default_factory=dict)

    async def find_unreachable(self) -> tuple[list[str], list[str]]:
        """The addresses of participants where nothing listens, and those of their helpers, each in a sentence."""
        helpers = [
            (f"{name}.{key}", model)
            for name, recipes in self.recipes.items()
            for recipe in recipes
            for key, model in recipe.helpers.items()
        ]
        return await find_unreachable(self.models.items()), await find_unreachable(helpers)

    async def equip(self, run_dir: Path, emit: Emit) -> None:
        """Gives the models their tools, once it is known where the run is kept; raises `ConfigError`."""
        if self.tool_set:
            await self.tool_set.equip(run_dir, emit)

    async def aclose(self) -> None:
        for model in self.models.values():
            await model.client.aclose()
        for recipes in self.recipes.values():
            for recipe in recipes:
                await recipe.aclose_looks()
        if self.tool_set:
            await self.tool_set.aclose()
        if self.recorder:
            self.recorder.close()


def build(
    loaded: Loaded,
    starts: Mapping[str, int] | None = None,
    tapes: RecordingFiles = NO_RECORDING,
    *,
    allow_unsandboxed: bool = False,
    approve: "tools.Ask | None" = None,
) -> Assembled:
    """All models of a discussion; `starts` is how many entries of its script each scripted participant has used up.

    `approve` puts a call of a tool to a person, where the file wants one to be asked. Raises `ConfigError` for what
    `check` would have found.
    """
    around = BuildContext.of(loaded, starts, tapes)
    require_known_options(loaded, around)
    said = loaded.file.discussion.models
    models = {name: participant(name, spec, around) for name, spec in said.items() if spec.role != "user"}
    tool_set = tool_set_of(loaded, allow_unsandboxed=allow_unsandboxed, approve=approve)
    if tool_set:
        models = {name: with_tools(name, model, tool_set, said[name]) for name, model in models.items()}
    workshop = Workshop(loaded.file.discussion, around, tool_set)
    placed = pairs.placed(loaded.file.discussion, around)
    models = {name: workshop.pair_up(name, model, pairs.of(name, placed)) for name, model in models.items()}
    if loaded.file.discussion.local_only:
        for name, model in models.items():
            require_local(name, model)
    beyond = pairs.beyond_the_prompt(placed) if loaded.file.discussion.mode == "no-meta" else ()
    notes = (*(model.name.note for model in models.values()), *workshop.notes, *beyond)
    warnings = tuple(dict.fromkeys(filter(None, notes)))
    return Assembled(
        models, warnings, around.recorder, tool_set, workshop.help_use, workshop.standings, workshop.recipes
    )
