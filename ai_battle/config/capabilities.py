"""The schema of what a model can do: `capabilities` of a participant or a helper."""

from typing import Any

from pydantic import Field

from ._values import Flag, Positive, Section


class Capabilities(Section):
    """What is said here goes before what refusals, the server or a table tell; what it can't do is not asked of it."""

    tools: Flag | None = Field(default=None, description="Native tool calls.")
    images: Flag | None = Field(default=None, description="Pictures; without, it is told where one was.")
    documents: Flag | None = Field(default=None, description="Files such as PDF.")
    reasoning: Flag | None = Field(default=None, description="Thinking before it answers.")
    json_schema: Flag | None = Field(default=None, description="Answers that follow a JSON Schema.")
    context_window: Positive | None = Field(
        default=None, description="Tokens that it can read and write at once.", examples=[32768]
    )
    max_output_tokens: Positive | None = Field(default=None, description="Tokens of its longest answer.")

    def stated(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)

    @property
    def lacking(self) -> frozenset[str]:
        return frozenset(name for name, value in self.stated().items() if value is False)
