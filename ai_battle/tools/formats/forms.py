"""Writes tools, calls and results for models without native tools, in the form that `tool_format` names."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...core.errors import ConfigError
from ...core.exchange import ToolSpec
from ...core.files import prompt_template
from ...core.messages import Message, Part, Text, ToolCall, ToolResult
from ...core.plugins import near
from ...wire.dialects.schemas import signature

USUAL = "fenced"
WriteMessage = Callable[[Message], str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A form of calls that models are told to use by the packaged `prompt`. All forms are understood."""

    prompt: str
    write: Callable[[ToolCall], str]
    """Returns a call of an earlier turn in this form."""

    def describe(self, tools: Iterable[ToolSpec]) -> str:
        """Returns the text for the system prompt: the tools, and how to call them."""
        return instruction(self.prompt, tools)


def dialect(name: str) -> Dialect:
    """Returns the form of that name, or the default. Raises `ConfigError` with similar names."""
    if name and name not in DIALECTS:
        raise ConfigError(f"There is no tool_format {name!r}{near(name, [*DIALECTS])}")
    return DIALECTS[name or USUAL]


def _fenced_call(call: ToolCall) -> str:
    return f"```tool\n{to_json({'tool': call.name, 'parameters': call.arguments})}\n```"


def _json_line(call: ToolCall) -> str:
    return to_json({"name": call.name, "arguments": call.arguments})


def _invocation(call: ToolCall) -> str:
    """Writes parameters without quoting, which suits code."""
    given = ((name, value if isinstance(value, str) else to_json(value)) for name, value in call.arguments.items())
    parameters = "".join(f'<parameter name="{name}">{value}</parameter>\n' for name, value in given)
    return f'<function_calls>\n<invoke name="{call.name}">\n{parameters}</invoke>\n</function_calls>'


DIALECTS: Mapping[str, Dialect] = {
    "fenced": Dialect("fenced", _fenced_call),
    "json": Dialect("json_line", _json_line),
    "xml": Dialect("xml", _invocation),
}


def instruction(name: str, tools: Iterable[ToolSpec]) -> str:
    """Returns the packaged prompt `prompts/<name>.md` with these tools in it."""
    return prompt_template(__package__, name).substitute(tools="\n\n".join(map(_description, tools)))


def _description(tool: ToolSpec) -> str:
    lines = [f"{signature(tool.name, tool.schema)}: {tool.description.strip()}"]
    required = tool.schema.get("required", ())
    for name, schema in tool.schema.get("properties", {}).items():
        if isinstance(schema, dict) and ("description" in schema or "default" in schema):
            default = f", default: {to_json(schema['default'])}" if "default" in schema else ""
            is_required = "required" if name in required else "optional"
            lines.append(f"  - {name} ({is_required}{default}): {schema.get('description', '')}".rstrip(": "))
    return "\n".join(lines)


def without_tool_blocks(messages: Iterable[Message], write: WriteMessage) -> tuple[Message, ...]:
    """Returns the messages without tool blocks: calls are written by `write`, results become a user's text."""
    return tuple(_flat_messages(message, write) for message in messages)


def _flat_messages(message: Message, write: WriteMessage) -> Message:
    if message.tool_results:
        return Message("user", tuple(_result_parts(message)), message.speaker)
    if message.tool_calls:
        return Message(message.role, (Text(write(message)),), message.speaker)
    return message


def _result_parts(message: Message) -> Iterator[Part]:
    yield Text("\n".join(as_data(result) for result in message.tool_results))
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield from (inner for inner in part.parts if not isinstance(inner, Text))
        else:
            yield part


def as_prose(message: Message) -> str:
    """Describes calls in words, for a model without tools now, so that nothing invites it to call again."""
    calls = (f"(I called {call.name} with {to_json(call.arguments)}.)" for call in message.tool_calls)
    return "\n".join((*_words(message), *calls))


def as_calls(write: Callable[[ToolCall], str]) -> WriteMessage:
    """Returns a function that writes calls as the instruction demands."""
    return lambda message: "\n".join((*_words(message), *map(write, message.tool_calls)))


def _words(message: Message) -> list[str]:
    return [message.text] if message.text.strip() else []


def as_data(result: ToolResult) -> str:
    """Returns a result between marks that nothing in it can close."""
    # A page that a tool fetched could otherwise close the mark and go on in the user's voice.
    text = result.text.replace("</tool_result", "<\\/tool_result")
    failed = ' error="true"' if result.is_error else ""
    return f'<tool_result tool="{result.call.name}"{failed}>\n{text}\n</tool_result>'


def to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
