"""Forecasts what a run sends first and what it may cost, helpers included, without calling a model."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..assembly.models import Model
from ..config.loading import LoadedDiscussion
from ..core.events import Emit, PromptGiven, ignore
from ..core.exchange import (
    NOTHING_USED,
    FileTokens,
    ModelRequest,
    Usage,
    estimate_message,
    estimate_parts,
    estimate_request,
)
from ..core.helping import FileDescribed
from ..core.messages import FILE_KINDS, Message, file_of
from ..core.traits import CalledModel
from ..providers._endpoints import provider_traits
from ..providers._filters import readable_message
from ..tools.client import first_request
from ..wire.genai import message_to_json, usage_to_json
from .participant import Participant
from .person import keyboard
from .plan import Plan
from .prompting import file_key, opening, parts_by_file, pictures_of, refer, system_prompt
from .records import specs_to_json
from .setup import FileSetup, RunSetup
from .speakers import concluder
from .state import State

if TYPE_CHECKING:
    from ..assembly.recipes import Recipe

USUAL_ANSWER, ONE_SCORE = 350, 80
"""Tokens assumed for an answer, and for a judge's score with its quotation and reason."""


@dataclass(frozen=True, slots=True)
class ExpectedHelp:
    """A model that is called for a participant: `calls` calls of about `each`; None if the number is unknown.

    `role` is the ledger's role; `when` says in words for which turns the model is called.
    """

    model: str
    role: str
    when: str
    calls: float | None
    each: Usage

    @property
    def usage(self) -> Usage:
        """The usage of all calls; none if their number is unknown."""
        calls, each = self.calls or 0.0, self.each
        if not calls:
            return NOTHING_USED
        cost = None if each.cost_usd is None else each.cost_usd * calls
        return Usage(round(each.input_tokens * calls), round(each.output_tokens * calls), cost_usd=cost)

    def to_json(self) -> dict[str, Any]:
        each = usage_to_json(self.each)
        return {"model": self.model, "role": self.role, "when": self.when, "calls": self.calls, "each": each}


def usual_answer(model: Model, most: int | None = None) -> int:
    return min(map(int, filter(None, (model.options.get("max_tokens"), most, USUAL_ANSWER))))


def helps(name: str, recipe: "Recipe", turns: int, read: int) -> Iterator[ExpectedHelp]:
    """Yields the expected calls of every model in the pair of `name`, whose own requests have about `read` tokens."""
    own = usual_answer(recipe.model)
    beside = recipe.traits.own_calls(has_secondary=bool(recipe.help.secondary))
    attempts = own * (1 + len(recipe.help.peers)) if beside else own
    for called in beside:
        calls, priced = _cap_calls(turns, recipe), _estimate_usage(recipe.model, read + attempts, own)
        yield ExpectedHelp(str(recipe.model.name), called.role, called.when, calls, priced)
    for key, model in recipe.helpers.items():
        kind = key.partition(".")[0]
        if kind == "secondary" and key not in ("secondary", "secondary.0"):
            continue  # the other members of a pool are called only if the first fails
        called = recipe.traits.call_of(kind)
        first_blind = called.role == "peer"  # a peer's first answer is given before it sees the others' answers
        shown = attempts * (called.calls - first_blind) // called.calls
        priced = _estimate_usage(model, read + shown, usual_answer(model, called.max_tokens))
        calls = _cap_calls(_calls(called, recipe, turns), recipe)
        yield ExpectedHelp(str(model.name), called.role, called.when.format(name=name), calls, priced)
    if recipe.traits.samples > 1:
        more = (recipe.help.samples or recipe.traits.samples) - 1
        priced = _estimate_usage(recipe.model, read, own)
        yield ExpectedHelp(str(recipe.model.name), "own", "in each turn", turns * more, priced)


def _calls(called: CalledModel, recipe: "Recipe", turns: int) -> float | None:
    """Estimates the calls from the configured help rate; None if unknown, as for every model after the first."""
    detector = recipe.detector
    if called.often == "each turn":
        return turns * called.calls
    if called.role != "helper" or detector is None or recipe.help.models:
        return None
    if called.often != "when stuck" and not detector.agreement:
        return None
    share = detector.calibration.help_rate if detector.calibration else detector.help_rate
    return None if share is None else share * turns


