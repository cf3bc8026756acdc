"""The schema of one participant: the model, what it can do, how it speaks, or the script of one that is played."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from .tools import Approval
from .values import (
    AS_NUMBER,
    Amount,
    Count,
    Flag,
    FreeMapping,
    Listed,
    Name,
    Positive,
    Section,
    Share,
    ShortSpelling,
    short_for,
)


class Capabilities(Section):
    """What is said here goes before what refusals, the server or a table tell; what it can't do is not asked of it."""

    tools: Flag | None = Field(default=None, description="Native tool calls.")
    images: Flag | None = Field(default=None, description="Pictures; without, it reads a description of them.")
    documents: Flag | None = Field(default=None, description="PDF files as they are; without, it is sent their text.")
    video: Flag | None = Field(default=None, description="Videos as they are; without, it is sent pictures of them.")
    reasoning: Flag | None = Field(default=None, description="Thinking before it answers.")
    json_schema: Flag | None = Field(default=None, description="Answers that follow a JSON Schema.")
    context_window: Positive | None = Field(
        default=None, description="Tokens that it can read and write at once.", examples=[32768]
    )
    max_output_tokens: Positive | None = Field(default=None, description="Tokens of its longest answer.")

    def stated_values(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)

    @property
    def lacking(self) -> frozenset[str]:
        return frozenset(name for name, value in self.stated_values().items() if value is False)


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


def _pattern(raw: str) -> str:
    try:
        re.compile(raw)
    except re.error as error:
        reason = {"reason": str(error)}
        raise PydanticCustomError("regex", "is no regular expression: {reason}", reason) from error
    return raw


Pattern = Annotated[str, AfterValidator(_pattern)]


class ScriptRule(ScriptEntry):
    """An answer to whatever matches."""

    match: Pattern = Field(description="Regular expression that is looked for in what was said last.")


Script = tuple[Annotated[ScriptEntry, short_for("say")], ...]


class VeilSettings(Section):
    """What a model elsewhere is sent placeholders for, beside what rules find; see docs/how-to/veil.md."""

    names: Listed[Name] = Field(
        default=(), description="Names of people; single words of them too.", examples=[["Ada King"]]
    )
    terms: Listed[Name] = Field(default=(), description="Other words that must not leave: projects, customers.")
    patterns: Mapping[Annotated[str, Field(pattern=r"^[a-zA-Z]{2,20}$")], Pattern] = Field(
        default={},
        description="Regular expressions for what has a form of its own, by the name of its placeholders.",
        examples=[{"ticket": "TCK-[0-9]{6}"}],
    )
    finder: Name | None = Field(
        default=None,
        description="A model of this machine that looks for what no rule finds, in each text once.",
        examples=["ollama/qwen3:4b"],
    )
    without_finder: Literal["refuse", "send"] = Field(
        default="refuse", description="What becomes of a request when that brings no answer."
    )
    files: Literal["refuse", "send"] = Field(
        default="refuse", description="What becomes of pictures and documents, which can't be veiled."
    )


def _veil(raw: Any) -> Any:
    return {"false": None, "true": {}}.get(str(raw).lower(), raw)


class ModelSettings(Section):
    """How any model is called, whether it takes part or helps."""

    parameters: Parameters = Field(default=Parameters(), description="Sampling parameters.")
    capabilities: Capabilities = Field(
        default=Capabilities(),
        description="What the model can do, where the built-in knowledge is wrong.",
        examples=[{"images": True}],
    )
    veil: Annotated[VeilSettings | None, ShortSpelling(_veil, {"type": "boolean"})] = Field(
        default=None,
        description="Placeholders for what is private: true, or {names, terms, files}. Only for models that are not "
        "on this machine.",
        examples=[True],
    )
    script: Script = Field(default=(), description="Only for type scripted: what it says, in order.")
    when: Listed[ScriptRule] = Field(default=(), description="Only for type scripted: answers to what was said last.")
    loop: Flag = Field(default=False, description="Only for type scripted: start again when the script is used up.")
    pace: Annotated[float, Field(ge=0, le=60), AS_NUMBER] = Field(
        default=0, description="Only for type scripted: seconds between two words.", examples=[0.05]
    )


Role = Literal["human", "assistant", "moderator", "observer", "user"]
ROLES: tuple[str, ...] = get_args(Role)


class Instructions(Section):
    """How the participant is to behave: a text, or a packaged template filled with `params`."""

    text: str = Field(default="", description="The instructions themselves; a plain string is short for this.")
    template: str = Field(
        default="",
        description="Name of a packaged template, or of a file in `discussion.templates` without its ending.",
        examples=["human_system_instructions"],
    )
    params: FreeMapping = Field(default={}, description="What the template's places are filled with.")


class ParticipantSettings(ModelSettings):
    """A participant; its key is its name."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["type"]}, {"properties": {"role": {"const": "user"}}, "required": ["role"]}]
        }
    )

    role: Role = Field(
        default="assistant",
        description="human and assistant are the two sides; a moderator opens, chooses and closes; an observer speaks "
        "once, at the end; a user is a person at the keyboard.",
    )
    type: str = Field(
        default="", description="The model.", examples=["ollama/phi4", "claude-3-sonnet", "openai/gpt-4o"]
    )
    persona: str = Field(default="", description="Who the participant is, kept verbatim.")
    instructions: Annotated[Instructions, short_for("text")] = Field(
        default=Instructions(), description="A text, or {template, params}."
    )
    secret: str = Field(
        default="",
        description="What only this participant is told, such as a goal of its own.",
        examples=["You want to sell before Friday."],
    )
    tools: Listed[Name] | None = Field(
        default=None, description="Which of the registered tools it may use; all by default."
    )
    approval: Approval = Field(
        default=Approval(), description="Further approval of its calls, as in tools.approval; the stricter holds."
    )

    @property
    def is_scripted(self) -> bool:
        return re.fullmatch(r"scripted([/:].*)?", self.type) is not None

    @field_validator("type")
    @classmethod
    def _is_given(cls, type_: str, info: ValidationInfo) -> str:
        if not type_.strip() and info.data.get("role") != "user":
            raise PydanticCustomError("no_type", "is missing: say which model this is, for example ollama/phi4")
        return type_.strip()
