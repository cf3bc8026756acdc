"""`--approve`: what is said on the command line of the calls of tools."""

from collections.abc import Iterator
from json import dumps
from typing import get_args

import click

from ai_battle.config import Loaded
from ai_battle.config.tools import Tools
from ai_battle.core.plugins import near
from ai_battle.tools.approval import Verdict

VERDICTS = get_args(Verdict)


def with_approval(loaded: Loaded, said: str) -> Loaded:
    """The discussion with that in `tools.approval`; raises `click.BadParameter` for a word or a tool that is none."""
    tools = loaded.file.discussion.tools
    if not said.strip():
        return loaded
    default, wanted = _parsed(said, tools or Tools(enabled=False))
    if tools is None:
        return loaded
    lists = {word: [*getattr(tools.approval, word)] for word in VERDICTS}
    for tool, verdict in wanted.items():
        for word, listed in lists.items():
            lists[word] = [name for name in listed if name != tool] + [tool] * (word == verdict)
    return loaded.changed(*_overrides(default, lists if wanted else {}))


def _overrides(default: str, lists: dict[str, list[str]]) -> Iterator[str]:
    if default:
        yield f"discussion.tools.approval.default={default}"
    for word, tools in lists.items():
        yield f"discussion.tools.approval.{word}={dumps(tools, ensure_ascii=False)}"


def _parsed(said: str, tools: Tools) -> tuple[str, dict[str, str]]:
    """The word for all tools, and those for single ones."""
    wanted: dict[str, str] = {}
    for entry in said.split(","):
        tool, equals, word = (part.strip() for part in entry.rpartition("="))
        verdict = _verdict(word)
        if equals:
            _require_known(tool, tools)
        if tool in wanted:
            raise _wrong(f"{tool or 'what holds for all tools'} is said twice")
        wanted[tool] = verdict
    return wanted.pop("", ""), wanted


def _verdict(word: str) -> str:
    if word.lower() not in VERDICTS:
        raise _wrong(f"{word!r} is none of {', '.join(VERDICTS)}{near(word.lower(), [*VERDICTS])}")
    return word.lower()


def _require_known(tool: str, tools: Tools) -> None:
    """Tools of files and servers get their names when they are loaded; there a wrong one is told of by the run."""
    known = [entry.name for entry in tools.registry]
    if tool not in known and not tools.paths and not tools.mcp.servers:
        raise _wrong(f"this discussion has no tool {tool!r}{near(tool, known)}")


def _wrong(words: str) -> click.BadParameter:
    return click.BadParameter(words, param_hint="--approve")