def _cap_calls(calls: float | None, recipe: "Recipe") -> float | None:
    """Caps the calls at the limit of the run."""
    most = recipe.help.limits.calls if recipe.help.limits.per == "run" else None
    return calls if calls is None or most is None else min(calls, most)


def _estimate_usage(model: Model, read: int, written: int) -> Usage:
    return model.usage_at_price(min(read, model.window or read), written)


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """A file in a first request, with about how many tokens it takes."""

    name: str
    about: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The forecast of one participant: its first request, all its turns together, and the models that help it.

    `files` are those of the first request, as its provider counts them; `file_usage` covers all readings of files in
    all turns.
    """

    name: str
    model: str
    request: ModelRequest
    turns: int
    usage: Usage
    help: tuple[ExpectedHelp, ...] = ()
    files: tuple[ExpectedFile, ...] = ()
    file_usage: Usage = NOTHING_USED

    @property
    def total(self) -> Usage:
        """The usage including calls of other models that are certain, or whose rate the configuration gives."""
        return sum((one.usage for one in self.help), self.usage)

    def to_json(self) -> dict[str, Any]:
        return {
            "participant": self.name,
            "model": self.model,
            "system": self.request.system,
            "messages": [message_to_json(message) for message in self.request.messages],
            "tools": specs_to_json(self.request.tools),
            "options": dict(self.request.options),
            "files": [asdict(file) for file in self.files],
            "file_usage": usage_to_json(self.file_usage),
            "turns": self.turns,
            "usage": usage_to_json(self.usage),
            "help": [one.to_json() for one in self.help],
        }


def forecast(loaded: LoadedDiscussion, emit: Emit = ignore) -> list[Expected]:
    """Returns what each participant may cost, assuming answers of `max_tokens` but at most 350 tokens.

    The cost of judging is added to that of the last one.

    Builds models and tools as a run does, so it raises `ConfigError` for everything that would keep the run from
    starting. Tool servers are started and stopped again; warnings about their tools go to
    `emit`. The requests are for people to read: values from the environment are named, not shown.
    """
    setup = FileSetup.of(loaded, keyboard).build({})
    asyncio.run(_equip(setup, emit))
    *others, last = _participant_forecasts(setup)
    last = replace(last, help=(*last.help, *_judging(setup, (*others, last))))
    return [replace(each, request=loaded.redactor.value(each.request)) for each in (*others, last)]


async def _equip(setup: RunSetup, emit: Emit) -> None:
    with TemporaryDirectory() as run_dir:
        try:
            await setup.assembled.equip(Path(run_dir), emit)
        finally:
            await setup.assembled.aclose()


def _judging(setup: RunSetup, expected: Sequence[Expected]) -> Iterator[ExpectedHelp]:
    """Yields the calls of each judge, who reads the discussion twice and rates each participant on each criterion."""
    if not setup.arbiter:
        return
    tokens = sum(one.usage.output_tokens for one in expected) + estimate_message(opening(setup.plan))
    scores = len(expected) * len(setup.arbiter.rubric.criteria)
    for name, model in setup.arbiter.models.items():
        each = _estimate_usage(model, tokens + USUAL_ANSWER, scores * ONE_SCORE)
        yield ExpectedHelp(name, "arbiter", "to judge", 2, each)


def _participant_forecasts(setup: RunSetup) -> Iterator[Expected]:
    models = setup.assembled.models
    answer = sum(map(usual_answer, models.values())) / len(setup.plan.participants)
    blind = [each.name for each in setup.plan.participants if "images" not in each.reads][:1]
    for participant in setup.plan.participants:
        if model := models.get(participant.name):
            expected = _forecast_of(participant, model, setup, answer)
            descriptions = [*_descriptions(setup)] if participant.name in blind else []
            yield replace(expected, help=(*expected.help, *descriptions))


def _forecast_of(participant: Participant, model: Model, setup: RunSetup, answer: float) -> Expected:
    """Forecasts one participant, assuming answers of `answer` tokens on average."""
    plan, name = setup.plan, participant.name
    request = _first_request(participant, setup)
    rounds = _rounds_before_turns(participant, plan)
    turns = len(rounds)
    counted = provider_traits(model.name.provider).files
    later = replace(request, messages=tuple(map(refer, request.messages)))
    sizes = (estimate_request(request, files=counted), estimate_request(later, files=counted))
    per_round = answer * plan.turns_in_all / plan.rounds
    usage = _usage(model, sizes, per_round, rounds)
    read = usage.input_tokens // max(1, turns)
    recipes = (each for each in setup.assembled.help.recipes.get(name, ()) if not each.is_of_helper)
    others = [one for recipe in recipes for one in helps(name, recipe, turns, read)]
    if plan.outcome and participant == concluder(plan, plan.schedule[-1].speakers[-1]):
        each = _estimate_usage(model, int(sizes[1] + per_round * plan.rounds), usual_answer(model))
        others.append(ExpectedHelp(str(model.name), "own", "for the outcome", 1, each))
    files, kept = (tuple(_files(each.messages, counted)) for each in (request, later))
    of_files = model.usage_at_price(_tokens(files) + _tokens(kept) * (turns - 1))
    return Expected(name, str(model.name), request, turns, usage, tuple(others), files, of_files)


def _rounds_before_turns(participant: Participant, plan: Plan) -> Sequence[int]:
    """Returns for each turn how many rounds precede it. A moderator opens and closes, an observer speaks at the end."""
    if participant == plan.moderator:
        return (0, plan.rounds)
    if participant in plan.observers:
        return (plan.rounds,)
    speakers = chain.from_iterable(repeat(phase.speakers, phase.rounds) for phase in plan.schedule)
    return [number for number, names in enumerate(speakers) if participant.name in names] or (0,)


def _tokens(files: Iterable[ExpectedFile]) -> int:
    return sum(file.tokens for file in files)


def _files(messages: Iterable[Message], counted: FileTokens) -> Iterator[ExpectedFile]:
    for message in messages:
        for key, parts in parts_by_file(message):
            if key:
                known = file_of(parts[0])
                yield ExpectedFile(known["name"], known["about"], estimate_parts(parts, files=counted))


def _descriptions(setup: RunSetup) -> Iterator[ExpectedHelp]:
    """Yields the cost of describing every picture once for models that can't see."""
    plan, assembled = setup.plan, setup.assembled
    model = assembled.models.get(plan.describer.name, assembled.outside_describer) if plan.describer else None
    files = [*pictures_of(opening(plan))]
    if model and files:
        counted = provider_traits(model.name.provider).files
        read = sum(estimate_parts(parts, files=counted) for parts in files) // len(files)
        each = _estimate_usage(model, read + USUAL_ANSWER, usual_answer(model))
        yield ExpectedHelp(str(model.name), "own", "to describe pictures", len(files), each)


