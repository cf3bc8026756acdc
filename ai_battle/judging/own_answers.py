"""Answers of one's own to calibrate with: a file of JSON lines."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError
from ..core.exchange import ToolSpec
from .assessment import Context
from .calibrate import LabelledAnswer

ANSWER = ("response", "small_response", "answer")
GOOD = ("correct", "small_correct", "good")
HELPER_GOOD = ("helper_correct", "large_correct")


def read_answers(path: Path) -> list[LabelledAnswer]:
    """Each line is `{prompt, response, correct, helper_correct, tools, peers, peers_correct}`; all but two may lack.

    The names of recorded pairs (`small_response`, `small_correct`, `large_correct`) do as well. Raises `ConfigError`
    that names the line.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            answers = [_answer(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip()]
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} can't be read: it is not UTF-8") from error
    if not answers:
        raise ConfigError(f'{path} is empty: each line holds an answer, as {{"prompt": ..., "response": ...}}.')
    return answers


def _answer(line: str, where: str) -> LabelledAnswer:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where}: is no JSON: {error}") from error
    if not isinstance(row, Mapping):
        raise ConfigError(f"{where}: must be an object, not {type(row).__name__}")
    prompt, response = _text(row, ("prompt",), where), _text(row, ANSWER, where)
    context = Context(tools=tuple(_tools(row.get("tools") or (), where)))
    good, helper_good = _quality(row, GOOD, where), _quality(row, HELPER_GOOD, where)
    return LabelledAnswer(prompt, response, good, helper_good, context, *_peers(row, where))


def _peers(row: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The answers of others, and how good each is; the latter for all or none."""
    said, good = _list(row, "peers", where), _list(row, "peers_correct", where)
    if not all(isinstance(each, str) for each in said):
        raise ConfigError(f"{where}: peers must be a list of texts, what each of them answered")
    if len(good) not in (0, len(said)):
        raise ConfigError(f"{where}: peers_correct must be a list with true or false for each of peers")
    qualities = (_quality({"peers_correct": each}, ("peers_correct",), where) for each in good)
    return tuple(said), tuple(each or 0.0 for each in qualities)


def _list(row: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = row.get(name) or []
    if not isinstance(found, list):
        raise ConfigError(f"{where}: {name} must be a list of texts, what each of them answered, or of true and false")
    return found


def _text(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    found = next((row[name] for name in names if name in row), None)
    if not isinstance(found, str):
        raise ConfigError(f"{where}: {names[0]} {'is missing' if found is None else 'must be text'}")
    return found


def _quality(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> float | None:
    name = next((name for name in names if row.get(name) is not None), "")
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise ConfigError(f"{where}: {name} must be true, false or a share from 0 to 1, not {value!r}")
    return float(value)


def _tools(written: Any, where: str) -> Iterator[ToolSpec]:
    for entry in written if isinstance(written, list | tuple) else ():
        said = entry.get("function", entry) if isinstance(entry, Mapping) else entry
        if not isinstance(said, Mapping) or not isinstance(said.get("name"), str):
            raise ConfigError(f"{where}: each of tools is an object with a name")
        yield ToolSpec(said["name"], str(said.get("description") or ""), said.get("parameters") or {})
