"""What no single key can tell: how the parts of a discussion fit together."""

from collections.abc import Iterator
from pathlib import Path as FilePath

from ..core.plugins import near
from ._reading import near_file
from .discussion import Discussion
from .inputs import InputFile
from .problems import Path, Problem
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
    yield from _mcp_servers(discussion)


def missing_files(discussion: Discussion, base: FilePath) -> Iterator[Problem]:
    """Looks at the disk, so it is asked for when the files are needed."""
    if discussion.input_file:
        yield from _missing(discussion.input_file, base, ("discussion", "input_file"))
    files = discussion.input_files
    for index, file in enumerate(files.files if files else ()):
        yield from _missing(file, base, ("discussion", "input_files", "files", index))
    if files and files.directory and not (base / FilePath(files.directory).expanduser()).is_dir():
        yield Problem(("discussion", "input_files", "directory"), f"there is no directory {files.directory!r}")


def _missing(file: InputFile, base: FilePath, path: Path) -> Iterator[Problem]:
    there = file.resolve(base)
    if there.is_dir():
        yield Problem((*path, "path"), f"{file.path!r} is a directory; input_files takes one as 'directory'")
    elif not there.is_file():
        yield Problem((*path, "path"), f"there is no file {file.path!r} in {base}{near_file(there)}")


def notes_on(file: DiscussionFile) -> Iterator[str]:
    """What is accepted, but does nothing in this version."""
    discussion = file.discussion
    if discussion.tools and discussion.tools.enabled:
        yield "discussion.tools: checked, but models can't use tools yet; this run goes without them"
    if discussion.collaboration and discussion.collaboration.enabled and discussion.collaboration.pairs:
        yield "discussion.collaboration: checked, but models don't help each other yet; this run goes without it"
    for name, participant in discussion.models.items():
        if participant.role == "user" and participant.type:
            yield f"discussion.models.{name}.type: has no effect; a user is a person at the keyboard"
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


def _mcp_servers(discussion: Discussion) -> Iterator[Problem]:
    for name, server in (discussion.tools.mcp.servers if discussion.tools else {}).items():
        if bool(server.command) == bool(server.url):
            path = ("discussion", "tools", "mcp", "servers", name)
            yield Problem(path, "an MCP server has either a command or a url")


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
