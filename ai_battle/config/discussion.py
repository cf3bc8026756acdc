"""The schema of a discussion file."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from .collaboration import Collaboration, HelperSettings, Pair
from .judge import AnyJudge
from .participants import BaseDirectory, ModelFile, ParticipantSettings
from .phases import Phases, Visibility
from .tools import AnyTools, Sandbox
from .values import (
    AS_NUMBER,
    ENTRIES,
    MAX_COUNT,
    Amount,
    Count,
    Flag,
    Free,
    Listed,
    Name,
    Positive,
    Seconds,
    Section,
    Share,
    ShortSpelling,
    Unpriced,
    is_null,
    short_for,
)

SteeringStep: TypeAlias = Literal["hint", "stronger", "template"]


class SignalThresholds(Section):
    """A measure above its threshold is a fault. A threshold of 1 is never exceeded."""

    repetition: Share = Field(default=0.5, description="The last turns repeat earlier ones.")
    agreement: Share = Field(default=0.7, description="The last turns agree and praise without reservation.")
    drift: Share = Field(default=0.7, description="The last turns have left the subject of the opening.")
    formulaic: Share = Field(default=0.6, description="The last turns are stock phrases in one pattern.")


class Signals(Section):
    """Measures of the conversation and reactions to its faults; false turns all of it off."""

    enabled: Flag = Field(default=True, description="Measures the turns.")
    thresholds: SignalThresholds = Field(
        default=SignalThresholds(),
        description="Values above which a measure is a fault.",
        examples=[{"repetition": 0.7}],
    )
    steps: Listed[SteeringStep] = Field(
        default=("hint", "stronger", "template"),
        description="What a participant gets, one after another, while a fault lasts: a hint, a stronger one, the "
        "instructions of another template. An empty list only measures.",
    )
    cool_down: Count = Field(default=3, description="Turns of the participant before it gets another hint.")


AnySignals = Annotated[Signals, short_for("enabled", bool | str, {"type": "boolean"})]


FileType = Literal["image", "video", "text", "code", "pdf"]
Resolution = Annotated[str, Field(pattern=r"^([1-9]\d{0,4}[xX][1-9]\d{0,4}|[1248][kK])$")]


MAX_RESOLUTION = "Pictures and video frames are scaled to fit this; by default 1568x1568, frames 768x768."
FRAMES = "Number of pictures taken from a video, for models that can't read videos."
RESEND = "Whether later requests send the file again; by default only small files are sent, others are referred to."
Frames = Annotated[int, Field(ge=1, le=64), AS_NUMBER]


class InputFile(Section):
    """A file for the first prompt. With `is_directory`, a folder stands for its files."""

    path: Name = Field(description="Relative to this YAML; ~ is the home directory.", examples=["./diagram.png"])
    type: FileType | None = Field(default=None, description="Type of the file; by default detected from its content.")
    max_resolution: Resolution | None = Field(default=None, description=MAX_RESOLUTION, examples=["1024x1024"])
    frames: Frames | None = Field(default=None, description=f"{FRAMES} By default 16.")
    resend: Flag | None = Field(default=None, description=RESEND)
    is_directory: Flag = Field(default=False, description="The path is a folder; input_files.directory says the same.")
    file_pattern: str = Field(default="*", description="Which files of a folder.", examples=["**/*.py"])

    def resolve(self, base: Path) -> Path:
        return base / os.path.expanduser(self.path)


AnyFile = Annotated[InputFile, short_for("path")]


class InputFiles(Section):
    """Several files, listed or found in a directory."""

    files: Listed[AnyFile] = Field(default=(), description="The files, each a path or a mapping.")
    directory: str = Field(default="", description="Takes the files of this directory.", examples=["./src"])
    file_pattern: str = Field(
        default="*", description="Which files of the directory; ** stands for any folders in it.", examples=["**/*.py"]
    )
    max_files: Positive = Field(default=10, description="At most this many files of the directory.")
    max_resolution: Resolution | None = Field(default=None, description=f"Default for all files. {MAX_RESOLUTION}")
    frames: Frames | None = Field(default=None, description=f"Default for all files. {FRAMES}")
    resend: Flag | None = Field(default=None, description=f"Default for all files. {RESEND}")


AnyFiles = Annotated[InputFiles, short_for("files", list | tuple | str, ENTRIES)]


MODES = {"default": "no-meta", "no-meta-prompting": "no-meta"}


def _mode(raw: Any) -> Any:
    plain = raw.strip().lower().replace("_", "-") if isinstance(raw, str) else raw
    return MODES.get(plain, plain) if isinstance(plain, str) else plain


def _with_underscores(raw: Any) -> Any:
    return raw.strip().lower().replace("-", "_") if isinstance(raw, str) else raw


def _stop(raw: Any) -> Any:
    """Expands a list, or several conditions in one mapping, to `any`."""
    if isinstance(raw, list | tuple):
        return _stop({"any": raw})
    if not isinstance(raw, dict):
        return raw
    conditions = [{key: value} for key, value in raw.items() if not is_null(value) and value not in ([], ())]
    if not conditions:
        raise PydanticCustomError("no_condition", "needs a condition, for example max_messages: 40")
    return conditions[0] if len(conditions) == 1 else {"any": conditions}


class StopCondition(Section):
    """A condition; exactly one of the keys is set."""

    any: "Listed[AnyStop]" = Field(default=(), description="Holds when one of these does.")
    all: "Listed[AnyStop]" = Field(default=(), description="Holds when all of these do.")
    max_messages: Positive | None = Field(default=None, description="After this many messages.", examples=[40])
    turns: Positive | None = Field(default=None, description="After this many turns.", examples=[20])
    phrase: Name | None = Field(default=None, description="When somebody says this.", examples=["DONE"])
    consensus: Flag | None = Field(default=None, description="When the participants agree.")
    no_novelty: Flag | None = Field(default=None, description="When nothing new is said.")
    cost_usd: Amount | None = Field(default=None, description="When this many dollars are spent.", examples=[0.5])
    tokens: Positive | None = Field(default=None, description="When this many tokens are used.")
    seconds: Seconds | None = Field(default=None, description="When this much time has passed.", examples=[600])


AnyStop = Annotated[StopCondition, ShortSpelling(_stop, {"type": "array", "items": {"type": "object"}})]


class Limits(Section):
    """Limits of a run; unset ones don't apply. Near a limit, a last answer is requested so that no work is lost."""

    cost_usd: Amount | None = Field(default=None, description="Dollars.", examples=[1.0])
    tokens: Positive | None = Field(default=None, description="Tokens, read and written.", examples=[200_000])
    seconds: Seconds | None = Field(default=None, description="Wall time.", examples=[1800])
    tool_calls: Count | None = Field(default=None, description="Calls of tools.", examples=[50])
    unpriced: Unpriced = "refuse"


