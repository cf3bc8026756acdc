"""What a model is told of its tools beside their descriptions."""

from dataclasses import replace
from functools import cache
from importlib.resources import files

from ..core.exchange import ModelRequest, ToolSpec


def first_request(request: ModelRequest, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    """Returns what a model with these tools is asked first."""
    return replace(request, system=join_texts(request.system, prompt("data") if tools else ""), tools=tools)


@cache
def prompt(name: str) -> str:
    """The packaged prompt `prompts/<name>.md`."""
    return files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()


def join_texts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
