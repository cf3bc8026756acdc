"""Has pictures described to participants whose models can't see them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from ..core.errors import AIBattleError
from ..core.events import Emit, Warned
from ..core.exchange import NOTHING_USED, ModelRequest, Wants
from ..core.helping import FileDescribed
from ..core.messages import Message, Part, Text, file_of
from .participant import Participant, request_aside
from .plan import Plan
from .prompting import file_key, pictures_of, prompt
from .state import EventDispatcher

LONGEST_DESCRIPTION = 1024
"""The limit for the description of a picture, in tokens."""


async def describe_pictures(plan: Plan, describer: Participant, reader: Participant, emit: EventDispatcher) -> None:
    """Describes each file of the newest message that the reader can't see, once for all who need it."""
    for parts in chain.from_iterable(map(pictures_of, emit.state.contexts[reader.name].view.messages[-1:])):
        if _may_describe(plan, describer, parts, emit):
            await emit(await describe_file(plan, reader, parts, emit, emit.wants))
            continue
        name = file_of(parts[0])["name"]
        await emit(Warned(f"{name} is not described to {reader.name}: {describer.name} must not see it"))
        await emit(FileDescribed(name, "", NOTHING_USED, digest=file_key(parts[0])))


def _may_describe(plan: Plan, describer: Participant, parts: Sequence[Part], emit: EventDispatcher) -> bool:
    """Checks that the describer sees nothing private: a participant may be shown only what it has heard."""
    context = emit.state.contexts.get(describer.name)
    if not context or not plan.has_private_words:
        return True
    return all(part in plan.inputs for part in parts) or context.has_heard(parts)


async def describe_file(
    plan: Plan, reader: Participant, parts: Sequence[Part], emit: Emit, wants: Wants
) -> FileDescribed:
    """Asks the plan's describer what a file shows. If it fails, `emit` is warned whose description is missing."""
    assert plan.describer
    name, key = file_of(parts[0])["name"], file_key(parts[0])
    asking = replace(plan.describer, name=plan.describer.name or reader.name)
    message = Message("user", (*parts, Text(prompt("description", name=name, goal=plan.prompt))))
    options = {**asking.parameters, "max_tokens": LONGEST_DESCRIPTION}
    request = ModelRequest((message,), tool_choice="none", options=options)
    answer, usage = await request_aside(asking, request, emit, wants)
    if isinstance(answer, AIBattleError):
        await emit(Warned(f"{name} could not be described to {reader.name}: {answer}"))
        return FileDescribed(name, "", usage, digest=key)
    return FileDescribed(name, answer.text.strip(), usage, answer.model, key)
