"""The instructions that a model with tools gets, besides the tools' descriptions."""

from dataclasses import replace

from ..core.exchange import ModelRequest, ToolSpec
from ..core.files import prompt_template


def first_request(request: ModelRequest, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """Returns the first request to a model with these tools."""
    return replace(request, system=join_texts(request.system, prompt("data") if tools else ""), tools=tools)


def prompt(name: str) -> str:
    """Returns the packaged prompt `prompts/<name>.md`."""
    return prompt_template(__package__, name).template


def join_texts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