class Timeouts(Section):
    """How long an answer may take, and how often a failed call is repeated."""

    request: Seconds = Field(default=600, description="Seconds for one answer, retries included.", examples=[300])
    retry_count: Annotated[int, Field(ge=0, le=100), AS_NUMBER] = Field(
        default=3, description="Retries of a failed call; attempts are one more."
    )
    notify_on: Listed[Literal["timeout", "retry", "error"]] = Field(
        default=("timeout", "retry", "error"),
        description="What is shown between the turns: attempts that ran out of time, waits before the next attempt, "
        "attempts that failed otherwise. The journal keeps them all; a turn without an answer is always shown.",
    )


class Execution(Section):
    """How turns are run."""

    parallel: Flag = Field(default=False, description="Everyone answers the same history; answers are added in order.")
    delay_between_turns: Annotated[float, Field(ge=0, le=86_400), AS_NUMBER] = Field(
        default=0, description="Pause in seconds."
    )
    max_conversation_tokens: Annotated[int, Field(ge=64, le=MAX_COUNT), AS_NUMBER] | None = Field(
        default=None, description="Tokens beyond which older turns are summarised.", examples=[32_768]
    )


class JournalSettings(Section):
    """The texts that the journal keeps."""

    drafts: Flag = Field(
        default=True,
        description="Keeps the texts of dropped drafts, and what helpers, peers, judges and checks were shown and "
        "said. Without them, only figures and reasons are kept.",
    )


