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
from .approval import Approver, Ask, Consent
from .base import Tool, ToolRegistry
from .calls import RunnerLimits
from .checking import ToolCheck
from .client import ToolCapableClient
from .formats.auto import Auto, Calling, RefusalStore
from .formats.forms import dialect
from .manager import ToolManager
from .mcp import McpServers

WORKSPACE = "workspace"
NO_APPROVAL = Approval()


@dataclass(frozen=True, slots=True)
class ToolSupport:
    """What is known of a model: whether its API has tools (None: nobody knows), and what it refused before."""

    native: bool | None
    memory: RefusalStore
    known_as: tuple[str, str]

    def client_of(self, model: ModelClient, calling: Calling = "auto", tool_format: str = "") -> Auto:
        """Return the model, told of tools in the way that suits it."""
        return Auto(
            model, calling, native=self.native, memory=self.memory, known_as=self.known_as, tool_format=tool_format
        )


@dataclass(frozen=True, slots=True)
class ToolUser:
    """A participant who uses tools: `only` some of them (None: all), and what the file says of its calls."""

    name: str
    only: Collection[str] | None = None
    approval: Approval = NO_APPROVAL

    def may_use(self, tool: str) -> bool:
        return self.only is None or tool in self.only


class ToolSet:
    """Clients can be made before the tools are: those need to know where the run is kept.

    `ask` puts a call to a person, where one has to be asked.
    """

    def __init__(
        self, said: Discussion, base: Path, *, allow_unsandboxed: bool = False, ask: Ask | None = None
    ) -> None:
        settings = self._settings = tool_settings(said)
        runner = settings.runner
        self._limits = RunnerLimits(
            runner.max_rounds, runner.allow_chaining, runner.summarize_threshold, runner.backoff_seconds
        )
        workspace = base / Path(settings.workspace).expanduser()
        self._place = loading.LoadContext(workspace, base, settings.sandbox, allow_unsandboxed, settings.allow_hosts)
        self._person = Approver(ask)
        self._servers: McpServers | None = None
        self._clients: dict[str, ToolCapableClient] = {}
        self._users: list[tuple[ToolRegistry, ToolUser]] = []

    def client(self, model: ModelClient, support: ToolSupport, user: ToolUser) -> ModelClient:
        """`model` with the tools of `user`, told of them in the way that suits it."""
        way = support.client_of(model, self._settings.calling, self._settings.tool_format)
        client = ToolCapableClient(way, self._manager(user), self._limits, consent=self._consent(user))
        self._clients[user.name] = client
        return client

    def check(self, tool: str, user: ToolUser) -> ToolCheck:
        """A tool that checks answers of `user`, who need not be offered it."""
        manager = self._manager(replace(user, only=(tool,)))
        return ToolCheck(tool, manager, self._limits, self._consent(user))

    def offered_tools(self, name: str) -> tuple[ToolSpec, ...]:
        """The tools that a participant is offered now."""
        return self._clients[name].offered_tools if name in self._clients else ()

    async def equip(self, run_dir: Path, emit: Emit = ignore) -> None:
        """Makes the tools and starts the servers of others; raises `ConfigError`.

        Without a workspace of the file, theirs is in the run directory. `emit` hears what the user should know.
        """
        place = replace(self._place, run_dir=run_dir)
        if not self._settings.workspace:
            place = replace(place, workspace=run_dir / WORKSPACE)
        for tool in loading.build(self._settings, place):
            self.register_tool(tool)
        if servers := self._settings.mcp.servers:
            self._servers = await McpServers(servers, self, self._place.base, emit).__aenter__()
        names = [*dict.fromkeys(name for registry, _ in self._users for name in registry.names)]
        for name in self._unknown(names):
            await emit(Warned(f"approval names {name!r}, and there is no such tool{near(name, names)}"))

    async def aclose(self) -> None:
        """Stops what was started."""
        if self._servers:
            await self._servers.aclose()

    def register_tool(self, tool: Tool) -> None:
        """Gives it to all who may use it."""
        for registry, user in self._users:
            if user.may_use(tool.name):
                registry.register_tool(tool)

    def unregister_tool(self, name: str) -> None:
        for registry, _ in self._users:
            registry.unregister_tool(name)

    def _manager(self, user: ToolUser) -> ToolManager:
        registry = ToolRegistry()
        self._users.append((registry, user))
        return ToolManager(registry)

    def _consent(self, user: ToolUser) -> Consent:
        return Consent(user.name, (self._settings.approval, user.approval), self._person)

    def _unknown(self, names: list[str]) -> list[str]:
        """The tools that an approval names and that are none: of files and servers it is known only now."""
        approvals = (self._settings.approval, *(user.approval for _, user in self._users))
        known = {*names, *(entry.name for entry in self._settings.registry)}
        return [
            name for name in dict.fromkeys(name for each in approvals for name in each.tool_names) if name not in known
        ]


def tool_settings(said: Discussion) -> Tools:
    """The section of tools, with what the discussion says of itself where the section leaves it open."""
    tools = said.tools or Tools(enabled=False)
    around = {"sandbox": said.sandbox, "workspace": said.workspace, "allow_hosts": said.allow_hosts}
    open_ = {key: value for key, value in around.items() if value and key not in tools.model_fields_set}
    return tools.model_copy(update=open_)


def settings_problems(settings: Tools, base: Path) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the section, by place; code that the file names is not imported."""
    place = loading.LoadContext(base / WORKSPACE, base)
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
