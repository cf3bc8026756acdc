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

    type: Name = Field(description="A model type or a participant's name.", examples=["sonnet"])
    name: str = Field(
        default="", description="Its name for a model that chooses among several helpers (strategy advisor)."
    )
    purpose: str = Field(
        default="", description="Its purpose in a few words, for a model that chooses among several helpers."
    )
    instructions: str = Field(
        default="", description="Further instructions besides those of the strategy, such as house rules."
    )
    tools: Listed[Name] | None = Field(
        default=None, description="Registered tools that it may use; by default those of the participant."
    )


Helper = Annotated[HelperSettings, short_for("type")]


class PairLimits(Section):
    """Limits of help."""

    calls: Count | None = Field(default=None, description="Calls of the helper.")
    tokens: Count | None = Field(default=None, description="Tokens of the helper.")
    cost_usd: Amount | None = Field(default=None, description="Dollars for the helper.")
    per: Literal["turn", "run"] = Field(
        default="run", description="The period of the limits. To a server each request is one."
    )
    unpriced: Unpriced = "refuse"


def _wait(raw: Any) -> Any:
    """Returns seconds as a number and a quantile as the text that it is."""
    value = free(raw)
    is_seconds = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LONGEST_WAIT
    if not is_seconds and not (isinstance(value, str) and re.fullmatch(r"p[5-9][0-9]", value)):
        raise PydanticCustomError("wait", "must be seconds, such as 5, or a quantile from p50 to p99, such as p95")
    return value


class HedgeSettings(Section):
    """When the helper starts beside a slow model. The first good answer wins; the other call is cancelled."""

    wait: Annotated[float | str, BeforeValidator(_wait)] = Field(
        description="Seconds that the model has alone, or a quantile of its latest latencies, `p50` to `p99`, which "
        "applies once 20 of them are known.",
        examples=["p95", 5],
    )
    worth: Annotated[float, Field(gt=0), AS_NUMBER] | None = Field(
        default=None,
        description="The value in dollars of waiting one second less. The helper starts as soon as the time it is "
        "expected to save is worth more than its call, by recent latencies and costs. Until these are known, `wait` "
        "applies.",
        examples=[0.001],
    )
    doubt: Share | None = Field(
        default=None,
        description="Starts the helper as soon as the doubt about the unfinished answer exceeds this, from 0 to 1. The "
        "beginning of an answer says little.",
        examples=[0.9],
    )


USUAL_STRATEGY: Final = "rescue"
AUTO = "auto"
"""Instead of a calibration: the pair calibrates itself by what its shadow finds."""


class PromiseSettings(Section):
    """The most that a pair may lose, as its calibration must support."""

    loss: Annotated[float, Field(gt=0, lt=1), AS_NUMBER] = Field(
        description="The share of answers that may be worse than the helper's would have been.", examples=[0.03]
    )
    confidence: Annotated[float, Field(gt=0, lt=1), AS_NUMBER] = Field(
        default=0.95, description="The probability with which the promise holds, over random calibration data."
    )


class LessonSettings(Section):
    """Shows the model earlier requests in which help changed its answer."""

    source: Literal["runs", "shadow"] = Field(
        default="runs",
        alias="from",
        description="The source of examples: answers that help has changed, or answers that the shadow's judge found "
        "worse than the helper's.",
    )
    most: Annotated[int, Field(ge=1, le=10), AS_NUMBER] = Field(
        default=3, description="The most examples for one request."
    )
    embeddings: Name | None = Field(
        default=None,
        description="A model that finds requests with a similar meaning, on a server with /v1/embeddings; without it, "
        "requests with similar words are found.",
        examples=["openai/text-embedding-3-small"],
    )
    near: Share = Field(default=0.7, description="The least cosine similarity of a request that is shown.")
    seed: Count | None = Field(
        default=None,
        description="Seed for the requests that get no lessons, so that a repeated series leaves out the same ones.",
    )


