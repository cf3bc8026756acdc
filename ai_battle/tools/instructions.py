"""The instructions that a model with tools gets, besides the tools' descriptions."""

from dataclasses import replace
from functools import cache
from importlib.resources import files

from ..core.exchange import ModelRequest, ToolSpec


def first_request(request: ModelRequest, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """Returns the first request to a model with these tools."""
    return replace(request, system=join_texts(request.system, prompt("data") if tools else ""), tools=tools)


@cache
def prompt(name: str) -> str:
    """Returns the packaged prompt `prompts/<name>.md`."""
    return files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()


def join_texts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
