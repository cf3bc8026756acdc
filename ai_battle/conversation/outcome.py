"""Requests the final synthesis that `outcome` asks for, as text or as JSON by a schema, and saves it as a file."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_core import from_json

from ..core.errors import AIBattleError, JournalError
from ..core.events import Concluded, Warned
from ..core.exchange import ModelRequest
from ..core.files import write_private
from ..core.texts import contain_markdown
from .participant import Participant, request_aside
from .prompting import prompt, with_note
from .state import EventDispatcher

Wanted: TypeAlias = str | Mapping[str, Any]

TEXT, JSON = "outcome.md", "outcome.json"


async def conclusion(
    participant: Participant, request: ModelRequest, wanted: Wanted, emit: EventDispatcher
) -> Concluded:
    """Returns the participant's outcome. If there is no answer it is empty, with a warning."""
    answer, usage = await request_aside(participant, outcome_request(request, wanted), emit, emit.wants)
    if isinstance(answer, AIBattleError):
        await emit(Warned(f"There is no outcome, because {participant.name} gave no answer: {answer}"))
        return Concluded(participant.name, "", usage)
    text = answer.text.strip()
    if not isinstance(wanted, str):
        text = json_in(text) or text
        if file_name(text) != JSON:
            await emit(Warned(f"The outcome of {participant.name} is not JSON; it is kept unchanged in {TEXT}."))
    return Concluded(participant.name, text, usage, answer.model)


def outcome_request(request: ModelRequest, wanted: Wanted) -> ModelRequest:
    """Appends the request for an outcome. A JSON Schema is also passed on, for APIs that support it."""
    if isinstance(wanted, str):
        note = prompt("outcome", wanted=wanted.strip())
        return replace(request, messages=with_note(request.messages, note), tool_choice="none")
    note = prompt("outcome_json", schema=json.dumps(wanted, ensure_ascii=False))
    return replace(request, messages=with_note(request.messages, note), tool_choice="none", output_schema=wanted)


def json_in(text: str) -> str:
    """Extracts the JSON object or list from an answer; empty if there is none."""
    for opening, closing in ("{}", "[]"):
        fragment = text[text.find(opening) : text.rfind(closing) + 1] if opening in text else ""
        if (value := _parse_json(fragment)) is not None:
            return json.dumps(value, ensure_ascii=False, indent=2)
    return ""


def file_name(text: str) -> str:
    return TEXT if _parse_json(text) is None else JSON


def keep(run_dir: Path, text: str) -> None:
    """Writes the file atomically; writing it again changes nothing. Raises `JournalError`."""
    if not text:
        return
    path = run_dir / file_name(text)
    try:
        write_private(path, [f"{text if path.suffix == '.json' else contain_markdown(text, lowered=0)}\n"])
    except OSError as error:
        raise JournalError(f"{path} can't be written: {error.strerror}.") from error


def _parse_json(text: str) -> Any:
    """Parses a JSON object or list; returns None for anything else."""
    try:
        value = from_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None
