"""The schema of `discussion.collaboration`."""

from typing import Annotated, Literal

from pydantic import Field

from ._values import AS_NUMBER, Amount, Count, Flag, Listed, Name, Seconds, Section, Share

Attempts = Annotated[int, Field(ge=1, le=100), AS_NUMBER]


class PairLimits(Section):
    """What helping may use."""

    calls: Count | None = Field(default=None, description="Calls of the helper.")
    tokens: Count | None = Field(default=None, description="Tokens of the helper.")
    cost_usd: Amount | None = Field(default=None, description="Dollars for the helper.")
    per: Literal["turn", "run"] = Field(default="run", description="What the limits count over.")


class Pair(Section):
    """A model and the one that helps it."""

    primary: Name = Field(description="A participant's name or a model type.", examples=["ollama-gemma3-1b"])
    secondary: str = Field(default="", description="The model that helps.", examples=["claude-3-sonnet"])
    strategy: Name = Field(default="rescue", description="How it helps.", examples=["rescue", "boost"])
    threshold: Share = Field(default=0.7, description="Answers of a lower quality count as stuck.")
    max_retries: Annotated[int, Field(ge=0, le=100), AS_NUMBER] = Field(
        default=3, description="The primary's own attempts in one turn."
    )
    help_rate: Share | None = Field(default=None, description="The share of turns that should get help.")
    max_cost: Amount | None = Field(default=None, description="Dollars that one rescue may cost.")
    models: Listed[Name] = Field(default=(), description="Further models, for strategies with several.")
    peers: Listed[Name] = Field(default=(), description="Models that answer beside the primary.")
    judge: str = Field(default="", description="Model that judges answers.")
    samples: Attempts | None = Field(default=None, description="Answers drawn from one model.")
    max_loops: Attempts = Field(default=3, description="Rounds of the boost loop.")
    helper_timeout: Seconds | None = Field(default=None, description="Seconds that the helper has.")
    helper_sees: Literal["prompt", "attempt", "history"] = Field(
        default="history", description="What the helper gets to see."
    )
    limits: PairLimits = Field(default=PairLimits(), description="Limits of the helper.")


class Collaboration(Section):
    """Models that help each other."""

    enabled: Flag = Field(default=True, description="Whether models help each other.")
    pairs: tuple[Pair, ...] = Field(default=(), description="Who is helped by whom.")
