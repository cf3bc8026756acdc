"""Tools by text alone: an instruction that tells of them, and answers in which the calls are run."""

from ...core.messages import ToolResult
from ...wire.dialects.reader import read
from ...wire.dialects.reading import Reading
from ..manager import ToolManager
from . import fenced
from .describing import as_data

INVALID = "Note: I tried to use a tool, but the request could not be used: "


class ToolUseProtocol:
    """For programs that only have strings. Discussions use `ToolCapableClient`, which lets the model go on."""

    def __init__(self, tool_manager: ToolManager) -> None:
        self.tool_manager = tool_manager

    def create_tool_use_instruction(self) -> str:
        """What a system prompt has to say so that a model knows the tools and how to call them."""
        return fenced.describe(self.tool_manager.registry.specs)

    async def process_response(self, response: str) -> str:
        """The response with results in place of its calls. It is read once: a call in a result stays text."""
        reading = read(response, self.tool_manager.registry.specs)
        if not reading.spans:
            return response
        results = [await self.tool_manager.run(call) for call in reading.calls]
        said = (reading.prose.strip(), *map(_used, results), *_complaints(reading))
        return "\n\n".join(text for text in said if text)


def _used(result: ToolResult) -> str:
    return f"I used the {result.call.name} tool. Tool Response:\n{as_data(result)}"


def _complaints(reading: Reading) -> list[str]:
    return [f"{INVALID}{issue}" for issue in reading.issues if issue.kind != "quoted"]
