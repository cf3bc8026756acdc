"""Loads a discussion and checks what concerns several keys: how parts fit together, and what has no effect."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core.plugins import near
from . import phases
from .collaboration import HelperSettings
from .discussion import Discussion, DiscussionFile
from .documents import ConfigDocument, FileKind, Origin, Source, check_document, find_nothing, read_document
from .judge import judge_problems
from .participants import ParticipantSettings
from .problems import KeyPath, Problem
from .rewriting import TOP_KEYS, append_to, apply_overrides, update_spellings
from .tools import Approval, McpServer, Tools
from .tree import Node, from_python

DECISION_KEYS = ("threshold", "help_rate", "max_cost", "calibration")
SAYING = {"say", "think", "call", "fail"}
PROGRAM_KEYS, ADDRESS_KEYS = {"args", "cwd", "env"}, {"headers"}


@dataclass(frozen=True, slots=True)
class LoadedDiscussion(ConfigDocument):
    """A checked discussion."""

    file: DiscussionFile = field(repr=False)
    made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Models created during the check, by participant. The first run that creates them takes these."""
    read: list[Any] = field(default_factory=list, repr=False, compare=False)
    """Input files read during the check. The first run takes these, too."""

    def with_overrides(self, *overrides: str) -> "LoadedDiscussion":
        """Returns the same with further `path=value`, without reading the file again. Raises `ConfigError`."""
        return self._reload(self.tree, overrides)

    def with_pair(self, pair: Mapping[str, Any], also: "Check") -> "LoadedDiscussion":
        """Returns the same with another pair of models. Raises `ConfigError` with all its problems."""
        enabled = apply_overrides(self.tree, ("discussion.collaboration.enabled=true",), DiscussionFile)
        tree = append_to(enabled, ("discussion", "collaboration", "pairs"), from_python(pair))
        return self._reload(tree, (), also)

    def with_sections_of(self, other: Node, also: "Check" = find_nothing) -> "LoadedDiscussion":
        """Returns the same with the providers, prices and context sizes of another file that this one does not state.

        Raises `ConfigError` with all problems.
        """
        tree = self.tree
        for key in TOP_KEYS:
            shared, own = other.child(key) or Node({}), tree.child(key) or Node({})
            both = Node({**shared.value, **own.value}, own.place, {**shared.keys, **own.keys})
            tree = tree.with_child(key, both)
        return self._reload(tree, (), also)

    def _reload(self, tree: Node, overrides: Sequence[str], also: "Check" = find_nothing) -> "LoadedDiscussion":
        origin = Origin(tree, [], self.base, self.name, self.shown)
        again = check_document(DISCUSSION, origin, self.environment, overrides, also)
        return replace(again, notes=tuple(dict.fromkeys((*self.notes, *again.notes))))


Check = Callable[[LoadedDiscussion], Iterable[Problem]]


def load(
    source: Source,
    environment: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
    base: Path | None = None,
    also: Check = find_nothing,
) -> LoadedDiscussion:
    """Loads and checks a discussion. Raises `ConfigError` with all problems.

    `source` is a path, the name of a packaged configuration, or a dictionary. `overrides` are `path=value`. `base` is
    where relative paths start and `.env` is read, by default the folder of the file. `also` finds further problems.
    """
    return read_document(DISCUSSION, source, environment, overrides, base, also)


def _problems(file: DiscussionFile) -> Iterator[Problem]:
    discussion = file.discussion
    known = _tool_names(discussion.tools or Tools())
    yield from _moderators(discussion)
    yield from _one_decides(discussion)
    yield from phases.problems(discussion)
    for name, participant in discussion.models.items():
        path: KeyPath = ("discussion", "models", name)
        yield from _script(participant, path)
        yield from _unknown_tools(participant.tools or (), known, (*path, "tools"))
        yield from _approved_tools(participant.approval, known, (*path, "approval"))
    for path, helper in _helpers(discussion):
        yield from _unknown_tools(helper.tools or (), known, (*path, "tools"))
    yield from _listening_helpers(discussion)
    if discussion.judge:
        yield from judge_problems(discussion.judge, ("discussion", "judge"))
    if discussion.tools:
        yield from _approved_tools(discussion.tools.approval, known, ("discussion", "tools", "approval"))
        yield from _duplicate_tools(discussion.tools)
        yield from _mcp_servers(discussion.tools)


def _helpers(discussion: Discussion) -> Iterator[tuple[KeyPath, HelperSettings]]:
    for index, pair in enumerate(discussion.pairs):
        for key in ("secondary", "models", "peers"):
            for number, helper in enumerate(getattr(pair, key)):
                yield ("discussion", "collaboration", "pairs", index, key, number), helper


def _listening_helpers(discussion: Discussion) -> Iterator[Problem]:
    """Yields a problem for each helper that takes part and would be shown words kept from it."""
    for path, helper in _helpers(discussion) if discussion.has_private_words else ():
        if helper.type in discussion.models:
            words = (
                f"{helper.type!r} takes part, and would be shown words that are kept from it; name a model by its type"
            )
            yield Problem(path, words)


def _tool_names(tools: Tools) -> list[str] | None:
    """Returns the names of tools, or None if files and servers define some when they are loaded."""
    return None if tools.paths or tools.mcp.servers else [tool.name for tool in tools.registry]


