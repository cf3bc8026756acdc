"""One answer outside of any run, by a model or a pair, asked in the words of a discussion so that its checks hold."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..config.collaboration import USUAL_STRATEGY
from ..config.environment import with_dotenv
from ..config.loading import LoadedDiscussion
from ..core.errors import ConfigError
from ..core.events import Emit, Warned
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse, Wants
from ..core.ledger import Budget, charge_to
from ..providers._names import parse
from .attachments import describe, pictures_of
from .participant import TurnListener, request_answer
from .person import keyboard
from .prompting import opening
from .setup import FileSetup, RunSetup, load_checked
from .turn import describe_file

ASKER = "You"


def participants(types: Mapping[str, str], helper: str = "", strategy: str = USUAL_STRATEGY) -> dict[str, Any]:
    """Returns the sections of a discussion YAML for models by name, each of them helped by `helper` if there is one.

    The helper itself, where it takes part, is helped by nobody. Raises `ConfigError`.
    """
    models: dict[str, Any] = {"models": {name: {"type": type_} for name, type_ in types.items()}}
    if not helper:
        return models
    large = str(parse(helper))
    helped = [name for name, type_ in types.items() if str(parse(type_)) != large]
    pairs = [{"primary": name, "secondary": helper, "strategy": strategy} for name in helped]
    return {**models, "collaboration": {"pairs": pairs}}


def named_types(models: Sequence[str]) -> dict[str, str]:
    """Returns the type of each `TYPE` or `NAME=TYPE` by its name in the talk: the one given, else that of the model.

    Raises `ConfigError` for two of one name.
    """
    types: dict[str, str] = {}
    for spelled in models:
        name, type_ = _split_name(spelled)
        if name in types or name == ASKER:
            raise ConfigError(f"There are two called {name!r} ; give them names: NAME=TYPE.")
        types[name or _free_name(type_, types)] = type_
    return types


def _split_name(spelled: str) -> tuple[str, str]:
    name, equals, type_ = spelled.partition("=")
    return (name.strip(), type_.strip()) if equals and "/" not in name else ("", spelled.strip())


def _free_name(type_: str, taken: Mapping[str, str]) -> str:
    """Returns the model's own name, with a number where another one has it already."""
    name = parse(type_)
    stem = (name.model or name.provider).rpartition("/")[-1]
    numbers = (stem, *(f"{stem} {number}" for number in range(2, len(taken) + 3)))
    return next(name for name in numbers if name not in taken)


def literal(text: str) -> str:
    """Returns a text of a user as a YAML has to write it to mean just that."""
    return text.replace("${", "$${")


def question(
    text: str,
    model: str,
    *,
    helper: str = "",
    strategy: str = USUAL_STRATEGY,
    files: Sequence[str | os.PathLike[str]] = (),
    describe_with: str = "",
    max_cost: float | None = None,
) -> LoadedDiscussion:
    """Returns a checked question to `model`; `files` go with it, and `max_cost` is in dollars.

    `describe_with` is the model that describes pictures to one that sees none. Raises `ConfigError` with all that is
    wrong: a model that nobody knows, a file that is not there, no key.
    """
    if helper and str(parse(helper)) == str(parse(model)):
        raise ConfigError(f"{model!r} can't help itself; name another model.")
    models = participants({str(parse(model)): model}, helper, strategy)
    return _load_question(text, {**models, "describe_with": describe_with or None}, files, max_cost)


def council(
    text: str,
    members: Sequence[str],
    *,
    chair: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    max_cost: float | None = None,
) -> LoadedDiscussion:
    """Returns a checked question on which models deliberate; without a `chair` the first of them has it.

    Raises `ConfigError` like `question`.
    """
    first = str(parse(members[0]))
    named = chair if chair and str(parse(chair)) != first else ()
    pair = {"primary": first, "peers": [*members[1:]], "secondary": named, "strategy": "deliberation"}
    models = participants({first: members[0]})
    return _load_question(text, {**models, "collaboration": {"pairs": [pair]}}, files, max_cost)


def _load_question(
    text: str, discussion: dict[str, Any], files: Sequence[str | os.PathLike[str]], max_cost: float | None
) -> LoadedDiscussion:
    discussion["models"][ASKER] = {"role": "user"}
    section = {
        **discussion,
        "goal": literal(text),
        "input_files": [os.fspath(file) for file in files],
        "limits": {"cost_usd": max_cost},
    }
    return load_checked({"discussion": section}, environment=with_dotenv(os.environ, Path.cwd()))


async def answer(loaded: LoadedDiscussion, emit: Emit, wants: Wants, system: str = "") -> ModelResponse:
    """Asks once; the usage of the answer is that of all calls that led to it.

    Raises `ProviderError`, `BudgetExceeded`, and `Unreachable` before anything is spent.
    """
    source = FileSetup.of(loaded, keyboard)
    with source.redactor.errors():
        async with source.open({}) as setup:
            for warning in setup.warnings:
                await emit(Warned(warning))
            return await _request(setup, system, emit, wants)


async def _request(setup: RunSetup, system: str, emit: Emit, wants: Wants) -> ModelResponse:
    plan = setup.plan
    participant = plan.participants[0]
    listener, descriptions = TurnListener(participant.name, emit), dict[str, str]()
    usage = NOTHING_USED
    with charge_to(Budget(plan.limits)):
        for parts in pictures_of(opening(plan)) if plan.describer and "images" not in participant.reads else ():
            described = await describe_file(plan, participant, parts, emit, wants)
            await emit(described)
            descriptions[described.digest], usage = described.text, usage + described.usage
        message = describe(opening(plan), descriptions)
        request = ModelRequest((message,), system, options=participant.parameters, wants=wants)
        response = await request_answer(participant, request, listener)
    return replace(response, usage=usage + listener.usage)
