"""The tools of one discussion: which there are, and clients that use them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..config.discussion import Discussion, Limits
from ..config.tools import Approval, Tools
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from . import loading
from .base import Tool
from .client import ToolCapableClient
from .formats.auto import Auto, Memory
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


class Outfit:
    """Clients can be made before the tools are: those need to know where the run is kept."""

    def __init__(self, said: Discussion, base: Path, *, allow_unsandboxed: bool = False) -> None:
        settings = settled(said)
        self._servers: McpServers | None = None
        self._users: list[tuple[ToolRegistry, Collection[str] | None]] = []
        self._settings = settings
        self._limits = limits_of(settings, said.limits)
        self._place = loading.Place(
            base / Path(settings.workspace).expanduser(),
            base,
            settings.sandbox,
            allow_unsandboxed,
            settings.allow_hosts,
        )

    def client(self, model: ModelClient, knows: Knows, only: Collection[str] | None = None) -> ModelClient:
        """`model` with the tools, or `only` some, told of them in the way that suits it."""
        registry = ToolRegistry()
        self._users.append((registry, only))
        way = Auto(model, self._settings.calling, native=knows.native, memory=knows.memory, known_as=knows.known_as)
        return ToolCapableClient(way, ToolManager(registry), self._limits)

    async def equip(self, run_dir: Path, emit: Emit = ignore) -> None:
        """Makes the tools and starts the servers of others; raises `ConfigError`.

        Without a workspace of the file, theirs is in the run directory. `emit` hears what the user should know.
        """
        own = self._place if self._settings.workspace else replace(self._place, workspace=run_dir / WORKSPACE)
        for tool in loading.build(self._settings, own):
            self.register_tool(tool)
        if servers := self._settings.mcp.servers:
            self._servers = await McpServers(servers, self, self._place.base, emit).__aenter__()

    async def aclose(self) -> None:
        """Stops what was started."""
        if self._servers:
            await self._servers.aclose()

    def register_tool(self, tool: Tool) -> None:
        """Gives it to all who may use it."""
        if is_allowed(tool.name, self._settings.approval):
            for registry, only in self._users:
                if only is None or tool.name in only:
                    registry.register_tool(tool)

    def unregister_tool(self, name: str) -> None:
        for registry, _ in self._users:
            if name in registry:
                registry.unregister_tool(name)


def settled(said: Discussion) -> Tools:
    """The section of tools, with what the discussion says of itself where the section leaves it open."""
    tools = said.tools or Tools(enabled=False)
    around = {"sandbox": said.sandbox, "workspace": said.workspace, "allow_hosts": said.allow_hosts}
    open_ = {key: value for key, value in around.items() if value and key not in tools.model_fields_set}
    return tools.model_copy(update=open_)


def problems(settings: Tools, base: Path) -> Iterator[tuple[int, str]]:
    """What is wrong with entries of the registry, by their places; code that the file names is not imported."""
    place = loading.Place(base / WORKSPACE, base)
    there = loading.builtin_names()
    for index, entry in enumerate(settings.registry):
        if not entry.enabled or "." in entry.name or (settings.paths and entry.name not in there):
            continue
        try:
            loading.by_name(entry.name, entry.parameters, place)
        except ConfigError as error:
            yield index, str(error)


def is_allowed(name: str, approval: Approval) -> bool:
    """Where nobody can be asked, to ask is to deny."""
    if name in approval.deny or name in approval.ask:
        return False
    return approval.default == "allow" or name in approval.allow


def limits_of(settings: Tools, limits: Limits) -> RunnerLimits:
    """Those of one answer, which can't have more than the run."""
    runner = settings.runner
    return RunnerLimits(
        runner.max_rounds,
        runner.allow_chaining,
        runner.summarize_threshold,
        runner.backoff_seconds,
        calls=CALLS if limits.tool_calls is None else min(CALLS, limits.tool_calls),
        seconds=limits.seconds,
        cost_usd=limits.cost_usd,
    )
