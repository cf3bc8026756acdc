"""What a model without native tools is told of them, and how calls and results read in its conversation."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from string import Template

from ...core.exchange import ToolSpec
from ...core.messages import Message, Part, Text, ToolCall, ToolResult
from ...wire.dialects.schemas import signature

Written = Callable[[Message], str]


def instruction(name: str, tools: Iterable[ToolSpec]) -> str:
    """The packaged prompt `prompts/<name>.md` with these tools in it."""
    return _template(name).substitute(tools="\n\n".join(map(_described, tools)))


def flattened(messages: Iterable[Message], said: Written) -> tuple[Message, ...]:
    """The messages without tool blocks: calls as `said` writes the message they stand in, results as a user's text."""
    return tuple(_flat(message, said) for message in messages)


def as_prose(message: Message) -> str:
    """For a model that has no tools now: what it did before, with nothing that invites to do so again."""
    return "\n".join((*_words(message), *(f"(I called {_call(call)}.)" for call in message.tool_calls)))


def as_calls(write: Callable[[ToolCall], str]) -> Written:
    """As the instruction wants calls to be written."""
    return lambda message: "\n".join((*_words(message), *map(write, message.tool_calls)))


def as_data(result: ToolResult) -> str:
    """A result between marks that nothing in it can close."""
    text = result.text.replace("</tool_result", "<\\/tool_result")
    failed = ' error="true"' if result.is_error else ""
    return f'<tool_result tool="{result.call.name}"{failed}>\n{text}\n</tool_result>'


def _flat(message: Message, said: Written) -> Message:
    if message.tool_results:
        return Message("user", tuple(_returned(message)), message.speaker)
    if message.tool_calls:
        return Message(message.role, (Text(said(message)),), message.speaker)
    return message


def _returned(message: Message) -> Iterator[Part]:
    yield Text("\n".join(as_data(result) for result in message.tool_results))
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield from (shown for shown in part.parts if not isinstance(shown, Text))
        else:
            yield part


def _described(tool: ToolSpec) -> str:
    lines = [f"{signature(tool.name, tool.schema)}: {tool.description.strip()}"]
    required = tool.schema.get("required", ())
    for name, schema in tool.schema.get("properties", {}).items():
        if words := _about(schema):
            lines.append(f"  - {name} ({'required' if name in required else 'optional'}{words}")
    return "\n".join(lines)


def _about(schema: object) -> str:
    if not isinstance(schema, dict) or not ("description" in schema or "default" in schema):
        return ""
    default = f", default: {_json(schema['default'])}" if "default" in schema else ""
    return f"{default}): {schema.get('description', '')}".rstrip(": ")


def _words(message: Message) -> list[str]:
    return [message.text] if message.text.strip() else []


def _call(call: ToolCall) -> str:
    return f"{call.name} with {_json(call.arguments)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())
