"""The schema of one participant: `discussion.models.<name>`."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from ._values import AS_NUMBER, TEXT, Flag, FreeMapping, Listed, Name, Section, Short
from .capabilities import Capabilities
from .speaking import Parameters, Script, ScriptRule
from .tools import Approval

Role = Literal["human", "assistant", "moderator", "observer", "user"]
ROLES: tuple[str, ...] = get_args(Role)


def _instructions(written: Any) -> Any:
    return {"text": written} if isinstance(written, str) else written


class Instructions(Section):
    """How the participant is to behave: a text, or a packaged template filled with `params`."""

    text: str = Field(default="", description="The instructions themselves; a plain string is short for this.")
    template: str = Field(
        default="", description="Name of a packaged template.", examples=["human_system_instructions"]
    )
    params: FreeMapping = Field(default={}, description="What the template's places are filled with.")


class ParticipantSettings(Section):
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
    instructions: Annotated[Instructions, Short(_instructions, TEXT)] = Field(
        default=Instructions(), description="A text, or {template, params}."
    )
    parameters: Parameters = Field(default=Parameters(), description="Sampling parameters.")
    capabilities: Capabilities = Field(
        default=Capabilities(),
        description="What the model can do, where the built-in knowledge is wrong.",
        examples=[{"images": True}],
    )
    tools: Listed[Name] | None = Field(
        default=None, description="Which of the registered tools it may use; all by default."
    )
    approval: Approval = Field(
        default=Approval(), description="Further approval of its calls, as in tools.approval; the stricter holds."
    )
    script: Script = Field(default=(), description="Only for type scripted: what it says, in order.")
    when: Listed[ScriptRule] = Field(default=(), description="Only for type scripted: answers to what was said last.")
    loop: Flag = Field(default=False, description="Only for type scripted: start again when the script is used up.")
    pace: Annotated[float, Field(ge=0, le=60), AS_NUMBER] = Field(
        default=0, description="Only for type scripted: seconds between two words.", examples=[0.05]
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
