"""Who is helped by whom: the pairs of a file, checked and put together."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from .. import tools
from ..config import Problem
from ..config.collaboration import Help, HelperSettings, Pair
from ..config.discussion import Discussion
from ..config.problems import Path
from ..core.errors import ConfigError
from ..core.plugins import near
from ..providers._names import parse
from . import strategies
from .helpers import helpers_of, secondaries
from .models import BuildContext

PAIRS = ("discussion", "collaboration", "pairs")
IN_ORDER = "ladder"
SILENT = ("council", "handover", "peer", "vote")
"""The strategies that send the model that is helped nothing but its request."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A pair, its place in the file, and the participants that it helps."""

    pair: Pair
    path: Path
    helped: tuple[str, ...]


def placed(said: Discussion, around: BuildContext) -> tuple[Placed, ...]:
    """The pairs of a discussion; none where collaboration is off."""
    section = said.collaboration
    if not section or not section.enabled:
        return ()
    pairs = (strategies.with_file(pair, around.base) for pair in section.pairs)
    return tuple(Placed(pair, (*PAIRS, index), helped(pair.primary, said, around)) for index, pair in enumerate(pairs))


def of(name: str, pairs: tuple[Placed, ...]) -> tuple[Placed, ...]:
    """Those that help one participant, in their order."""
    return tuple(pair for pair in pairs if name in pair.helped)


def _asked_for_help(pair: Help) -> Iterator[tuple[Path, HelperSettings]]:
    """Those that answer where the primary is stuck; in a cascade all further models do."""
    yield from secondaries(pair)
    if pair.strategy == "cascade":
        yield from ((("models", index), helper) for index, helper in enumerate(pair.models))


def _beside(pair: Help) -> Iterator[tuple[str, int]]:
    """The places of the models that answer the same as the primary does."""
    return ((key, index) for key in ("models", "peers") for index in range(len(getattr(pair, key))))


def settings(helper: HelperSettings, said: Discussion) -> HelperSettings:
    """Those of the participant, where a helper is called by the name of one."""
    if not (twin := said.models.get(helper.type)):
        return helper
    kept = {key: getattr(twin, key) for key in ("type", "parameters", "capabilities", "script", "when", "loop", "pace")}
    return helper.model_copy(update=kept)


def problems(said: Discussion, around: BuildContext) -> Iterator[Problem]:
    """What is wrong with the pairs themselves; whether their models can be made is seen by making them."""
    pairs = placed(said, around)
    for pair in pairs:
        yield from _alone(pair, said, around)
    yield from _twice(pairs)
    yield from _in_a_circle(pairs, said, around)


def beyond_the_prompt(pairs: tuple[Placed, ...]) -> Iterator[str]:
    """What the user should know where models are to be sent nothing but the prompt."""
    for each in pairs:
        if each.pair.strategy not in SILENT:
            names, strategy = " and ".join(each.helped), each.pair.strategy
            yield f"In no-meta the prompt is all that is sent, but where {names} needs help {strategy} may send more."


def _alone(placed: Placed, said: Discussion, around: BuildContext) -> Iterator[Problem]:
    pair = placed.pair
    if not placed.helped:
        yield Problem((*placed.path, "primary"), _nobody(pair.primary, said))
    yield from _wrong_helpers(placed, said, around)
    yield from _wrong_judge(placed, said, around)
    yield from _wrong_check(placed, said)
    yield from _wrong_verify(placed, said)
    try:
        strategies.check(pair)
    except ConfigError as error:
        yield Problem((*placed.path, "strategy"), str(error))
    except strategies.PairOptionError as misused:
        yield Problem((*placed.path, misused.key), misused.words, key=misused.is_key)


def _wrong_helpers(placed: Placed, said: Discussion, around: BuildContext) -> Iterator[Problem]:
    """People, and the model that is to be helped itself."""
    pair, own = placed.pair, _identities(placed, said, around)
    for steps, helper in helpers_of(pair):
        if _is_person(helper.type, said):
            yield Problem((*placed.path, *steps), f"{helper.type!r} is a person; name a model")
    for steps, helper in secondaries(pair):
        if _identity(helper.type, said, around) in own:
            yield Problem((*placed.path, *steps), f"{pair.primary!r} can't help itself; name another model")
    for key, index in _beside(pair):
        if _identity(getattr(pair, key)[index].type, said, around) in own:
            words = f"{pair.primary!r} answers already; name another model (several answers of one are for vote)"
            yield Problem((*placed.path, key, index), words)


def _wrong_judge(placed: Placed, said: Discussion, around: BuildContext) -> Iterator[Problem]:
    judge = placed.pair.judge
    if judge and _identity(judge.type, said, around) in _identities(placed, said, around):
        yield Problem((*placed.path, "judge"), f"{placed.pair.primary!r} can't judge itself; name another model")


