"""Asks one question outside of any run: of a model, a pair or a council. `ask` and `run` do it for scripts."""

import asyncio
import contextvars
import os
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..config.collaboration import USUAL_STRATEGY
from ..config.documents import Source
from ..config.environment import with_dotenv
from ..config.loading import LoadedDiscussion
from ..config.problems import ConfigProblems, Located
from ..core.client import require_text
from ..core.errors import ConfigError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import EVERYTHING, NOTHING_USED, WHOLE_ANSWER, ModelRequest, ModelResponse, Wants
from ..core.ledger import Budget, charge_to
from ..providers._names import ModelName, parse
from .context import describe_file
from .manager import ConversationManager, RunResult
from .participant import TurnListener, request_answer
from .person import keyboard
from .prompting import describe, opening, pictures_of
from .setup import FileSetup, RunSetup, load_checked

T = TypeVar("T")
ASKER_NAME = "You"


def participants(types: Mapping[str, str], helper: str = "", strategy: str = USUAL_STRATEGY) -> dict[str, Any]:
    """Returns the sections of a discussion YAML for models by name, each helped by `helper` if one is given.

    If the helper takes part itself, nobody helps it. Raises `ConfigError`.
    """
    models: dict[str, Any] = {"models": {name: {"type": type_} for name, type_ in types.items()}}
    if not helper:
        return models
    large = str(_model_name(helper))
    helped = [name for name, type_ in types.items() if str(_model_name(type_)) != large]
    pairs = [{"primary": name, "secondary": helper, "strategy": strategy} for name in helped]
    return {**models, "collaboration": {"pairs": pairs}}


def named_types(models: Sequence[str]) -> dict[str, str]:
    """Returns the model type of each `TYPE` or `NAME=TYPE`, by the given name or else by the model's own.

    Raises `ConfigError` for two participants with the same name, and for that of the person.
    """
    types: dict[str, str] = {}
    for spelled in models:
        name, type_ = _split_name(spelled)
        if name == ASKER_NAME:
            raise ConfigError(f"{ASKER_NAME} is the name of the person at the keyboard; give {type_} another one.")
        if name in types:
            raise ConfigError(f"Two participants are called {name!r}; give them names: NAME=TYPE.")
        types[name or _free_name(type_, types)] = type_
    return types


def _split_name(spelled: str) -> tuple[str, str]:
    name, equals, type_ = spelled.partition("=")
    return (name.strip(), type_.strip()) if equals and "/" not in name else ("", spelled.strip())


def _free_name(type_: str, taken: Mapping[str, str]) -> str:
    """Returns the model's own name, with a number if it is taken."""
    name = _model_name(type_)
    stem = (name.model or name.provider).rpartition("/")[-1]
    numbers = (stem, *(f"{stem} {number}" for number in range(2, len(taken) + 3)))
    return next(name for name in numbers if name not in taken)


def _model_name(type_: str) -> ModelName:
    """Parses a model type, with any provider before a slash: the settings may define one that is not known here."""
    provider, slash, _ = type_.partition("/")
    return parse(type_, [provider] if slash else [])


def literal(text: str) -> str:
    """Escapes `${` in a user's text, so that a YAML file takes it literally."""
    return text.replace("${", "$${")


def load_question(
    text: str,
    model: str,
    *,
    helper: str = "",
    strategy: str = USUAL_STRATEGY,
    files: Sequence[str | os.PathLike[str]] = (),
    describe_with: str = "",
    max_cost: float | None = None,
) -> LoadedDiscussion:
    """Returns a checked question to `model`; `files` are sent with it, and `max_cost` is in dollars.

    `describe_with` is the model that describes pictures to a model that can't see. Raises `ConfigError` listing
    everything that is wrong: an unknown model, a missing file, a missing key.
    """
    if helper and str(parse(helper)) == str(parse(model)):
        raise ConfigError(f"{model!r} can't help itself; name another model.")
    models = participants({str(parse(model)): model}, helper, strategy)
    return _load(text, {**models, "describe_with": describe_with or None}, files, max_cost)