SCHEMA_KEYWORDS = frozenset(("type", "properties", "items", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"))
"""A JSON Schema without any of these allows everything."""


def _printable(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise PydanticCustomError("name", "must be a name on one line, without control characters")
    return name


def _prompt_or_schema(raw: Any) -> Any:
    if raw is not None and not isinstance(raw, str | dict):
        raise PydanticCustomError("outcome", "must be a prompt in quotes, or a mapping: the JSON Schema of the outcome")
    if isinstance(raw, dict) and raw and SCHEMA_KEYWORDS.isdisjoint(raw):
        keys = {"keys": ", ".join(map(str, raw))}
        way_out = "write {type: object, properties: {...}}, or a prompt in quotes"
        raise PydanticCustomError("no_schema", "is no JSON Schema: it has only {keys}; " + way_out, keys)
    return raw


ParticipantName = Annotated[str, Field(max_length=100), AfterValidator(_printable)]


class Discussion(Section):
    """A conversation between two or more participants."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["goal"]}, {"required": ["initial_prompt"]}]},
    )

    turns: Annotated[int, Field(ge=1, le=1_000_000), AS_NUMBER] = Field(
        default=3, description="Rounds: everyone speaks once per round; also `rounds`.", examples=[5]
    )
    mode: Annotated[Literal["ai-ai", "human-ai", "no-meta"], ShortSpelling(_mode, {"enum": sorted(MODES)})] = Field(
        default="human-ai", description="How participants are instructed; no-meta sends nothing but the neutral prompt."
    )
    initial_prompt: str = Field(default="", description="The first prompt, if it is not the goal.")
    goal: str = Field(default="", description="The objective, and the first prompt unless initial_prompt is given.")
    models: dict[ParticipantName, Annotated[ParticipantSettings, short_for("type")]] = Field(
        min_length=2, max_length=100, description="Two to 100 participants by name, in speaking order."
    )
    speaker_selection: Annotated[
        Literal["round_robin", "random", "moderator", "auto"],
        ShortSpelling(_with_underscores, {"enum": ["round-robin"]}),
    ] = Field(default="round_robin", description="Who speaks next.")
    stop: AnyStop | None = Field(default=None, description="Ends the discussion early; nests with any and all.")
    limits: Limits = Field(default=Limits(), description="What a run may use.")
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines and retries.")
    execution: Execution = Field(
        default=Execution(), description="How turns are run: at once or one by one, how fast, in how much context."
    )
    input_file: AnyFile | None = Field(default=None, description="A file that goes with the first prompt.")
    input_files: AnyFiles | None = Field(default=None, description="Several files that go with the first prompt.")
    describe_with: Name | None = Field(
        default=None,
        description="Who describes pictures to models that can't see them: a participant, or a model type. By default "
        "the first participant that is known to see.",
        examples=["gemini-2.5-flash"],
    )
    tools: AnyTools | None = Field(default=None, description="Tools that the models may use.")
    collaboration: Collaboration | None = Field(default=None, description="Models that help each other.")
    established_facts: Free = Field(default=None, description="Shared with every participant; any shape.")
    durability: Literal["every_second", "every_turn"] = Field(
        default="every_second", description="When the journal is synced."
    )
    journal: JournalSettings = Field(
        default=JournalSettings(), description="Which texts the journal keeps besides the conversation."
    )
    allow_secrets: Listed[Name] = Field(
        default=(),
        description="Variables whose values may be sent to models although they are secret.",
        examples=[["COMPANY_KEY"]],
    )
    local_only: Flag = Field(default=False, description="Refuses models that are not on this machine.")
    sandbox: Sandbox | None = Field(default=None, description="The sandbox for code that models write.")
    workspace: str = Field(default="", description="Folder that file and code tools may use.")
    allow_hosts: Listed[Name] = Field(default=(), description="Hosts that sandboxed code may reach.")
    judge: AnyJudge | None = Field(
        default=None, description="Judges the finished discussion, with scores that quote it.", examples=["gpt-4o"]
    )
    goal_mode: Literal["discuss", "produce"] = Field(
        default="discuss", description="Whether the goal is discussed, or is a text that is produced draft by draft."
    )
    templates: str = Field(
        default="",
        description="A folder with your own templates, each a file NAME.md with $placeholders; they replace packaged "
        "ones of the same name.",
        examples=["./my-templates"],
    )
    outcome: Annotated[Free, AfterValidator(_prompt_or_schema)] = Field(
        default=None,
        description="A prompt or a JSON Schema for a final synthesis, kept as a file next to the transcript.",
    )
    phases: Phases = Field(
        default=(),
        description="The parts of the discussion in order, instead of turns.",
        examples=[[{"name": "opening"}, {"name": "rebuttals", "rounds": 2}]],
    )
    visibility: Visibility = Field(
        default={},
        description="Whom each listener hears: lists of names by listener. Participants without a list hear everyone.",
        examples=[{"Blue": ["Chair"]}],
    )
    signals: AnySignals | None = Field(
        default=None,
        description="Measures of the conversation after each turn, and hints if it goes wrong. On by default, except "
        "in mode no-meta, which gives no hints.",
    )

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that are written, also while collaboration is off."""
        return self.collaboration.pairs if self.collaboration else ()

    @property
    def judges(self) -> tuple[HelperSettings, ...]:
        return self.judge.models if self.judge else ()

    @property
    def outside_describer(self) -> str:
        """The model type of `describe_with` if it takes no part, else nothing."""
        return "" if self.describe_with in self.models else self.describe_with or ""

    @property
    def has_tools(self) -> bool:
        return bool(self.tools and self.tools.enabled)

    def is_code_denied(self, name: str) -> bool:
        """Returns whether a participant's code may not run, even if it is not offered the tool for it."""
        approvals = (self.models[name].approval, *((self.tools.approval,) if self.tools else ()))
        return any(each.verdict("code_execution") == "deny" for each in approvals)

    @property
    def has_files(self) -> bool:
        """Whether there are files, or a person who can attach some."""
        return bool(self.input_file or self.input_files) or any(one.role == "user" for one in self.models.values())

    @property
    def speakers(self) -> list[str]:
        """The participants who take turns."""
        return [name for name, model in self.models.items() if model.role not in ("moderator", "observer")]

    @property
    def turns_in_all(self) -> int:
        everybody = len(self.speakers)
        if self.phases:
            return sum(phase.rounds * (len(phase.speakers) or everybody) for phase in self.phases)
        return self.turns * everybody

    @property
    def has_private_words(self) -> bool:
        """Whether some participant does not hear everything."""
        is_private = any(phase.visible_to is not None for phase in self.phases)
        return is_private or bool(self.visibility) or any(model.secret for model in self.models.values())

    @field_validator("goal")
    @classmethod
    def _is_given(cls, goal: str, info: ValidationInfo) -> str:
        if not goal.strip() and not info.data.get("initial_prompt", "").strip():
            raise PydanticCustomError("no_goal", "is missing: say what the discussion is about")
        return goal


class DiscussionFile(ModelFile):
    """A discussion, and how its models are reached."""

    discussion: Discussion = Field(description="The conversation.")
    base_directory: BaseDirectory = ""
