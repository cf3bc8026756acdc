"""A participant's model and those that help it, put together as the file says."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .. import assembly, collaboration, tools
from ..config.collaboration import HelperSettings
from ..config.discussion import Discussion
from . import pairs
from .equipping import with_tools
from .models import BuildContext, Model, helper_model, require_local
from .pairs import Placed


@dataclass(frozen=True, slots=True)
class Workshop:
    """What pairs are made with, and what is known once they are made.

    `help_use` is what the helpers of each participant have used, `standings` is where its ladders stand, `recipes` are
    its pairs, `notes` is what the user should know of helpers.
    """

    said: Discussion
    around: BuildContext
    tool_set: "tools.ToolSet | None" = None
    help_use: "dict[str, collaboration.HelpUse]" = field(default_factory=dict)
    standings: "dict[str, list[collaboration.LadderState]]" = field(default_factory=dict)
    recipes: "dict[str, list[assembly.Recipe]]" = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def pair_up(self, name: str, model: Model, placed: Iterable[Placed]) -> Model:
        """The model of a participant with the help that it gets; raises `ConfigError`."""
        alone = model.client
        for pair in placed:
            recipe = self._recipe(name, model, pair)
            self.recipes.setdefault(name, []).append(recipe)
            client = recipe.client(self.help_use.setdefault(name, collaboration.HelpUse()), self._standing(name))
            model = replace(model, client=client, helper=recipe.large)
        return model if model.client is alone else replace(model, client=tools.WithTools(model.client, alone))

    def _standing(self, name: str) -> "collaboration.LadderState":
        """Of one more pair of a participant: only ladders are several, and only they use it."""
        those = self.standings.setdefault(name, [])
        those.append(collaboration.LadderState(ladder=len(those)))
        return those[-1]

    def _recipe(self, name: str, model: Model, placed: Placed) -> "assembly.Recipe":
        """Without a tool set, which belongs to a run, nothing checks the answers."""
        said, tool_set = placed.pair, self.tool_set
        check = None
        if said.check and tool_set:
            spec = self.said.models[name]
            check = tool_set.check(said.check, tools.ToolUser(name, approval=spec.approval))
        elif said.check:
            said = said.model_copy(update={"check": None})
        if tools.is_code_denied(self.said, self.said.models[name]):
            said = said.model_copy(update={"verify": False})
        recipe = assembly.Recipe.of(f"{name}/{placed.path[-1]}", model, said, self._model, self.around.base)
        return replace(recipe, check=check, sandbox=tools.tool_settings(self.said).sandbox)

    def _model(self, voice: str, settings: HelperSettings) -> Model:
        settings = pairs.settings(settings, self.said)
        model = helper_model(voice, settings, self.around)
        self.notes.append(model.name.note)
        if self.said.local_only:
            require_local(settings.type, model)
        if not self.tool_set:
            return model
        spec = self.said.models[voice.rpartition("/")[0]].model_copy(update={"capabilities": settings.capabilities})
        return with_tools(voice, model, self.tool_set, spec)