def load_council(
    text: str,
    members: Sequence[str],
    *,
    chair: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    max_cost: float | None = None,
) -> LoadedDiscussion:
    """Returns a checked question that models deliberate on. Without `chair`, the first model is the chair.

    Raises `ConfigError` like `load_question`.
    """
    first = str(parse(members[0]))
    named = chair if chair and str(parse(chair)) != first else ()
    pair = {"primary": first, "peers": [*members[1:]], "secondary": named, "strategy": "deliberation"}
    models = participants({first: members[0]})
    return _load(text, {**models, "collaboration": {"pairs": [pair]}}, files, max_cost)


def _load(
    text: str, discussion: dict[str, Any], files: Sequence[str | os.PathLike[str]], max_cost: float | None
) -> LoadedDiscussion:
    discussion["models"][ASKER_NAME] = {"role": "user"}
    section = {
        **discussion,
        "goal": literal(text),
        "input_files": [os.fspath(file) for file in files],
        "limits": {"cost_usd": max_cost},
    }
    return load_composed(section)


def load_composed(discussion: Mapping[str, Any], changes: Sequence[str] = ()) -> LoadedDiscussion:
    """Loads a discussion that was composed of a command's arguments; raises `ConfigError` with all that is wrong.

    Its user has written no keys, so a problem that is a sentence of its own is told without its path.
    """
    try:
        return load_checked({"discussion": discussion}, changes, environment=with_dotenv(os.environ, Path.cwd()))
    except ConfigProblems as problems:
        raise ConfigError("\n".join(dict.fromkeys(map(_words, problems.located)))) from None


def _words(problem: Located) -> str:
    is_sentence = problem.message.endswith(".") or problem.message[:1].isupper()
    return problem.message if is_sentence else str(problem)


async def answer(loaded: LoadedDiscussion, emit: Emit, wants: Wants, system: str = "") -> ModelResponse:
    """Asks once. The answer's usage covers all calls that led to it.

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


def ask(
    question: str,
    model: str,
    *,
    helper: str = "",
    strategy: str = "rescue",
    system: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    describe_with: str = "",
    max_cost: float | None = None,
    emit: Emit = ignore,
) -> ModelResponse:
    """Returns a model's answer to one question. Its `text` is the answer, its `usage` covers all calls.

    `helper` is a larger model that is asked if the answer looks poor, as `strategy` says. `files` are sent with the
    question, and `describe_with` is the model that describes their pictures to a model that can't see. `max_cost` is in
    dollars. Raises `ConfigError` and `ProviderError`.
    """
    how: dict[str, Any] = {"helper": helper, "strategy": strategy, "describe_with": describe_with}
    loaded = load_question(require_text(question), model, files=files, max_cost=max_cost, **how)
    wants = WHOLE_ANSWER if emit is ignore else EVERYTHING
    return wait_for(answer(loaded, emit, wants, system))


def run(
    source: Source | LoadedDiscussion, *, out: str | os.PathLike[str] | None = None, emit: Emit = ignore
) -> RunResult:
    """Runs a discussion from beginning to end: a YAML file, a packaged name, or a dictionary of the same shape.

    `out` is the run directory, by default a new one under `runs/`. Raises `ConfigError` listing everything that is
    wrong.
    """
    return wait_for(ConversationManager.from_config(source, out=out).run_discussion(emit))


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Waits for the coroutine and returns its result.

    Ctrl-C, or a notebook's stop button, cancels the coroutine and keeps what is done.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A running loop can't wait for its own task, so the notebook's loop blocks while a second one does the work.
    begun: list[asyncio.Task[Any]] = []

    async def begin() -> T:
        begun.extend(filter(None, [asyncio.current_task()]))
        return await work

    with ThreadPoolExecutor(1, "ai-battle") as thread:
        result = thread.submit(contextvars.copy_context().run, asyncio.run, begin())
        try:
            return result.result()
        except KeyboardInterrupt:
            for task in begun:
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise
