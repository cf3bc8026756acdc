"""What would keep the models of a checked file from being made, with places."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .. import tools as toolbox
from ..config import Loaded, Problem
from ..config.collaboration import PairLimits
from ..config.discussion import Discussion
from ..core.errors import ConfigError
from ..providers._names import parse
from . import pairs, sections, strategies
from .helpers import helpers_of
from .models import (
    NO_RECORDING,
    BuildContext,
    Model,
    RecordingFiles,
    Speaking,
    participant,
    require_local,
    require_priced,
)
from .pairing import Workshop
from .pairs import Placed


def check(loaded: Loaded, tapes: RecordingFiles = NO_RECORDING) -> list[Problem]:
    """What would keep the models of a checked file from being made; code that the file names is not imported."""
    return list(_problems(loaded, BuildContext.of(loaded, tapes=replace(tapes, record=""))))


def named_code(loaded: Loaded) -> tuple[str, ...]:
    """The modules that the file names and that running it would import: they need to be trusted first."""
    around = BuildContext.of(loaded)
    named = (
        parse(spec.type, around.providers).provider for spec in loaded.file.discussion.models.values() if spec.type
    )
    tools = toolbox.named_code(said.tools) if (said := loaded.file.discussion).tools else ()
    used = (each.pair.strategy for each in pairs.placed(said, around))
    modules = (name for name in (*named, *_helping(loaded, around), *used) if "." in name)
    return tuple(dict.fromkeys((*modules, *(_located(code, loaded) for code in tools))))


def _located(code: str, loaded: Loaded) -> str:
    """A path as it is found from anywhere; a command without what is secret in it."""
    path = loaded.base / Path(code).expanduser()
    return str(path.absolute()) if os.path.exists(path) else loaded.expansion.hide(code)


def _helping(loaded: Loaded, around: BuildContext) -> Iterator[str]:
    """The providers of models that help."""
    said = loaded.file.discussion
    for placed in pairs.placed(said, around):
        for _, helper in helpers_of(placed.pair):
            yield parse(pairs.settings(helper, said).type, around.providers).provider


def _problems(loaded: Loaded, around: BuildContext) -> Iterator[Problem]:
    wrong = tuple(sections.problems(around))
    yield from wrong
    yield from _of_participants(loaded.file.discussion, around, unsure={problem.path[1] for problem in wrong})
    yield from _of_pairs(loaded.file.discussion, around)
    yield from _of_tools(loaded)


def _of_participants(said: Discussion, around: BuildContext, unsure: set[object]) -> Iterator[Problem]:
    """What is wrong with the section of a provider is told there, and not once more for each of its models."""
    for name, spec in said.models.items():
        if spec.role == "user":
            continue
        try:
            if parse(spec.type, around.providers).provider not in unsure:
                _try_out(name, spec, around, said)
        except ConfigError as error:
            yield Problem(("discussion", "models", name, "type"), str(error))


def _of_tools(loaded: Loaded) -> Iterator[Problem]:
    tools = loaded.file.discussion.tools
    if tools and tools.enabled:
        for path, words in toolbox.settings_problems(tools, loaded.base):
            yield Problem(("discussion", "tools", *path), words)


def _of_pairs(said: Discussion, around: BuildContext) -> Iterator[Problem]:
    wrong = [*pairs.problems(said, around)]
    for placed in pairs.placed(said, around):
        known = {problem.path for problem in wrong}
        wrong += [each for each in _of_helpers(placed, said, around) if each.path not in known]
    yield from wrong
    if not wrong:
        yield from _of_strategies(said, around)


def _of_helpers(placed: Placed, said: Discussion, around: BuildContext) -> Iterator[Problem]:
    for steps, helper in helpers_of(placed.pair):
        try:
            _try_out(helper.type, pairs.settings(helper, said), around, said, placed.pair.limits)
        except ConfigError as error:
            yield Problem((*placed.path, *steps), str(error))


def _of_strategies(said: Discussion, around: BuildContext) -> Iterator[Problem]:
    """What only a strategy knows of its options, by making it; not of code that the file names."""
    for placed in pairs.placed(said, around):
        name = placed.helped[0]
        if "." in placed.pair.strategy or _names_code(placed, said, around):
            continue
        try:
            if model := _made(name, said, around):
                Workshop(said, around).pair_up(name, model, (placed,))
        except ConfigError as error:
            yield Problem((*placed.path, *strategies.place_of(placed.pair, error.about)), str(error))


def _made(name: str, said: Discussion, around: BuildContext) -> Model | None:
    """None for a participant that can't be made, which is told where it stands."""
    with suppress(ConfigError):
        return participant(name, said.models[name], around)
    return None


def _names_code(placed: Placed, said: Discussion, around: BuildContext) -> bool:
    """Whether making the models of a pair may import a module by its dotted name."""
    types = (pairs.settings(helper, said).type for _, helper in helpers_of(placed.pair))
    with suppress(ConfigError):
        return any(
            "." in parse(each, around.providers).provider for each in (*types, said.models[placed.helped[0]].type)
        )
    return True


def _try_out(name: str, spec: Speaking, around: BuildContext, said: Discussion, *limits: PairLimits) -> None:
    if "." in parse(spec.type, around.providers).provider:
        return
    model = participant(name, spec, around)
    if said.local_only:
        require_local(name, model)
    require_priced(model, said.limits, *limits)
