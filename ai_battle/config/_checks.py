"""What no single key can tell: how the parts of a discussion fit together."""

from collections.abc import Iterator

from ..core.plugins import near
from .discussion import Discussion
from .problems import Problem
from .schema import DiscussionFile

NOT_BUILT_YET = {
    "sandbox": "nothing runs code yet",
    "workspace": "nothing uses files yet",
    "allow_hosts": "nothing runs code yet",
    "judge": "this run is not judged",
    "goal_mode": "this run goes without",
    "outcome": "this run makes no final synthesis",
    "visibility": "everybody hears everybody",
    "signals": "this run takes no measures",
}


def check(file: DiscussionFile) -> Iterator[Problem]:
    discussion = file.discussion
    yield from _moderators(discussion)
    yield from _tools_of_participants(discussion)


def notes_on(file: DiscussionFile) -> Iterator[str]:
    """What is accepted, but does nothing in this version."""
    discussion = file.discussion
    if discussion.tools and discussion.tools.enabled:
        yield "discussion.tools: checked, but models can't use tools yet; this run goes without them"
    if discussion.collaboration and discussion.collaboration.enabled and discussion.collaboration.pairs:
        yield "discussion.collaboration: checked, but models don't help each other yet; this run goes without it"
    for key, words in NOT_BUILT_YET.items():
        if key in discussion.model_fields_set:
            yield f"discussion.{key}: accepted, but not there yet; {words}"


def _moderators(discussion: Discussion) -> Iterator[Problem]:
    moderators = [name for name, participant in discussion.models.items() if participant.role == "moderator"]
    if discussion.speaker_selection == "moderator" and not moderators:
        message = "moderator needs a participant with 'role: moderator', and there is none"
        yield Problem(("discussion", "speaker_selection"), message)
    for name in moderators[1:]:
        yield Problem(("discussion", "models", name, "role"), f"{moderators[0]!r} is the moderator already")


def _tools_of_participants(discussion: Discussion) -> Iterator[Problem]:
    tools = discussion.tools
    if tools and (tools.paths or tools.mcp.servers):
        return
    known = [tool.name for tool in tools.registry] if tools else []
    for name, participant in discussion.models.items():
        for index, tool in enumerate(participant.tools or ()):
            if tool not in known:
                path = ("discussion", "models", name, "tools", index)
                yield Problem(path, f"no tool {tool!r} is registered in discussion.tools.registry{near(tool, known)}")
