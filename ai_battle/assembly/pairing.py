"""Combines the models of a discussion with their helpers."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ..collaboration._limits import HelpUse
from ..collaboration._shadow import Shadow
from ..collaboration.ladder import LadderState
from ..config.collaboration import Help, HelperSettings, Pair, ShadowSettings
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..tools.client import WithTools
from ..tools.toolset import ToolSet, ToolUser, tool_settings
from .models import Model, helper_model, live_model
from .pairs import Pairs, ResolvedPair, RunHelp
from .recipes import Recipe
from .shadows import shadow_of
from .tooling import with_tool_support, with_tools


@dataclass(frozen=True, slots=True)
class PairBuilder:
    """Combines models with their helpers, and records recipes, use and notes in `help`."""

    pairs: Pairs
    tool_set: ToolSet | None = None
    help: RunHelp = field(default_factory=RunHelp)

    def pair_up(self, name: str, model: Model, pairs: Collection[ResolvedPair] | None = None) -> Model:
        """Returns a participant's model with the help of all its pairs, or of the given ones.

        Raises `ConfigError`.
        """
        alone = model.client
        for pair in self.pairs.of(name) if pairs is None else pairs:
            recipe = self._recipe(name, model, pair)
            self.help.recipes.setdefault(name, []).append(recipe)
            self.help.notes.append(recipe.note)
            states = self.help.standings.setdefault(name, [])
            states.append(LadderState(ladder=len(states)))  # only ladders use it, and only they can be several
            client = recipe.client(self.help.use.setdefault(name, HelpUse()), states[-1])
            can_check = recipe.check or not pair.pair.check  # a check is a tool, and outside of a run there are none
            if pair.pair.shadow and can_check and not self.pairs.context.recording:
                client = self._shadow(name, recipe, pair.pair.shadow).follow(client)
            model = replace(model, client=client, helper=recipe.large)
        return model if model.client is alone else replace(model, client=WithTools(model.client, alone))

    def _shadow(self, name: str, recipe: Recipe, shadow_settings: ShadowSettings) -> Shadow:
        """Builds the pair's shadow. Its models have no tools, because calls must not run again for a comparison."""
        if shadow_settings.watch:
            raise ConfigError("watch is for the pairs of a server; take it away here", "shadow.watch")

        def make(place: str, settings: HelperSettings) -> Model:
            settings = self.pairs.settings(settings).model_copy(update={"tools": None})
            return helper_model(f"{name}.{place}", settings, self.pairs.context)

        shadow = shadow_of(shadow_settings, recipe, HelperSettings(type=name), self.pairs.context, make)
        self.help.shadows.append(shadow)
        return shadow

    def _recipe(self, name: str, model: Model, each: ResolvedPair) -> Recipe:
        """Returns the recipe of a pair. Without a tool set, which belongs to a run, answers are not checked."""
        help_: Help = each.pair
        discussion, spec, check = self.pairs.discussion, self.pairs.discussion.models[name], None
        if help_.check and self.tool_set:
            check = self.tool_set.check(help_.check, ToolUser(name, approval=spec.approval))
        elif help_.check:
            help_ = help_.model_copy(update={"check": None})
        if discussion.is_code_denied(name):
            help_ = help_.model_copy(update={"verify": False})
        if each.traits.each_step and not self.tool_set:
            model = with_tool_support(model, spec.capabilities)
        recipe = Recipe.of(f"{name}/{each.path[-1]}", model, help_, self._model, self.pairs.context)
        return replace(recipe, check=check, sandbox=tool_settings(discussion).sandbox)

    def _model(self, speaker: str, settings: HelperSettings) -> Model:
        """Builds a helper, itself helped by the pairs that name it."""
        model = self._helper(speaker, settings)
        for each in self.pairs.of_helper(settings.name):
            recipe = Recipe.of(f"{speaker}.{settings.name}", model, each.pair, self._model, self.pairs.context)
            self.help.recipes.setdefault(speaker.rpartition("/")[0], []).append(replace(recipe, is_of_helper=True))
            model = replace(model, client=recipe.client())
        return model

    def _helper(self, speaker: str, settings: HelperSettings) -> Model:
        settings, discussion = self.pairs.settings(settings), self.pairs.discussion
        model = helper_model(speaker, settings.model_copy(update={"tools": None}), self.pairs.context)
        self.help.notes.append(model.name.note)
        if not self.tool_set:
            return model
        spec = discussion.models[speaker.rpartition("/")[0]].model_copy(update={"capabilities": settings.capabilities})
        if settings.tools is not None:
            spec = spec.model_copy(update={"tools": settings.tools})
        return with_tools(speaker, model, self.tool_set, spec)


def with_help(pair: Pair, primary: ModelClient, *secondary: ModelClient) -> ModelClient:
    """Returns a program's client with the help of others. Raises `ConfigError` for invalid settings.

    Nothing is verified by running code, because the program has not chosen a sandbox.
    """
    without_fence = pair.model_copy(update={"verify": False})
    helpers = map(live_model, secondary)
    return WithTools(Recipe.of("", live_model(primary), without_fence, lambda *_: next(helpers)).client(), primary)
