"""The tools of one discussion: which there are, and clients that use them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..config.discussion import Discussion
from ..config.tools import Approval, Tools
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ToolSpec
from ..core.plugins import near
from . import loading
from .approval import Ask, Consent, Person
from .base import Tool
from .checking import ToolCheck
from .client import ToolCapableClient
from .formats.auto import Auto, Memory
from .formats.forms import dialect
from .limits import CALLS, RunnerLimits
from .manager import ToolManager
from .mcp.servers import McpServers
from .registry import ToolRegistry

WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Knows:
    """What is known of a model: whether its API has tools (None: nobody knows), and what it refused before."""

    native: bool | None
    memory: Memory
    known_as: tuple[str, str]


FREE = Approval()


@dataclass(frozen=True, slots=True)
class User:
    """A participant who uses tools: `only` some of them (None: all), and what the file says of its calls."""

    name: str
    only: Collection[str] | None = None
    approval: Approval = FREE


class Outfit:
    """Clients can be made before the tools are: those need to know where the run is kept.

    `ask` puts a call to a person, where one has to be asked.
    """

    def __init__(
        self, said: Discussion, base: Path, *, allow_unsandboxed: bool = False, ask: Ask | None = None
    ) -> None:
        settings = settled(said)
        self._servers: McpServers | None = None
        self._clients: dict[str, ToolCapableClient] = {}
        self._users: list[tuple[ToolRegistry, User]] = []
        self._settings = settings
        self._limits = limits_of(settings)
        self._person = Person(ask)
        self._place = loading.Place(
            base / Path(settings.workspace).expanduser(),
            base,
            settings.sandbox,
            allow_unsandboxed,
            settings.allow_hosts,
        )

    def client(self, model: ModelClient, knows: Knows, user: User) -> ModelClient:
        """`model` with the tools of `user`, told of them in the way that suits it."""
        registry = ToolRegistry()
        self._users.append((registry, user))
        said = self._settings
        way = Auto(
            model,
            said.calling,
            native=knows.native,
            memory=knows.memory,
            known_as=knows.known_as,
            tool_format=said.tool_format,
        )
        consent = self._consent(user)
        client = ToolCapableClient(way, ToolManager(registry), self._limits, consent=consent)
        self._clients[user.name] = client
        return client

    def check(self, tool: str, user: User) -> ToolCheck:
        """A tool that checks answers of `user`, who need not be offered it."""
        registry = ToolRegistry()
        self._users.append((registry, replace(user, only=(tool,))))
        return ToolCheck(tool, ToolManager(registry), self._limits, self._consent(user))

    def _consent(self, user: User) -> Consent:
        return Consent(user.name, (self._settings.approval, user.approval), self._person)

    def offered(self, name: str) -> tuple[ToolSpec, ...]:
        """The tools that a participant is offered now."""
        return self._clients[name].offered if name in self._clients else ()

    async def equip(self, run_dir: Path, emit: Emit = ignore) -> None:
        """Makes the tools and starts the servers of others; raises `ConfigError`.

        Without a workspace of the file, theirs is in the run directory. `emit` hears what the user should know.
        """
        own = replace(self._place, run_dir=run_dir)
        if not self._settings.workspace:
            own = replace(own, workspace=run_dir / WORKSPACE)
        for tool in loading.build(self._settings, own):
            self.register_tool(tool)
        if servers := self._settings.mcp.servers:
            self._servers = await McpServers(servers, self, self._place.base, emit).__aenter__()
        for name in self._unknown():
            await emit(Warned(f"approval names {name!r}, and there is no such tool{near(name, self._names())}"))

    async def aclose(self) -> None:
        """Stops what was started."""
        if self._servers:
            await self._servers.aclose()

    def register_tool(self, tool: Tool) -> None:
        """Gives it to all who may use it."""
        for registry, user in self._users:
            if user.only is None or tool.name in user.only:
                registry.register_tool(tool)

    def unregister_tool(self, name: str) -> None:
        for registry, _ in self._users:
            if name in registry:
                registry.unregister_tool(name)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for registry, _ in self._users for name in registry.names))

    def _unknown(self) -> list[str]:
        """What is said of tools that are none: of files and servers it is known only now."""
        said = (self._settings.approval, *(user.approval for _, user in self._users))
        named = dict.fromkeys(name for one in said for name in one.named)
        known = {*self._names(), *(entry.name for entry in self._settings.registry)}
        return [name for name in named if name not in known]


def settled(said: Discussion) -> Tools:
    """The section of tools, with what the discussion says of itself where the section leaves it open."""
    tools = said.tools or Tools(enabled=False)
    around = {"sandbox": said.sandbox, "workspace": said.workspace, "allow_hosts": said.allow_hosts}
    open_ = {key: value for key, value in around.items() if value and key not in tools.model_fields_set}
    return tools.model_copy(update=open_)


def problems(settings: Tools, base: Path) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the section, by place; code that the file names is not imported."""
    place = loading.Place(base / WORKSPACE, base)
    there = loading.builtin_names()
    for index, entry in enumerate(settings.registry):
        if not entry.enabled or "." in entry.name or (settings.paths and entry.name not in there):
            continue
        try:
            loading.by_name(entry.name, entry.parameters, place)
        except ConfigError as error:
            yield ("registry", index), str(error)
    try:
        dialect(settings.tool_format)
    except ConfigError as error:
        yield ("tool_format",), str(error)


def limits_of(settings: Tools) -> RunnerLimits:
    """Those of one answer."""
    runner = settings.runner
    return RunnerLimits(
        runner.max_rounds, runner.allow_chaining, runner.summarize_threshold, runner.backoff_seconds, calls=CALLS
    )
