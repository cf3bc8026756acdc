"""What each participant is told before anybody has spoken: a system prompt, and the message that opens the run."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from ..core.errors import ConfigError
from ..core.messages import Message, Text
from ..core.plugins import near
from .participant import Participant
from .perspective import Naming
from .plan import Plan

TEMPLATES = ("ai_assistant_instructions", "goal_oriented_instructions", "human_system_instructions")
OTHER_NAMES = {"ai_system_instructions": "ai_assistant_instructions"}


def prompt(name: str, /, **places: str) -> str:
    """The packaged prompt `prompts/<name>.md`, filled."""
    return _template(name).substitute(places)


def instructions(template: str, params: Mapping[str, Any]) -> str:
    """A packaged template of instructions, filled; raises `ConfigError` that names what is unknown or missing.

    Parameters that it has no place for are left out; `without_place` names them.
    """
    places = _places(template)
    if missing := [place for place in places if place not in params]:
        given = f"; given: {', '.join(map(repr, params))}" if params else ""
        raise ConfigError(f"the template {template} needs the parameter {', '.join(map(repr, missing))}{given}")
    return prompt(_file_of(template), **{name: str(params[name]) for name in places})


def without_place(template: str, params: Iterable[str]) -> list[str]:
    """The parameters that a template does not use; raises `ConfigError` where there is no such template."""
    places = _places(template)
    return [name for name in params if name not in places]


def opening(plan: Plan) -> Message:
    """The first message of the discussion: the input files, and what it is about."""
    return Message("user", (*plan.inputs, Text(plan.prompt)))


def system_prompt(plan: Plan, participant: Participant) -> str:
    """Role, persona (verbatim), instructions and facts; empty for `no-meta`, where the prompt is all there is."""
    return "" if plan.mode == "no-meta" else "\n\n".join(filter(None, _sections(plan, participant)))


def naming(plan: Plan) -> Naming:
    if plan.mode == "no-meta":
        return "nameless"
    return "plain" if len(plan.participants) == 2 else "prefixed"


def with_note(messages: tuple[Message, ...], note: str) -> tuple[Message, ...]:
    """The same request with a note at its end, which is for this one answer and stays in nobody's memory."""
    *earlier, last = messages
    return (*earlier, Message(last.role, (*last.parts, Text(f"\n\n{note}")), last.speaker))


def role_prompt(mode: str, role: str, name: str) -> str:
    """What a participant is told of its part."""
    if role in ("moderator", "observer"):
        return prompt(role, name=name)
    if mode == "ai-ai":
        return prompt("peer", name=name)
    return prompt("human" if role in ("human", "user") else "assistant", name=name)


def _sections(plan: Plan, participant: Participant) -> Iterable[str]:
    yield role_prompt(plan.mode, _side(plan, participant), participant.name)
    if len(plan.participants) > 2:
        yield prompt("voices", names=", ".join(p.name for p in plan.participants))
    if plan.goal.strip() not in ("", plan.prompt):
        yield f"# Goal\n{plan.goal.strip()}"
    if participant.persona:
        yield f"# Who you are\n{participant.persona}"
    if participant.instructions:
        yield f"# Instructions\n{participant.instructions}"
    if plan.established_facts:
        yield f"# Established facts\n{_facts(plan.established_facts)}"


def _side(plan: Plan, participant: Participant) -> str:
    if participant.role in ("moderator", "observer"):
        return participant.role
    return "human" if participant == plan.human_side else "assistant"


def _facts(facts: Any) -> str:
    if isinstance(facts, Mapping):
        return "\n".join(f"- {name}: {_fact(value)}" for name, value in facts.items())
    if isinstance(facts, list | tuple):
        return "\n".join(f"- {_fact(value)}" for value in facts)
    return _fact(facts)


def _fact(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _file_of(template: str) -> str:
    return OTHER_NAMES.get(template, template)


def _places(template: str) -> list[str]:
    if _file_of(template) not in TEMPLATES:
        raise ConfigError(f"there is no template {template!r}{near(template, [*TEMPLATES])}")
    return _template(_file_of(template)).get_identifiers()


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())