class Help(Section):
    """How a model is helped, and by which models."""

    secondary: Listed[Helper] = Field(
        default=(),
        description="The model that helps, or several: if one fails, the next takes over.",
        examples=["sonnet"],
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
        description="The output of `ai-battle calibrate`, or the path of its file. With `auto`, a pair of a server "
        "calibrates itself by what its shadow finds.",
    )
    promise: PromiseSettings | None = Field(
        default=None, description="The most that the pair may lose; refused unless its calibration was tested for it."
    )
    models: Listed[Helper] = Field(default=(), description="Further models, for strategies with several.")
    peers: Listed[Helper] = Field(default=(), description="Models that answer too, for comparison with the primary.")
    judge: Helper | None = Field(
        default=None, description="Model that says whether an answer is right, asked if that could change the decision."
    )
    check: Name | None = Field(
        default=None,
        description="A tool of discussion.tools that checks answers: it runs their code, or is your own check.",
        examples=["code_execution"],
    )
    verify: Flag = Field(
        default=True,
        description="Whether answers are verified by running code, if a sandbox works: the program that a prompt asks "
        "about, or the program of an answer on the prompt's examples.",
    )
    samples: Attempts | None = Field(default=None, description="Answers drawn from one model, to compare.")
    max_loops: Attempts = Field(default=3, description="Rounds of the boost loop.")
    helper_timeout: Seconds | None = Field(default=None, description="Seconds that the helper has.")
    helper_sees: Literal["prompt", "attempt", "history"] = Field(
        default="history", description="What is shown to the helper."
    )
    stream: Literal["judged", "optimistic"] = Field(
        default="judged",
        description="When a server streams text: once it is judged, or at once, with a correction if it is poor.",
    )
    hedge: HedgeSettings | None = Field(
        default=None,
        description="When the helper starts while the model is still slow, for strategies that may take its answer.",
    )
    lessons: LessonSettings | None = Field(
        default=None,
        description="Shows the model how it was helped with similar requests.",
        examples=[{"from": "runs", "most": 3}],
    )
    limits: PairLimits = Field(default=PairLimits(), description="Limits of the helper.")
    options: FreeMapping = Field(default={}, description="Further options of your own strategy.")


class ShadowBudget(Section):
    """The most that the shadow of a pair may cost."""

    cost_usd: Amount = Field(description="Dollars.", examples=[5])
    per: Literal["day"] = Field(default="day", description="The period of the budget.")
    unpriced: Literal["refuse", "allow"] = Field(
        default="refuse", description="Whether models with unknown prices may take part; they count as free."
    )


class WatchSettings(Section):
    """What happens if a pair loses more than allowed: it returns to the last safe cut until it is calibrated again."""

    loss: Annotated[float | None, Field(gt=0, lt=0.5), AS_NUMBER] = Field(
        default=None,
        description="The share of the requests whose answer may be worse than the helper's; by default as promised.",
        examples=[0.03],
    )
    webhook: str = Field(
        default="",
        description="Address to notify, by https or on this machine. It gets no content of requests.",
        repr=False,
    )


class ShadowSettings(Section):
    """A share of the requests that the other model answers too, after the answer has gone out."""

    share: Annotated[float, Field(gt=0, le=1), AS_NUMBER] = Field(
        default=0.02, description="The share of requests that both models answer."
    )
    seed: Count | None = Field(
        default=None, description="Seed that draws the same requests of a repeated series; without it, they are random."
    )
    judge: Helper = Field(
        description="A model that compares both answers and gives neither; or check, the pair's tool.",
        examples=["sonnet", "check"],
    )
    budget: ShadowBudget = Field(description="What it may cost.", examples=[{"cost_usd": 5, "per": "day"}])
    watch: WatchSettings | None = Field(
        default=None, description="The most that the pair may lose, and who is notified."
    )


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
    pairs: Listed[Pair] = Field(default=(), description="Who is helped by whom.")
