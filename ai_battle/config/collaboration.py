"""The schema of `discussion.collaboration`."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from .participants import ModelSettings
from .values import (
    AS_NUMBER,
    Amount,
    Count,
    Flag,
    FreeMapping,
    Listed,
    Name,
    Seconds,
    Section,
    Share,
    Unpriced,
    free,
    short_for,
)

Attempts = Annotated[int, Field(ge=1, le=100), AS_NUMBER]

LONGEST_WAIT = 86_400
"""In seconds."""


class HelperSettings(ModelSettings):
    """A model that helps; a plain string is short for `{type: ...}`."""

    type: Name = Field(description="A model type or a participant's name.", examples=["claude-3-sonnet"])
    name: str = Field(
        default="", description="What another model calls it by, where it chooses among several (strategy advisor)."
    )
    purpose: str = Field(default="", description="What it is for, in a few words, where another model chooses.")
    instructions: str = Field(
        default="", description="What it is told beside what the strategy asks: rules of the house, say."
    )
    tools: Listed[Name] | None = Field(
        default=None, description="Which of the registered tools it may use; those of the participant by default."
    )


Helper = Annotated[HelperSettings, short_for("type")]


class PairLimits(Section):
    """What helping may use."""

    calls: Count | None = Field(default=None, description="Calls of the helper.")
    tokens: Count | None = Field(default=None, description="Tokens of the helper.")
    cost_usd: Amount | None = Field(default=None, description="Dollars for the helper.")
    per: Literal["turn", "run"] = Field(default="run", description="What the limits count over.")
    unpriced: Unpriced = "refuse"


def _wait(raw: Any) -> Any:
    """Returns seconds as a number and a quantile as the text that it is."""
    value = free(raw)
    is_seconds = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LONGEST_WAIT
    if not is_seconds and not (isinstance(value, str) and re.fullmatch(r"p[5-9][0-9]", value)):
        raise PydanticCustomError("wait", "must be seconds, such as 5, or a quantile from p50 to p99, such as p95")
    return value


class HedgeSettings(Section):
    """When the helper starts beside a slow model; the first good answer is taken, the other call is cancelled."""

    wait: Annotated[float | str, BeforeValidator(_wait)] = Field(
        description="Seconds that the model has alone, or a quantile of its latest latencies, `p50` to `p99`: then the "
        "helper is asked beside it as soon as 20 are known.",
        examples=["p95", 5],
    )
    worth: Annotated[float, Field(gt=0), AS_NUMBER] | None = Field(
        default=None,
        description="Dollars that a second less to wait is worth: the helper starts as soon as what it is expected to "
        "save is worth more than its call is expected to cost, by what both took of late. Until that is known, `wait` "
        "holds.",
        examples=[0.001],
    )
    doubt: Share | None = Field(
        default=None,
        description="Starts the helper as soon as more than this speaks against what there is of an answer, from 0 to "
        "1. The beginning of an answer tells little.",
        examples=[0.9],
    )


USUAL_STRATEGY: Final = "rescue"
AUTO = "auto"
"""In the place of a calibration: the pair calibrates itself by what its shadow finds."""


class PromiseSettings(Section):
    """What a pair may lose at the most, as its calibration bears out."""

    loss: Annotated[float, Field(gt=0, lt=1), AS_NUMBER] = Field(
        description="The share of the answers that may be worse than the helper's would have been.", examples=[0.03]
    )
    confidence: Annotated[float, Field(gt=0, lt=1), AS_NUMBER] = Field(
        default=0.95, description="How sure that is, over what could have been calibrated on."
    )


class LessonSettings(Section):
    """What the model is shown of requests at which help has changed its answer before."""

    source: Literal["runs", "shadow"] = Field(
        default="runs",
        alias="from",
        description="What it is taught by: each answer that help has changed, or those that the shadow's judge found "
        "worse than the helper's.",
    )
    most: Annotated[int, Field(ge=1, le=10), AS_NUMBER] = Field(
        default=3, description="The most examples for one request."
    )
    embeddings: Name | None = Field(
        default=None,
        description="The model that finds requests of a like meaning, at a server with /v1/embeddings; without it, "
        "those with like words are found.",
        examples=["openai/text-embedding-3-small"],
    )
    near: Share = Field(default=0.7, description="The least cosine of a request that is shown.")
    seed: Count | None = Field(
        default=None, description="Leaves lessons out of the same of a series of requests each time; else at random."
    )


class Help(Section):
    """How a model is helped, and by whom."""

    secondary: Listed[Helper] = Field(
        default=(),
        description="The model that helps, or several: where one fails, the next stands in.",
        examples=["claude-3-sonnet"],
    )
    strategy: Name = Field(default=USUAL_STRATEGY, description="How it helps.", examples=["rescue", "boost"])
    threshold: Share = Field(default=0.7, description="Answers of a lower quality count as stuck.")
    max_retries: Attempts = Field(default=3, description="The primary's own attempts in one turn.")
    help_rate: Share | None = Field(
        default=None, description="The share of turns that should get help; decides instead of the threshold."
    )
    max_cost: Amount | None = Field(
        default=None, description="Dollars that help may cost per turn, on average; decides instead of the threshold."
    )
    calibration: Annotated[Any, BeforeValidator(free)] = Field(
        default=None,
        description="What `ai-battle calibrate` prints, or the path of the file that it writes; `auto`: a pair of a "
        "server calibrates itself by what its shadow finds.",
    )
    promise: PromiseSettings | None = Field(
        default=None, description="What the pair may lose; refused unless its calibration was tested for that."
    )
    models: Listed[Helper] = Field(default=(), description="Further models, for strategies with several.")
    peers: Listed[Helper] = Field(default=(), description="Models that answer beside the primary, to compare with.")
    judge: Helper | None = Field(
        default=None, description="Model that says whether an answer is right, where that would change the decision."
    )
    check: Name | None = Field(
        default=None,
        description="Tool of discussion.tools that checks answers: it runs their code, or is a check of your own.",
        examples=["code_execution"],
    )
    verify: Flag = Field(
        default=True,
        description="Whether answers are verified by running, where a fence works: the program that a prompt asks "
        "about, or the program of an answer on the prompt's examples.",
    )
    samples: Attempts | None = Field(default=None, description="Answers drawn from one model, to compare.")
    max_loops: Attempts = Field(default=3, description="Rounds of the boost loop.")
    helper_timeout: Seconds | None = Field(default=None, description="Seconds that the helper has.")
    helper_sees: Literal["prompt", "attempt", "history"] = Field(
        default="history", description="What the helper gets to see."
    )
    stream: Literal["judged", "optimistic"] = Field(
        default="judged",
        description="When text is told: once it is judged, or at once, with a correction where it is poor.",
    )
    hedge: HedgeSettings | None = Field(
        default=None, description="When the helper starts beside a model that is slow, where its answer may be taken."
    )
    lessons: LessonSettings | None = Field(
        default=None,
        description="Shows the model what it was helped with before, where a request is like an earlier one.",
        examples=[{"from": "runs", "most": 3}],
    )
    limits: PairLimits = Field(default=PairLimits(), description="Limits of the helper.")
    options: FreeMapping = Field(default={}, description="What a strategy of your own takes beside these.")


class ShadowBudget(Section):
    """What the shadow of a pair may cost."""

    cost_usd: Amount = Field(description="Dollars.", examples=[5])
    per: Literal["day"] = Field(default="day", description="What the dollars are for.")
    unpriced: Literal["refuse", "allow"] = Field(
        default="refuse", description="Whether a model may take part whose price is unknown; it counts as nothing."
    )


class WatchSettings(Section):
    """What happens when a pair loses more than it may: it goes to the last safe cut, until it is calibrated anew."""

    loss: Annotated[float | None, Field(gt=0, lt=0.5), AS_NUMBER] = Field(
        default=None,
        description="The share of the requests whose answer may be worse than the helper's; by default as promised.",
        examples=[0.03],
    )
    webhook: str = Field(
        default="",
        description="Address that is told of it, by https or on this machine; nothing of a request is.",
        repr=False,
    )


class ShadowSettings(Section):
    """A share of the requests that the other model answers too, after the answer has gone out."""

    share: Annotated[float, Field(gt=0, le=1), AS_NUMBER] = Field(
        default=0.02, description="The share of the requests that are answered by both."
    )
    seed: Count | None = Field(
        default=None, description="Draws the same of a series of requests each time; else at random."
    )
    judge: Helper = Field(
        description="The model that compares both answers, none that gives one; or check, the tool of the pair.",
        examples=["claude-3-sonnet", "check"],
    )
    budget: ShadowBudget = Field(description="What it may cost.", examples=[{"cost_usd": 5, "per": "day"}])
    watch: WatchSettings | None = Field(default=None, description="What the pair may lose, and who is told.")


class UsedHelp(Help):
    """Help that somebody makes use of, so that it can be compared with what else would have been answered."""

    shadow: ShadowSettings | None = Field(
        default=None, description="How it is found out, on the requests themselves, what the pair loses and saves."
    )


class Pair(UsedHelp):
    """A model and the one that helps it."""

    primary: Name = Field(
        description="A participant's name or a model type, or the name of a helper.", examples=["ollama-gemma3-1b"]
    )


class Collaboration(Section):
    """Models that help each other."""

    enabled: Flag = Field(default=True, description="Whether models help each other.")
    pairs: tuple[Pair, ...] = Field(default=(), description="Who is helped by whom.")