def _one_decides(discussion: Discussion) -> Iterator[Problem]:
    """Yields a problem for each pair in which several keys decide when a model is stuck."""
    for index, pair in enumerate(discussion.pairs):
        first, *others = [key for key in DECISION_KEYS if key in pair.model_fields_set] or [""]
        for key in others:
            path = ("discussion", "collaboration", "pairs", index, key)
            yield Problem(path, f"{first} already decides when help is due; leave one of the two out")


def _moderators(discussion: Discussion) -> Iterator[Problem]:
    moderators = [name for name, participant in discussion.models.items() if participant.role == "moderator"]
    if discussion.speaker_selection == "moderator" and not moderators:
        message = "moderator needs a participant with 'role: moderator', and there is none"
        yield Problem(("discussion", "speaker_selection"), message)
    for name in moderators[1:]:
        yield Problem(("discussion", "models", name, "role"), f"{moderators[0]!r} is already the moderator")
    if not discussion.speakers:
        yield Problem(("discussion", "models"), "needs a participant who is neither moderator nor observer")


def _script(participant: ParticipantSettings, path: KeyPath) -> Iterator[Problem]:
    if participant.is_scripted and participant.role != "user" and not participant.script and not participant.when:
        yield Problem((*path, "script"), "is missing: a scripted participant says what is written there")
    for key, entries in (("script", participant.script), ("when", participant.when)):
        for index, entry in enumerate(entries):
            if not SAYING & entry.model_fields_set:
                yield Problem((*path, key, index), "is empty; it needs one of say, think, call, fail")


def _approved_tools(approval: Approval, known: list[str] | None, path: KeyPath) -> Iterator[Problem]:
    for key in ("allow", "ask", "deny"):
        yield from _unknown_tools(getattr(approval, key), known, (*path, key))


def _unknown_tools(named: Sequence[str], known: list[str] | None, path: KeyPath) -> Iterator[Problem]:
    for index, tool in enumerate(named):
        if known is not None and tool not in known:
            message = f"no tool {tool!r} is registered in discussion.tools.registry{near(tool, known)}"
            yield Problem((*path, index), message)


def _duplicate_tools(tools: Tools) -> Iterator[Problem]:
    names = [tool.name for tool in tools.registry]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(("discussion", "tools", "registry", index), f"{name!r} is already registered above")


def _mcp_servers(tools: Tools) -> Iterator[Problem]:
    for name, server in tools.mcp.servers.items():
        path = ("discussion", "tools", "mcp", "servers", name)
        if ":" in name:
            yield Problem(path, "its tools are named server:tool, so the name of a server has no colon")
        if bool(server.command) == bool(server.url):
            yield Problem(path, "an MCP server has either a command or a url")
        else:
            yield from _mcp_server(path, server)


def _mcp_server(path: KeyPath, server: McpServer) -> Iterator[Problem]:
    kind, others = ("a command", ADDRESS_KEYS) if server.command else ("a url", PROGRAM_KEYS)
    for key in sorted(server.model_fields_set & others):
        yield Problem((*path, key), f"does not go with {kind}")
    if server.url and not server.url.startswith(("http://", "https://")):
        yield Problem((*path, "url"), "an MCP server is reached by http:// or https://")


def _notes(file: DiscussionFile) -> Iterator[str]:
    """Yields notes on keys that are accepted but have no effect, so that their author does not wait for one."""
    discussion = file.discussion
    yield from _notes_on_tools(discussion)
    yield from _notes_on_pairs(discussion)
    if discussion.execution.parallel and discussion.speaker_selection != "round_robin":
        yield "discussion.speaker_selection: has no effect with 'execution.parallel', where all answer at once"
    yield from _notes_on_participants(discussion)
    yield from phases.notes(discussion)
    if discussion.mode == "no-meta" and discussion.goal_mode != "discuss":
        yield "discussion.goal_mode: has no effect with 'mode: no-meta', which sends no instructions"


def _notes_on_tools(discussion: Discussion) -> Iterator[str]:
    tools = discussion.tools
    if tools and tools.enabled:
        if tools.tool_format and tools.calling in ("native", "json"):
            yield f"discussion.tools.tool_format: has no effect with 'calling: {tools.calling}'"
        return
    for key in filter(discussion.model_fields_set.__contains__, ("sandbox", "workspace", "allow_hosts")):
        yield f"discussion.{key}: has no effect without tools"
    for name, participant in discussion.models.items():
        if "approval" in participant.model_fields_set:
            yield f"discussion.models.{name}.approval: has no effect without tools"


def _notes_on_participants(discussion: Discussion) -> Iterator[str]:
    for name, participant in discussion.models.items():
        if participant.role == "user" and participant.type:
            yield f"discussion.models.{name}.type: has no effect; a user is a person at the keyboard"
        elif not participant.is_scripted and (participant.script or participant.when):
            yield f"discussion.models.{name}.script: has no effect; only 'type: scripted' plays one"


def _notes_on_pairs(discussion: Discussion) -> Iterator[str]:
    """Yields a note for each pair whose retries have no effect, since the expected gain decides."""
    section = discussion.collaboration
    for index, pair in enumerate(section.pairs if section and section.enabled else ()):
        beside = next((key for key in DECISION_KEYS if key != "threshold" and key in pair.model_fields_set), "")
        if beside and "max_retries" in pair.model_fields_set:
            key = f"discussion.collaboration.pairs[{index}].max_retries"
            yield f"{key}: has no effect beside {beside}, which leaves one attempt before help"


DISCUSSION = FileKind(
    "discussion",
    LoadedDiscussion,
    DiscussionFile,
    lambda tree, variables: update_spellings(tree),
    _problems,
    _notes,
    lambda file: file.discussion.allow_secrets,
)
