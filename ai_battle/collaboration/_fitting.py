"""Whether an answer has the form that was asked for: tool calls their schemas, JSON its own."""

import json
import re
from collections.abc import Iterator
from typing import Any

from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import ToolCall
from ..core.plugins import near
from ..wire.dialects.arguments import fit, misfit

MOST_SHOWN = 200
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.IGNORECASE | re.DOTALL)


def misfits(request: ModelRequest, response: ModelResponse) -> str:
    """What a model has to mend before anybody can use its answer; empty where there is nothing."""
    if response.tool_calls and request.tools:
        return " ".join(problem for call in response.tool_calls for problem in _of_call(call, request))
    return " ".join(_of_json(response.text, request))


def _of_call(call: ToolCall, request: ModelRequest) -> Iterator[str]:
    tools = {tool.name: tool for tool in request.tools}
    if call.name not in tools:
        yield f"There is no tool {call.name!r}{near(call.name, list(tools))}"
    elif call.malformed:
        yield f"The arguments of {call.name} are no JSON object: {call.malformed[:MOST_SHOWN]}"
    elif problems := fit(call.arguments, tools[call.name].schema).problems:
        yield misfit(call.name, tools[call.name].schema, problems)


def _of_json(text: str, request: ModelRequest) -> Iterator[str]:
    if request.output_schema is None or not text.strip():  # a call alone, or nothing, is judged elsewhere
        return
    try:
        value = _read(text)
    except (ValueError, RecursionError) as error:
        yield f"The answer is no JSON: {error}"
        return
    schema = {"type": "object", "properties": {"answer": request.output_schema}}
    if problems := fit({"answer": value}, schema).problems:
        yield f"The JSON does not fit its schema: {'; '.join(problems)}"


def _read(text: str) -> Any:
    """The JSON that a text is, or that stands in its one code block."""
    blocks = _FENCED.findall(text)
    return json.loads(blocks[0] if len(blocks) == 1 else text, strict=False)
