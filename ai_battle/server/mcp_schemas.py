"""Arguments and results of the MCP server's tools; their JSON Schemas are generated from these classes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from ..arbiter.verdict import Verdict
from ..config.collaboration import USUAL_STRATEGY
from ..config.values import Section
from ..conversation.reading import progress, read
from ..conversation.runs import RunOverview
from ..core.errors import ConfigError
from ..core.events import PromptGiven, TurnFinished
from ..reporting.account import UNFINISHED, account

MOST_TEXT = 40_000
"""Characters of messages in one result: some 10,000 tokens, which clients accept without truncation."""


def _names(given: Any) -> Any:
    """Accepts what some clients send for a list: JSON in a string, or a single entry."""
    if not isinstance(given, str):
        return given
    return json.loads(given) if given.startswith("[") else [given]


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
MaxCost = Annotated[float | None, Field(gt=0, description="The most that it may cost, in dollars.")]
Strategy = Annotated[str, Field(description="How the large model helps: rescue, takeover, boost, advisor, ...")]


class DiscussArguments(Section):
    """Hold a discussion: two or more models discuss a topic, or what a YAML says, or go on with a run that was stopped.

    It takes minutes, tells of each turn on the way, and returns what was said, how it ended and what it cost.
    """

    topic: str = Field("", description="What the models talk about; `models` says who.")
    models: Names = Field(
        (), description="For a topic: TYPE or NAME=TYPE of each.", examples=[["claude", "Ann=gpt-4o"]]
    )
    helper: str = Field("", description="For a topic: a larger model that helps where an answer looks poor.")
    strategy: Strategy = USUAL_STRATEGY
    files: Names = Field((), description="For a topic: texts, pictures, PDFs and videos of the folder.")
    describe_with: str = Field("", description="For a topic: the model that describes pictures to one that sees none.")
    config: str = Field("", description="Or the path of a YAML in the folder, a packaged one (quickstart), or YAML.")
    resume: str = Field("", description="Or a run that was cancelled or failed, by its name or `last`, to go on with.")
    turns: Annotated[int | None, Field(ge=1, description="Rounds: everyone speaks once in each.")] = None
    max_cost: MaxCost = None

    def require_one_source(self) -> None:
        """Raises `ConfigError` unless one source is given, and for arguments without effect."""
        given = [name for name in ("topic", "config", "resume") if getattr(self, name).strip()]
        if len(given) != 1:
            raise ConfigError("Give one of topic (with models), config and resume.")
        elsewhere: tuple[str, ...] = ("models", "helper", "files", "describe_with") if given != ["topic"] else ()
        elsewhere += ("turns",) if given == ["resume"] else ()
        if idle := [name for name in elsewhere if getattr(self, name)]:
            raise ConfigError(f"{', '.join(idle)} would have no effect with {given[0]}; leave it out.")


class AskArguments(Section):
    """Ask a model or a pair: one answer, by `model`, or by a small model that a large one helps where it is poor."""

    question: str = Field(min_length=1, description="The question.")
    model: str = Field("", description="The model that answers.", examples=["gpt-4o"])
    pair: str = Field("", description="Or SMALL+BIG: a small model, and the one that helps it.")
    strategy: Strategy = USUAL_STRATEGY
    system: str = Field("", description="A system prompt.")
    files: Names = Field((), description="Texts, pictures, PDFs and videos of the folder that go with the question.")
    describe_with: str = Field("", description="The model that describes pictures to one that sees none.")
    max_cost: MaxCost = None


class JudgeArguments(Section):
    """Judge a run: models that took no part score its participants by a rubric, each score with a true quotation."""

    run: str = Field(min_length=1, description="A run as list_runs names it, a part of its name, or `last`.")
    models: Names = Field(min_length=1, description="The models that judge, one or more.", examples=[["gpt-4o"]])
    rubric: str = Field("", description="The path of a rubric in the folder; the usual one where it is left out.")
    max_cost: MaxCost = None


class ListArguments(Section):
    """List runs: the discussions that were held, those that were begun last first."""

    name: str = Field("", description="A part of the name; all where it is left out.")
    limit: int = Field(20, ge=1, le=200, description="So many at most.")


class ReadArguments(Section):
    """Read a run: the transcript of a discussion that was held, its summary, or one turn."""

    run: str = Field(min_length=1, description="A run as list_runs names it, a part of its name, or `last`.")
    part: Literal["transcript", "summary", "turn"] = Field("transcript", description="The summary is without messages.")
    turn: int = Field(0, ge=0, description="The turn to read, or the one from which the transcript is read on.")


class AskResult(BaseModel, frozen=True):
    """An answer, and what it took."""

    answer: str
    models: list[str] = Field(description="The models that were called for it.")
    cost_usd: float | None = Field(description="Dollars; null where a price is not known.")
    max_cost_usd: float | None = Field(description="The most that it was allowed to cost.")


class JudgeResult(BaseModel, frozen=True):
    """What judges made of a run; null is what was not measured."""

    outcome: str = Field(description="Who is ahead, where somebody is in both orders.")
    totals: dict[str, float | None] = Field(description="The score of each participant in all.")
    scores: dict[str, dict[str, float | None]] = Field(description="The same by criterion.")
    scale: tuple[float, float]
    agreement: float | None = Field(description="Krippendorff's alpha of several judges.")
    remarks: list[str] = Field(description="How far the scores can be trusted.")
    quotations: list[str] = Field(description="What scores rest on, as: participant, criterion, turn: quotation.")
    cost_usd: float | None = Field(description="Dollars; null where a price is not known.")
    max_cost_usd: float | None = Field(description="The most that it was allowed to cost.")

    @classmethod
    def of(cls, verdict: Verdict, max_cost: float | None) -> "JudgeResult":
        names, quoted = verdict.participants, [rating for rating in verdict.ratings if rating.quotation]
        return cls(
            outcome=verdict.outcome,
            totals={each: verdict.total(each) for each in names},
            scores={each: {name: verdict.score(each, name) for name in verdict.weights} for each in names},
            scale=verdict.scale,
            agreement=verdict.agreement,
            remarks=[*verdict.remarks],
            quotations=[f"{each.participant}, {each.criterion}, turn {each.turn}: {each.quotation}" for each in quoted],
            cost_usd=verdict.usage.cost_usd,
            max_cost_usd=max_cost,
        )


class TurnText(BaseModel, frozen=True):
    """What was said in a turn; turn 0 is what the discussion began with."""

    turn: int
    speaker: str
    text: str


class RunDocument(BaseModel, frozen=True):
    """A run, with as many of its messages as fit."""

    run: str = Field(description="Its name, by which it is read and resumed.")
    topic: str
    status: str = Field(description="done, limit, running, or what can be resumed: failed, interrupted, unfinished.")
    reason: str = Field(description="Why it ended.")
    turns: int
    participants: dict[str, str] = Field(description="The model of each.")
    cost_usd: float | None = Field(description="Dollars of the whole run; null where a price is not known.")
    max_cost_usd: float | None = Field(description="The most that it was allowed to cost; null without a limit.")
    outcome: str = Field(description="What was made of it in the end, where the configuration asks for that.")
    messages: list[TurnText]
    next_turn: int | None = Field(description="Where read_run goes on with the transcript; null when all is here.")
    warnings: list[str] = Field(default=[], description="What discuss warns its user of.")

    @classmethod
    def read(cls, run_dir: Path, messages: list[TurnText], next_turn: int | None) -> "RunDocument":
        found = account(run_dir)
        return cls(
            run=str(run_dir),
            topic=found.title,
            status=RunOverview.read(run_dir).status if found.status == UNFINISHED else found.status,
            reason=found.stop_reason,
            turns=found.turns,
            participants={each.name: each.model for each in found.participants.values()},
            cost_usd=found.usage.cost_usd,
            max_cost_usd=found.cost_limit,
            outcome=progress(run_dir).outcome,
            messages=messages,
            next_turn=next_turn,
        )


class RunEntry(BaseModel, frozen=True):
    """A run in a list."""

    run: str
    begun: str = Field(description="ISO 8601, UTC.")
    models: list[str]
    status: str
    turns: int | None
    cost_usd: float | None

    @classmethod
    def read(cls, run_dir: Path) -> "RunEntry":
        return cls(run=str(run_dir), **asdict(RunOverview.read(run_dir)))


class RunList(BaseModel, frozen=True):
    """Runs, those that were begun last first."""

    runs: list[RunEntry]
    older: int = Field(description="How many further runs there are.")


def read_messages(run_dir: Path, first: int) -> tuple[list[TurnText], int | None]:
    """Returns the messages from a turn on, as far as they fit, and the turn at which to continue."""
    found: list[TurnText] = []
    room, last = MOST_TEXT, 0
    for _, event in read(run_dir):
        if not isinstance(event, PromptGiven | TurnFinished):
            continue
        last = event.turn if isinstance(event, TurnFinished) else last
        text = _turn_text(last, event.message.speaker, event.message.text)
        room -= len(text.text) if last >= first else 0
        if found and room < 0:
            return found, last
        found += [text] if last >= first else []
    return found, None


def _turn_text(turn: int, speaker: str, text: str) -> TurnText:
    if (more := len(text) - MOST_TEXT) > 0:
        text = f"{text[:MOST_TEXT]}\n(cut here; transcript.md in the folder of the run has {more:,} more characters)"
    return TurnText(turn=turn, speaker=speaker, text=text)
