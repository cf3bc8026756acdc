"""What no single key can tell: how the parts of a discussion fit together."""

from collections.abc import Iterator, Sequence

from ..core.plugins import near
from .discussion import Discussion
from .participants import ParticipantSettings
from .problems import Path, Problem
from .tools import Approval, McpServer, Tools

DECIDING = ("threshold", "help_rate", "max_cost", "calibration")
SAYING = {"say", "think", "call", "fail"}
OF_PROGRAMS, OF_ADDRESSES = {"args", "cwd", "env"}, {"headers"}


def check(discussion: Discussion) -> Iterator[Problem]:
    yield from _moderators(discussion)
    yield from _one_decides(discussion)
    for name, participant in discussion.models.items():
        path = ("discussion", "models", name)
        yield from _script(participant, path)
        yield from _allowed_tools(participant, discussion.tools, path)
        yield from _approved_tools(participant.approval, discussion.tools, (*path, "approval"))
    if discussion.tools:
        yield from _approved_tools(discussion.tools.approval, discussion.tools, ("discussion", "tools", "approval"))
        yield from _registered_once(discussion.tools)
        yield from _mcp_servers(discussion.tools)


def _one_decides(discussion: Discussion) -> Iterator[Problem]:
    """What decides that a model is stuck: one of these."""
    section = discussion.collaboration
    for index, pair in enumerate(section.pairs if section else ()):
        said = [key for key in DECIDING if key in pair.model_fields_set]
        for key in said[1:]:
            path = ("discussion", "collaboration", "pairs", index, key)
            yield Problem(path, f"{said[0]} decides already when help is due; leave one of the two out")


def _moderators(discussion: Discussion) -> Iterator[Problem]:
    moderators = [name for name, participant in discussion.models.items() if participant.role == "moderator"]
    if discussion.speaker_selection == "moderator" and not moderators:
        message = "moderator needs a participant with 'role: moderator', and there is none"
        yield Problem(("discussion", "speaker_selection"), message)
    for name in moderators[1:]:
        yield Problem(("discussion", "models", name, "role"), f"{moderators[0]!r} is the moderator already")
    if all(participant.role in ("moderator", "observer") for participant in discussion.models.values()):
        yield Problem(("discussion", "models"), "needs a participant who is neither moderator nor observer")


def _script(participant: ParticipantSettings, path: Path) -> Iterator[Problem]:
    if participant.is_scripted and participant.role != "user" and not participant.script and not participant.when:
        yield Problem((*path, "script"), "is missing: a scripted participant says what stands there")
    for key, entries in (("script", participant.script), ("when", participant.when)):
        for index, entry in enumerate(entries):
            if not SAYING & entry.model_fields_set:
                yield Problem((*path, key, index), "says nothing; it needs one of say, think, call, fail")


def _allowed_tools(participant: ParticipantSettings, tools: Tools | None, path: Path) -> Iterator[Problem]:
    yield from _unregistered(participant.tools or (), tools, (*path, "tools"))


def _approved_tools(approval: Approval, tools: Tools | None, path: Path) -> Iterator[Problem]:
    for key in ("allow", "ask", "deny"):
        yield from _unregistered(getattr(approval, key), tools, (*path, key))


def _unregistered(named: Sequence[str], tools: Tools | None, path: Path) -> Iterator[Problem]:
    """Tools of files and servers get their names when they are loaded, so they can't be checked here."""
    tools = tools or Tools()
    if tools.paths or tools.mcp.servers:
        return
    known = [tool.name for tool in tools.registry]
    for index, tool in enumerate(named):
        if tool not in known:
            message = f"no tool {tool!r} is registered in discussion.tools.registry{near(tool, known)}"
            yield Problem((*path, index), message)


def _registered_once(tools: Tools) -> Iterator[Problem]:
    names = [tool.name for tool in tools.registry]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(("discussion", "tools", "registry", index), f"{name!r} is registered above already")


def _mcp_servers(tools: Tools) -> Iterator[Problem]:
    for name, server in tools.mcp.servers.items():
        path = ("discussion", "tools", "mcp", "servers", name)
        if ":" in name:
            yield Problem(path, "its tools are named server:tool, so the name of a server has no colon")
        if bool(server.command) == bool(server.url):
            yield Problem(path, "an MCP server has either a command or a url")
        else:
            yield from _mcp_server(path, server)


def _mcp_server(path: Path, server: McpServer) -> Iterator[Problem]:
    kind, others = ("a command", OF_ADDRESSES) if server.command else ("a url", OF_PROGRAMS)
    for key in sorted(server.model_fields_set & others):
        yield Problem((*path, key), f"does not go with {kind}")
    if server.url and not server.url.startswith(("http://", "https://")):
        yield Problem((*path, "url"), "an MCP server is reached by http:// or https://")
