"""The packaged prompts of this room, and texts of others marked as what they are: data."""

import json
import re
from functools import cache
from importlib.resources import files
from string import Template

from ..core.messages import ToolCall

SECTIONS = (
    "instructions", "history", "prompt", "attempt", "check", "tools", "done", "done_since",
    "advice", "criticism", "correction",
)  # fmt: skip


def filled(name: str, **values: str) -> str:
    """`prompts/<name>.md` with its places filled; what is filled in is not looked at again."""
    return _template(name).substitute(values)


def marked(tag: str, text: str) -> str:
    """The text between tags that nothing inside of it can close or open; nothing for no text."""
    return f"<{tag}>\n{_tags(tag).sub('&lt;', text).strip()}\n</{tag}>" if text.strip() else ""


def shortened(text: str, characters: int) -> str:
    """Head and tail of a text that is longer, and how much is left out between them."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def arguments_text(call: ToolCall) -> str:
    """The arguments as JSON; those that were none, as they came."""
    return call.malformed or json.dumps(dict(call.arguments), ensure_ascii=False, default=str)


@cache
def _tags(tag: str) -> re.Pattern[str]:
    """Where such a tag, or that of another section, begins."""
    return re.compile(rf"<(?=\s{{0,3}}/?\s{{0,3}}(?:{'|'.join((tag, *SECTIONS))})\b)", re.IGNORECASE)


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())