def _wrong_check(placed: Placed, said: Discussion) -> Iterator[Problem]:
    """A tool that is not there, as far as that is known: files and servers name theirs when they are started."""
    check, section = placed.pair.check, said.tools
    if not check:
        return
    if not section or not section.enabled:
        words = f"{check!r} is a tool, and discussion.tools has none; say 'tools: [{check}]' in the discussion"
        yield Problem((*placed.path, "check"), words)
    elif check not in (names := [one.name for one in section.registry]) and not (section.paths or section.mcp.servers):
        yield Problem((*placed.path, "check"), f"discussion.tools has no tool {check!r}{near(check, names)}")


def _wrong_verify(placed: Placed, said: Discussion) -> Iterator[Problem]:
    """Verification that is asked for where code may not be run; where it is only the default, it is left out."""
    if not (placed.pair.verify and "verify" in placed.pair.model_fields_set):
        return
    for name in placed.helped:
        if tools.is_code_denied(said, said.models[name]):
            words = f"{name!r} may not run code (approval denies code_execution), so nothing is verified by running"
            yield Problem((*placed.path, "verify"), f"{words}; take verify away, or allow code_execution")


def _nobody(primary: str, said: Discussion) -> str:
    if _is_person(primary, said):
        return f"{primary!r} is a person, and only models are helped"
    models = {name: spec.type for name, spec in said.models.items() if spec.role != "user"}
    return f"no participant is or uses {primary!r}{near(primary, [*dict.fromkeys((*models, *models.values()))])}"


def _is_person(named: str, said: Discussion) -> bool:
    return named in said.models and said.models[named].role == "user"


def _twice(pairs: tuple[Placed, ...]) -> Iterator[Problem]:
    """Several pairs for one participant need an order, which ladders have."""
    first: dict[str, Placed] = {}
    for pair in pairs:
        for name in pair.helped:
            earlier = first.setdefault(name, pair)
            if earlier is not pair and not earlier.pair.strategy == pair.pair.strategy == IN_ORDER:
                above = ".".join(map(str, earlier.path[1:-1])) + f"[{earlier.path[-1]}]"
                words = f"{name!r} is helped by {above} already; one pair helps a participant, or several ladders do"
                yield Problem((*pair.path, "primary"), words)


def _in_a_circle(pairs: tuple[Placed, ...], said: Discussion, around: BuildContext) -> Iterator[Problem]:
    """A model that is helped by one that it helps: neither is the large one."""
    helps: dict[str, set[str]] = {}
    for pair in pairs:
        mine = _identities(pair, said, around)
        for steps, helper in _asked_for_help(pair.pair) if mine else ():
            other = _identity(helper.type, said, around)
            if other not in mine and _reaches(other, mine, helps):
                how = "" if mine & helps.get(other, set()) else ", through others"
                words = f"{helper.type!r} is itself helped by {pair.pair.primary!r}{how}"
                yield Problem((*pair.path, *steps), f"{words}; one of them has to be the helper")
            for one in mine:
                helps.setdefault(one, set()).add(other)


def _reaches(start: str, goals: set[str], helps: Mapping[str, set[str]]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for there in helps.get(waiting.pop(), set()) - seen:
            seen.add(there)
            waiting.append(there)
    return bool(seen & goals)


def helped(primary: str, said: Discussion, around: BuildContext) -> tuple[str, ...]:
    """The participants that a name or a model type stands for."""
    models = {name: spec.type for name, spec in said.models.items() if spec.role != "user"}
    if primary in models:
        return (primary,)
    wanted = _model(primary, around)
    return tuple(name for name, type_ in models.items() if _model(type_, around) == wanted)


def _identities(placed: Placed, said: Discussion, around: BuildContext) -> set[str]:
    return {_identity(name, said, around) for name in placed.helped}


def _identity(named: str, said: Discussion, around: BuildContext) -> str:
    """The model behind a name or a type; those of scripts are not alike, so each is the participant that plays it."""
    spec = said.models.get(named)
    if not spec:
        return _model(named, around)
    return f"participant {named}" if spec.is_scripted else _model(spec.type, around)


def _model(type_: str, around: BuildContext) -> str:
    return spelling(type_, around.providers)


def spelling(type_: str, providers: Collection[str] = ()) -> str:
    """The same for all spellings of a model, to compare them by; one that nobody knows is itself.

    `gemma3-1b` may stand for `gemma3:1b`, which is found out where the models are.
    """
    try:
        return str(parse(type_, providers)).replace(":", "-")
    except ConfigError:
        return type_
