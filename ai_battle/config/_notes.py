"""What is accepted but has no effect: said once at the start, so that nobody waits for it."""

from collections.abc import Iterator

from .discussion import Discussion
from .participants import ParticipantSettings

NOT_BUILT_YET = {
    "judge": "this run is not judged",
    "goal_mode": "this run goes without",
    "visibility": "everybody hears everybody",
    "signals": "this run takes no measures",
}

BY_GAIN = ("help_rate", "max_cost", "calibration")
"""What decides by the expected gain of help, so that trying again first would change it."""


def notes_on(discussion: Discussion) -> Iterator[str]:
    yield from _on_tools(discussion)
    yield from _on_pairs(discussion)
    if discussion.execution.parallel and discussion.speaker_selection != "round_robin":
        yield "discussion.speaker_selection: has no effect with 'execution.parallel', where all answer at once"
    for name, participant in discussion.models.items():
        yield from (f"discussion.models.{name}.{words}" for words in _on_participant(participant))
    for key, words in NOT_BUILT_YET.items():
        if key in discussion.model_fields_set:
            yield f"discussion.{key}: accepted, but not there yet; {words}"


def _on_tools(discussion: Discussion) -> Iterator[str]:
    tools = discussion.tools
    if not tools or not tools.enabled:
        yield from _without_tools(discussion)
    elif tools.tool_format and tools.calling in ("native", "json"):
        yield f"discussion.tools.tool_format: has no effect with 'calling: {tools.calling}'"


def _without_tools(discussion: Discussion) -> Iterator[str]:
    for key in ("sandbox", "workspace", "allow_hosts"):
        if key in discussion.model_fields_set:
            yield f"discussion.{key}: has no effect without tools"
    for name, participant in discussion.models.items():
        if "approval" in participant.model_fields_set:
            yield f"discussion.models.{name}.approval: has no effect without tools"


def _on_pairs(discussion: Discussion) -> Iterator[str]:
    section = discussion.collaboration
    for index, pair in enumerate(section.pairs if section and section.enabled else ()):
        beside = next((key for key in BY_GAIN if key in pair.model_fields_set), "")
        if beside and "max_retries" in pair.model_fields_set:
            key = f"discussion.collaboration.pairs[{index}].max_retries"
            yield f"{key}: has no effect beside {beside}, which leaves one attempt before help"


def _on_participant(participant: ParticipantSettings) -> Iterator[str]:
    if participant.role == "user" and participant.type:
        yield "type: has no effect; a user is a person at the keyboard"
    elif not participant.is_scripted and (participant.script or participant.when):
        yield "script: has no effect; only 'type: scripted' plays one"
