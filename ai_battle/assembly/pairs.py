"""Resolves and checks the pairs of a discussion: who is helped by whom."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from .. import assembly
from ..config.collaboration import AUTO, HelperSettings, Pair
from ..config.discussion import Discussion
from ..config.participants import ModelSettings
from ..config.problems import KeyPath, Problem
from ..core.errors import ConfigError
from ..core.plugins import near
from ..core.traits import StrategyTraits
from . import strategies
from .models import BuildContext, Model, spelling
from .strategies import helpers_of, secondaries

if TYPE_CHECKING:
    from ..collaboration._limits import HelpUse
    from ..collaboration._shadow import Shadow
    from ..collaboration.ladder import LadderState
    from ..evidence.store import EvidenceStore
    from .recipes import Recipe

SHADOW_SECONDS = 60.0
"""Seconds that a finished run waits for the comparisons of its answers."""
PAIRS = ("discussion", "collaboration", "pairs")


@dataclass(frozen=True, slots=True)
class ResolvedPair:
    """A pair, its place in the file, and the participants that it helps."""

    pair: Pair
    path: KeyPath
    helped: tuple[str, ...]

    @property
    def traits(self) -> StrategyTraits:
        """The traits of its strategy, found without importing code that the file names."""
        return strategies.traits(self.pair.strategy, trusted=False)

    def problem(self, words: str, *steps: int | str) -> Problem:
        return Problem((*self.path, *steps), words)


class Pairs:
    """The pairs of a discussion; there are none if collaboration is off."""

    def __init__(self, discussion: Discussion, context: BuildContext) -> None:
        self.discussion = discussion
        self.context = context
        section = discussion.collaboration
        sections = section.pairs if section and section.enabled else ()
        pairs = (strategies.with_file(pair, context.base) for pair in sections)
        self.all = tuple(
            ResolvedPair(pair, (*PAIRS, index), self.participants(pair.primary)) for index, pair in enumerate(pairs)
        )

    def of(self, name: str) -> tuple[ResolvedPair, ...]:
        """Returns the pairs that help one participant, in order."""
        return tuple(pair for pair in self.all if name in pair.helped)

    def of_helper(self, name: str) -> tuple[ResolvedPair, ...]:
        """Returns the pairs that help a helper with this name, unless a participant has the name."""
        return tuple(pair for pair in self.all if name and pair.pair.primary == name and not pair.helped)

    def participants(self, primary: str) -> tuple[str, ...]:
        """Returns the participants with this name, or with this model type."""
        models = self._models()
        if primary in models:
            return (primary,)
        wanted = spelling(primary, self.context.providers)
        return tuple(name for name, type_ in models.items() if spelling(type_, self.context.providers) == wanted)

    def settings(self, helper: HelperSettings) -> HelperSettings:
        """Returns a helper's settings: those of the participant if the helper has a participant's name."""
        if not (twin := self.discussion.models.get(helper.type)):
            return helper
        return helper.model_copy(update={key: getattr(twin, key) for key in ("type", *ModelSettings.model_fields)})

    def prompt_warnings(self) -> Iterator[str]:
        """Yields a warning for each pair in no-meta whose strategy may send more than the prompt."""
        for each in self.all if self.discussion.mode == "no-meta" else ():
            if not strategies.traits(each.pair.strategy).sends_request_only:
                who, strategy = " and ".join(each.helped), each.pair.strategy
                yield f"In no-meta the prompt is all that is sent, but where {who} needs help {strategy} may send more."

    def same_models(self) -> Iterator[str]:
        """Yields a warning for each model that answers several times as if it were several models."""
        for each in self.all:
            members = (*each.helped[:1], *(peer.type for peer in each.pair.peers)) if each.traits.same_twice else ()
            for model, times in Counter(map(self._model_key, members)).items():
                if times > 1:
                    yield f"{model} answers {times} times in one {each.pair.strategy}, as if it were several models."

    def problems(self) -> Iterator[Problem]:
        """Yields problems of the pairs themselves; problems of their models are found by building these."""
        for pair in self.all:
            if not pair.helped:
                yield from self._wrong_primary(pair)
            yield from self._wrong_models(pair)
            yield from self._wrong_check(pair)
            yield from self._wrong_verify(pair)
            yield from self._wrong_hedge(pair)
            if pair.pair.calibration == AUTO:
                yield pair.problem("auto is for the pairs of a server; name the file of a calibration", "calibration")
        yield from self.strategy_problems()
        yield from self._duplicates()
        yield from self._circles()

    def strategy_problems(self, *, trusted: bool = False) -> Iterator[Problem]:
        """Yields problems of what the strategies are given; those in files are imported only if they are `trusted`."""
        for pair in self.all:
            try:
                strategies.check(pair.pair, trusted=trusted)
            except ConfigError as error:
                yield strategies.problem_of(pair.pair, pair.path, error)

    def _wrong_primary(self, each: ResolvedPair) -> Iterator[Problem]:
        """Yields a problem for a primary that is neither a participant nor a helper, and for a helper of itself."""
        primary = each.pair.primary
        helpers = {pair.pair.primary: {helper.name for _, helper in helpers_of(pair.pair)} for pair in self.all}
        if not any(primary in names for names in helpers.values()):
            yield each.problem(self._unknown_primary(primary), "primary")
        elif any(_reaches(name, {primary}, helpers) for name in helpers[primary]):
            yield each.problem(f"{primary!r} is a helper, and helps itself", "primary")

    def _wrong_models(self, each: ResolvedPair) -> Iterator[Problem]:
        """Yields a problem for each helper that is a person, or the model that needs the help itself."""
        pair, own = each.pair, {self._model_key(name) for name in each.helped if not each.traits.same_twice}
        for steps, helper in helpers_of(pair):
            if self._is_person(helper.type):
                yield each.problem(f"{helper.type!r} is a person; name a model", *steps)
        for steps, helper in sorted(helpers_of(pair), key=lambda each: each[0][0] == "judge"):
            if self._model_key(helper.type) in own:
                yield each.problem(strategies.words_on_itself(repr(pair.primary), steps), *steps)

    def _wrong_check(self, each: ResolvedPair) -> Iterator[Problem]:
        """Yields a problem for a check that is not a known tool, unless tool files or servers may still provide it."""
        check, section = each.pair.check, self.discussion.tools
        if not check:
            return
        if not section or not section.enabled:
            words = f"{check!r} is a tool, and discussion.tools has none; say 'tools: [{check}]' in the discussion"
            yield each.problem(words, "check")
            return
        known = [one.name for one in section.registry]
        if check not in known and not (section.paths or section.mcp.servers):
            yield each.problem(f"discussion.tools has no tool {check!r}{near(check, known)}", "check")

    def _wrong_verify(self, each: ResolvedPair) -> Iterator[Problem]:
        """Yields a problem for explicit `verify` where code may not run; the default is dropped silently instead."""
        if not (each.pair.verify and "verify" in each.pair.model_fields_set):
            return
        for name in each.helped:
            if self.discussion.is_code_denied(name):
                words = f"{name!r} may not run code (approval denies code_execution), so nothing is verified by running"
                yield each.problem(f"{words}; take verify away, or allow code_execution", "verify")

    def _wrong_hedge(self, each: ResolvedPair) -> Iterator[Problem]:
        """Yields a problem for hedged models with tools: two concurrent answers would run the same tool twice."""
        if not (each.pair.hedge and self.discussion.has_tools):
            return
        own = any(self.discussion.models[name].tools != () for name in each.helped)
        if own or any(self.settings(helper).tools for _, helper in secondaries(each.pair)):
            words = "lets two models answer at once, and both would run the tools; give the participant and its helper"
            yield each.problem(f"{words} `tools: []`, or take hedge away", "hedge")

    def _duplicates(self) -> Iterator[Problem]:
        """Yields a problem for a participant with several pairs; only ladders have an order among them."""
        first: dict[str, ResolvedPair] = {}
        for pair in self.all:
            for name in pair.helped:
                earlier = first.setdefault(name, pair)
                are_in_order = earlier.pair.strategy == pair.pair.strategy and pair.traits.in_order
                if earlier is not pair and not are_in_order:
                    above = ".".join(map(str, earlier.path[1:-1])) + f"[{earlier.path[-1]}]"
                    words = (
                        f"{name!r} is helped by {above} already; one pair helps a participant, or several ladders do"
                    )
                    yield pair.problem(words, "primary")

    def _circles(self) -> Iterator[Problem]:
        """Yields a problem for a helper that is helped by the model it helps, directly or through others."""
        helps: defaultdict[str, set[str]] = defaultdict(set)
        for each in self.all:
            mine = {self._model_key(name) for name in each.helped}
            for steps, helper in _answering_models(each):
                other = self._model_key(helper.type)
                if other not in mine and _reaches(other, mine, helps):
                    how = "" if mine & helps[other] else ", through others"
                    words = f"{helper.type!r} is itself helped by {each.pair.primary!r}{how}"
                    yield each.problem(f"{words}; one of them has to be the helper", *steps)
                for one in mine:
                    helps[one].add(other)

    def _unknown_primary(self, primary: str) -> str:
        if self._is_person(primary):
            return f"{primary!r} is a person, and only models are helped"
        models = self._models()
        return f"no participant is or uses {primary!r}{near(primary, [*dict.fromkeys((*models, *models.values()))])}"

    def _models(self) -> dict[str, str]:
        return {name: spec.type for name, spec in self.discussion.models.items() if spec.role != "user"}

    def _is_person(self, named: str) -> bool:
        return named in self.discussion.models and self.discussion.models[named].role == "user"

    def _model_key(self, named: str) -> str:
        """Returns the model behind a name or type. Each script counts as a model of its own."""
        spec = self.discussion.models.get(named)
        if spec and spec.is_scripted:
            return f"participant {named}"
        return spelling(spec.type if spec else named, self.context.providers)


def _answering_models(each: ResolvedPair) -> Iterator[tuple[KeyPath, HelperSettings]]:
    """Yields the models that answer if the primary is stuck; in a cascade these include all further models."""
    yield from secondaries(each.pair)
    if "models" in each.traits.models and each.traits.models["models"].role == "helper":
        yield from ((("models", index), helper) for index, helper in enumerate(each.pair.models))


def _reaches(start: str, goals: set[str], helps: Mapping[str, set[str]]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for there in helps.get(waiting.pop(), set()) - seen:
            seen.add(there)
            waiting.append(there)
    return bool(seen & goals)


@dataclass(slots=True)
class RunHelp:
    """The help in a run: each participant's pairs, what its helpers have used, and where its ladders stand.

    `notes` are for the user; `shadows` compare pairs' answers and keep the results in `store`.
    """

    recipes: "dict[str, list[Recipe]]" = field(default_factory=dict)
    use: "dict[str, HelpUse]" = field(default_factory=dict)
    standings: "dict[str, list[LadderState]]" = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    shadows: "list[Shadow]" = field(default_factory=list)
    store: "EvidenceStore | None" = None

    @property
    def helpers(self) -> Iterator[tuple[str, Model]]:
        """The helpers, each named by the participant and its place in the pair."""
        for name, recipes in self.recipes.items():
            yield from ((f"{name}.{key}", model) for recipe in recipes for key, model in recipe.helpers.items())

    def start(self) -> None:
        """Starts the shadows. Raises `StoreError` if their results can't be kept."""
        if self.shadows:
            self.store = assembly.shadows.evidence_of_runs()
            for shadow in self.shadows:
                shadow.start(self.store)

    async def finish(self) -> None:
        """Waits until the sampled answers are compared, for `SHADOW_SECONDS` seconds per shadow."""
        for shadow in self.shadows:
            await shadow.join(SHADOW_SECONDS)

    async def aclose(self) -> None:
        """Closes shadows and models that nothing else closes; a helper is closed with the model it helps."""
        for shadow in self.shadows:
            await shadow.aclose()
        if self.store:
            self.store.close()
        for recipe in chain(*self.recipes.values()):
            await recipe.aclose_checkers()
