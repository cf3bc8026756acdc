"""The instructions that a model with tools gets, besides the tools' descriptions."""

from collections.abc import Iterable
from dataclasses import replace

from ..core.exchange import ModelRequest, ToolSpec
from ..core.files import prompt_template


def first_request(request: ModelRequest, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """Returns the first request to a model with these tools."""
    return replace(request, system=join_texts(request.system, instructions(tools) if tools else ""), tools=tools)


def instructions(tools: Iterable[ToolSpec]) -> str:
    """Returns what a model with these tools is told in its system prompt: their guides, and how to read results."""
    return join_texts(*dict.fromkeys(tool.guide for tool in tools), prompt("data"))


def prompt(name: str) -> str:
    """Returns the packaged prompt `prompts/<name>.md`."""
    return prompt_template(__package__, name).template


def join_texts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
