"""The schema of how a model speaks: its sampling parameters, or the script of one that is played."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from ._values import AS_NUMBER, TEXT, Amount, Count, FreeMapping, Listed, Name, Positive, Section, Share, Short


def _script_entry(written: Any) -> Any:
    return {"say": written} if isinstance(written, str) else written


class Parameters(Section):
    """Sampling parameters; those that are not set are left to the provider."""

    temperature: Annotated[float, Field(ge=0, le=5), AS_NUMBER] | None = Field(
        default=None, description="Randomness.", examples=[0.8]
    )
    max_tokens: Positive | None = Field(default=None, description="The longest answer, in tokens.", examples=[1024])
    top_p: Share | None = Field(default=None, description="Nucleus sampling.", examples=[0.9])
    top_k: Count | None = Field(default=None, description="How many candidates a token is drawn from.", examples=[40])
    min_p: Share | None = Field(default=None, description="Least share of the best candidate.")
    seed: Annotated[int, Field(ge=-(2**63), lt=2**64), AS_NUMBER] | None = Field(
        default=None, description="Makes sampling repeatable.", examples=[7]
    )
    stop: Listed[str] = Field(default=(), description="Texts that end the answer.")
    reasoning: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="How much the model thinks before it answers."
    )
    num_ctx: Positive | None = Field(
        default=None, description="Ollama's context size in tokens; by default what is needed."
    )
    presence_penalty: Annotated[float, Field(ge=-2, le=2), AS_NUMBER] | None = Field(
        default=None, description="Against known topics."
    )
    frequency_penalty: Annotated[float, Field(ge=-2, le=2), AS_NUMBER] | None = Field(
        default=None, description="Against repeated words."
    )
    repeat_penalty: Amount | None = Field(
        default=None, description="Against repetition (local models).", examples=[1.1]
    )
    keep_alive: str | None = Field(
        default=None, description="How long Ollama keeps the model loaded.", examples=["10m"]
    )

    def options(self) -> dict[str, Any]:
        """The parameters that are set, for `ModelRequest.options`."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


class ScriptedCall(Section):
    """A tool call that a scripted participant makes."""

    tool: Name = Field(description="Name of the tool.")
    parameters: FreeMapping = Field(default={}, description="The call's arguments.")


class ScriptEntry(Section):
    """One answer of a scripted participant; a plain string is short for `say`."""

    say: str = Field(default="", description="The text of the answer.")
    think: str = Field(default="", description="Reasoning text before it.")
    call: Listed[ScriptedCall] = Field(default=(), description="One tool call, or a list of them.")
    fail: str = Field(default="", description="Name of a fault instead of an answer.", examples=["rate_limited"])
    delay: Annotated[float, Field(ge=0, le=3600), AS_NUMBER] = Field(
        default=0, description="Seconds before it answers.", examples=[0.2]
    )


class ScriptRule(ScriptEntry):
    """An answer to whatever matches."""

    match: str = Field(description="Regular expression that is looked for in what was said last.")

    @field_validator("match")
    @classmethod
    def _compiles(cls, match: str) -> str:
        try:
            re.compile(match)
        except re.error as error:
            reason = {"reason": str(error)}
            raise PydanticCustomError("regex", "is no regular expression: {reason}", reason) from error
        return match


Script = tuple[Annotated[ScriptEntry, Short(_script_entry, TEXT)], ...]