def _first_request(participant: Participant, setup: RunSetup) -> ModelRequest:
    lacks = FILE_KINDS - participant.reads
    messages = tuple(readable_message(each, lacks) for each in _first_messages(setup.plan, participant.name))
    request = ModelRequest(messages, system_prompt(setup.plan, participant), options=participant.parameters)
    tool_set = setup.assembled.tool_set
    offered = tool_set.offered_tools(participant.name) if tool_set else ()
    return first_request(request, offered)


def _first_messages(plan: Plan, name: str) -> tuple[Message, ...]:
    state = State(plan)
    message = opening(plan)
    state.apply(PromptGiven(message))
    for parts in pictures_of(message) if plan.describer else ():
        description = f"(what {plan.describer and plan.describer.type} says of it)"
        state.apply(FileDescribed(file_of(parts[0])["name"], description, NOTHING_USED, digest=file_key(parts[0])))
    return state.contexts[name].view.messages


def _usage(model: Model, sizes: tuple[int, int], per_round: float, rounds: Sequence[int]) -> Usage:
    """Sums all requests: each holds the rounds before it, up to the model's window; files may be in the first alone."""
    most = model.window or 10**9
    read = sum(min(int(sizes[turn > 0] + per_round * number), most) for turn, number in enumerate(rounds))
    return model.usage_at_price(read, usual_answer(model) * len(rounds))
