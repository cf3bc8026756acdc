"""The schema of a participant: its model, how that is reached, what it can do, how it speaks, or its script."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from .tools import Approval
from .values import (
    AS_NUMBER,
    MAX_COUNT,
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
    free,
    short_for,
)


class Capabilities(Section):
    """What the model can do. These settings override all other sources, and absent capabilities are not requested."""

    tools: Flag | None = Field(default=None, description="Native tool calls.")
    images: Flag | None = Field(default=None, description="Pictures; otherwise it reads descriptions of them.")
    documents: Flag | None = Field(default=None, description="PDF files; otherwise it is sent their text.")
    video: Flag | None = Field(default=None, description="Videos; otherwise it is sent frames of them.")
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
    """Sampling parameters. The provider decides those that are not set."""

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
        default=None, description="Ollama's context size in tokens; by default as large as needed."
    )
    presence_penalty: Annotated[float, Field(ge=-2, le=2), AS_NUMBER] | None = Field(
        default=None, description="Discourages topics that have come up."
    )
    frequency_penalty: Annotated[float, Field(ge=-2, le=2), AS_NUMBER] | None = Field(
        default=None, description="Discourages repeated words."
    )
    repeat_penalty: Amount | None = Field(
        default=None, description="Discourages repetition (local models).", examples=[1.1]
    )
    keep_alive: str | None = Field(
        default=None, description="How long Ollama keeps the model loaded.", examples=["10m"]
    )

    def options(self) -> dict[str, Any]:
        """Returns the parameters that are set, for `ModelRequest.options`."""
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
        raise PydanticCustomError("regex", "is not a regular expression: {reason}", reason) from error
    return raw


Pattern = Annotated[str, AfterValidator(_pattern)]


class ScriptRule(ScriptEntry):
    """An answer to messages that match."""

    match: Pattern = Field(description="Regular expression to search for in the last message.")


Script = Listed[Annotated[ScriptEntry, short_for("say")]]


class VeilSettings(Section):
    """Private text that remote models get as placeholders, in addition to what rules find; see docs/how-to/veil.md."""

    names: Listed[Name] = Field(
        default=(), description="Names of people; parts of a name are veiled too.", examples=[["Ada King"]]
    )
    terms: Listed[Name] = Field(
        default=(), description="Other words that must not leave this machine: projects, customers."
    )
    patterns: Mapping[Annotated[str, Field(pattern=r"^[a-zA-Z]{2,20}$")], Pattern] = Field(
        default={},
        description="Regular expressions for private text, by the name of their placeholders.",
        examples=[{"ticket": "TCK-[0-9]{6}"}],
    )
    finder: Name | None = Field(
        default=None,
        description="A model on this machine that looks for what no rule finds, once per text.",
        examples=["ollama/qwen3:4b"],
    )
    without_finder: Literal["refuse", "send"] = Field(
        default="refuse", description="What happens to a request if the finder does not answer."
    )
    files: Literal["refuse", "send"] = Field(
        default="refuse", description="What happens to pictures and documents, which can't be veiled."
    )


def _veil(raw: Any) -> Any:
    return {"false": None, "true": {}}.get(str(raw).lower(), raw)


class ModelSettings(Section):
    """How a model is called, whether it is a participant or a helper."""

    parameters: Parameters = Field(default=Parameters(), description="Sampling parameters.")
    capabilities: Capabilities = Field(
        default=Capabilities(),
        description="What the model can do, where the built-in knowledge is wrong.",
        examples=[{"images": True}],
    )
    veil: Annotated[VeilSettings | None, ShortSpelling(_veil, {"type": "boolean"})] = Field(
        default=None,
        description="Replaces private text by placeholders: true, or {names, terms, files}. Only for models that are "
        "not on this machine.",
        examples=[True],
    )
    script: Script = Field(default=(), description="Only for type scripted: its answers in order.")
    when: Listed[ScriptRule] = Field(default=(), description="Only for type scripted: answers to the last message.")
    loop: Flag = Field(default=False, description="Only for type scripted: restart at the end of the script.")
    pace: Annotated[float, Field(ge=0, le=60), AS_NUMBER] = Field(
        default=0, description="Only for type scripted: seconds between two words.", examples=[0.05]
    )


Role = Literal["human", "assistant", "moderator", "observer", "user"]
ROLES: tuple[str, ...] = get_args(Role)


class Instructions(Section):
    """How the participant should behave: a text, or a packaged template filled with `params`."""

    text: str = Field(default="", description="The instructions themselves; a plain string is short for this.")
    template: str = Field(
        default="",
        description="Name of a packaged template, or of a file in `discussion.templates` without its ending.",
        examples=["human_system_instructions"],
    )
    params: FreeMapping = Field(default={}, description="Values for the template's placeholders.")


class ParticipantSettings(ModelSettings):
    """A participant; its key is its name. A plain string is short for `type`."""

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
    type: str = Field(default="", description="The model.", examples=["ollama/phi4", "sonnet", "openai/gpt-4o"])
    persona: str = Field(default="", description="Who the participant is; used verbatim.")
    instructions: Annotated[Instructions, short_for("text")] = Field(
        default=Instructions(), description="A text, or {template, params}."
    )
    secret: str = Field(
        default="",
        description="Told only to this participant, such as a goal of its own.",
        examples=["You want to sell before Friday."],
    )
    tools: Listed[Name] | None = Field(default=None, description="Registered tools that it may use; all by default.")
    approval: Approval = Field(
        default=Approval(), description="Further rules for its calls, as in tools.approval; the stricter one applies."
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


class Provider(Section):
    """How to reach a provider. Other names with a `base_url` are OpenAI-compatible endpoints.

    A plug-in may have its own options, which are checked with the models.
    """

    model_config = ConfigDict(extra="allow")

    base_url: str = Field(default="", description="Address of the API.", examples=["http://127.0.0.1:8080/v1"])
    api_key: str = Field(
        default="", description="The key; better from the environment.", examples=["${OPENAI_API_KEY}"], repr=False
    )
    headers: dict[str, str] = Field(default={}, description="Further HTTP headers.", repr=False)
    api_version: str = Field(default="", description="Version of the API.", examples=["2023-06-01"])
    transport: Literal["aiohttp", "sdk"] = Field(
        default="aiohttp", description="aiohttp, or the official SDK's client."
    )

    @model_validator(mode="before")
    @classmethod
    def _with_free_options(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        return {key: value if key in cls.model_fields else free(value) for key, value in raw.items()}

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Hides the options of plug-ins, as any of them may be secret."""
        return [(name, value) for name, value in super().__repr_args__() if name in type(self).model_fields]


class Price(Section):
    """Dollars per million tokens."""

    input: Amount = Field(description="Tokens read.", examples=[2.5])
    output: Amount = Field(description="Tokens written.", examples=[10])
    cache_read: Amount | None = Field(
        default=None, description="Tokens read from the provider's cache; default: as input."
    )
    cache_write: Amount | None = Field(
        default=None, description="Tokens written to the provider's cache; default: as input."
    )


class ModelFile(Section):
    """The sections that every kind of file with models has."""

    providers: dict[Name, Provider] = Field(default={}, description="Addresses and keys by provider.")
    prices: dict[Name, Price] = Field(
        default={}, description="Prices by model type, where the built-in ones are wrong."
    )
    context_windows: dict[Name, Annotated[int, Field(ge=64, le=MAX_COUNT), AS_NUMBER]] = Field(
        default={}, description="Context sizes in tokens by model type."
    )


BaseDirectory = Annotated[
    str, Field(description="Where relative paths start and .env is read; by default the folder of this file.")
]
