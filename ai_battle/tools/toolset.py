"""The tools of one discussion, and the clients and checks that use them."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..config.discussion import Discussion
from ..config.tools import Approval, Tools
from ..core.client import ModelClient
from ..core.errors import ConfigError, ToolError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ToolSpec
from ..core.helping import AnswerChecked
from ..core.messages import ToolCall, ToolResult
from ..core.plugins import near
from ..core.tooling import Ask
from ..signals.code import code_blocks
from . import loading
from .approval import Approver, Consent
from .base import Tool, ToolRegistry
from .calls import CallRunner, RunnerLimits
from .client import ToolCapableClient
from .formats.auto import AutoTools, Calling, RefusalStore
from .formats.forms import dialect
from .manager import ToolManager
from .mcp.servers import McpServers

WORKSPACE = "workspace"
RUNNABLE = ("python", "javascript", "bash")
INPUTS = ("prompt", "answer", "code", "language")
SHOWN_CHARACTERS = 2_000
NO_APPROVAL = Approval()


@dataclass(frozen=True, slots=True)
class ToolSupport:
    """A model's support of tools: whether its API has them (None if unknown), and its earlier refusals."""

    native: bool | None
    memory: RefusalStore
    refusal_key: tuple[str, str]

    def client_of(self, model: ModelClient, calling: Calling = "auto", tool_format: str = "") -> AutoTools:
        """Returns the model as a client that calls tools in the way that suits it."""
        return AutoTools(
            model,
            calling,
            native=self.native,
            memory=self.memory,
            refusal_key=self.refusal_key,
            tool_format=tool_format,
        )


@dataclass(frozen=True, slots=True)
class ToolUser:
    """A participant who uses tools: `only` some of them (None for all), and its approval settings."""

    name: str
    only: Collection[str] | None = None
    approval: Approval = NO_APPROVAL

    def may_use(self, tool: str) -> bool:
        return self.only is None or tool in self.only


class ToolSet:
    """The tools of a discussion. Clients are made first, because the tools need to know the run directory.

    `ask` asks a person about a call.
    """

    def __init__(
        self, discussion: Discussion, base: Path, *, allow_unsandboxed: bool = False, ask: Ask | None = None
    ) -> None:
        settings = self._settings = tool_settings(discussion)
        self._limits = RunnerLimits(**settings.runner.model_dump())
        workspace = base / Path(settings.workspace).expanduser()
        self._place = loading.LoadContext(workspace, base, settings.sandbox, allow_unsandboxed, settings.allow_hosts)
        self._person = Approver(ask)
        self._servers: McpServers | None = None
        self._clients: dict[str, ToolCapableClient] = {}
        self._users: list[tuple[ToolRegistry, ToolUser]] = []

    def client(self, model: ModelClient, support: ToolSupport, user: ToolUser) -> ModelClient:
        """Returns `model` with the tools of `user`, called in the way that suits it."""
        way = support.client_of(model, self._settings.calling, self._settings.tool_format)
        client = ToolCapableClient(way, self._manager(user), self._limits, consent=self._consent(user))
        self._clients[user.name] = client
        return client

    def check(self, tool: str, user: ToolUser) -> "ToolCheck":
        """Returns a tool as a check of `user`'s answers; the user need not be offered it."""
        manager = self._manager(replace(user, only=(tool,)))
        return ToolCheck(tool, manager, self._limits, self._consent(user))

    def offered_tools(self, name: str) -> tuple[ToolSpec, ...]:
        """Returns the tools that a participant is told of now."""
        return self._clients[name].all_tools if name in self._clients else ()

    async def equip(self, run_dir: Path, emit: Emit = ignore) -> None:
        """Makes the tools and starts the MCP servers. Raises `ConfigError`.

        Without a configured workspace, it is in the run directory. `emit` receives warnings.
        """
        place = replace(self._place, run_dir=run_dir)
        if not self._settings.workspace:
            place = replace(place, workspace=run_dir / WORKSPACE)
        for tool in loading.build(self._settings, place):
            self.register_tool(tool)
        if servers := self._settings.mcp.servers:
            self._servers = await McpServers(servers, self, self._place.base, emit).__aenter__()
        names = [*dict.fromkeys(name for registry, _ in self._users for name in registry.names)]
        for name in self._unknown_names(names):
            await emit(Warned(f"approval names {name!r}, but there is no such tool{near(name, names)}"))

    async def aclose(self) -> None:
        """Stops the MCP servers."""
        if self._servers:
            await self._servers.aclose()

    def register_tool(self, tool: Tool) -> None:
        """Registers the tool with everybody who may use it."""
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

    def _unknown_names(self, names: list[str]) -> list[str]:
        """Returns the names in approvals that no tool has. Tools of files and servers are known only now."""
        approvals = (self._settings.approval, *(user.approval for _, user in self._users))
        known = {*names, *(entry.name for entry in self._settings.registry)}
        return [
            name for name in dict.fromkeys(name for each in approvals for name in each.tool_names) if name not in known
        ]


def tool_settings(discussion: Discussion) -> Tools:
    """Returns the tools section, with the discussion's own settings where the section has none."""
    tools = discussion.tools or Tools(enabled=False)
    beside = {"sandbox": discussion.sandbox, "workspace": discussion.workspace, "allow_hosts": discussion.allow_hosts}
    open_ = {key: value for key, value in beside.items() if value and key not in tools.model_fields_set}
    return tools.model_copy(update=open_)


def settings_problems(settings: Tools, base: Path) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yields what is wrong with the section, and where. Code that the file names is not imported."""
    for path, check in _checks(settings, base):
        try:
            check()
        except ConfigError as error:
            yield path, str(error)


def _checks(settings: Tools, base: Path) -> Iterator[tuple[tuple[str | int, ...], Callable[[], object]]]:
    place = loading.LoadContext(base / WORKSPACE, base)
    there = loading.builtin_names()
    for index, path in enumerate(settings.paths):
        yield ("paths", index), partial(loading.python_files, base, path)
    for index, entry in enumerate(settings.registry):
        if entry.enabled and "." not in entry.name and (entry.name in there or not settings.paths):
            yield ("registry", index), partial(loading.by_name, entry.name, entry.parameters, place)
    yield ("tool_format",), partial(dialect, settings.tool_format)


class ToolCheck:
    """The tool `name` of `manager` as a check. Calls are approved, counted and emitted like a model's.

    It gets those of `prompt`, `answer`, `code` and `language` that it has parameters for. A tool that returns `passed`
    (true, false or a share) judges by that, any other by its `exit_code`.
    """

    def __init__(self, name: str, manager: ToolManager, limits: RunnerLimits, consent: Consent | None = None) -> None:
        self.name = name
        self._manager = manager
        self._limits = limits
        self._consent = consent

    async def __call__(self, prompt: str, answer: str, emit: Emit) -> tuple[AnswerChecked, str] | None:
        """Returns the finding and a report of the failure; None if the tool runs code and the answer has none.

        Raises `ToolError` if the call brought no result.
        """
        wanted = self._parameters()
        given = {"prompt": prompt, "answer": answer, **_program(answer)}
        if "code" in wanted and "code" not in given:
            return None
        call = ToolCall(self.name, {name: given[name] for name in INPUTS if name in wanted and name in given}, "check")
        (result,) = await CallRunner(self._manager, self._limits, emit, self._consent).run((call,))
        return _judgement(self.name, _fields(result))

    def _parameters(self) -> Mapping[str, Any]:
        if self.name not in self._manager.registry:
            raise ToolError(f"there is no tool {self.name!r} to check answers with")
        wanted: Mapping[str, Any] = self._manager.registry.spec(self.name).schema.get("properties") or {}
        if not {"answer", "code"} & {*wanted}:
            raise ToolError(f"{self.name} checks no answers: it has neither a parameter 'answer' nor 'code'")
        return wanted


def _program(answer: str) -> dict[str, str]:
    """Returns the code of an answer in the first of the runnable languages that it uses."""
    blocks = code_blocks(answer)
    for language in RUNNABLE:
        if code := "\n\n".join(code for named, code in blocks if named == language):
            return {"code": code, "language": language}
    return {}


def _fields(result: ToolResult) -> Mapping[str, Any]:
    try:
        value = json.loads(result.text)
    except ValueError as error:
        raise ToolError(f"{result.call.name} returned nothing that says whether the answer holds") from error
    fields = value if isinstance(value, Mapping) else {}
    if result.is_error:
        raise ToolError(str(fields.get("error") or result.text)[:SHOWN_CHARACTERS])
    return fields


def _judgement(name: str, fields: Mapping[str, Any]) -> tuple[AnswerChecked, str]:
    passed, code = fields.get("passed"), fields.get("exit_code")
    if isinstance(passed, bool | int | float) and 0 <= passed <= 1:
        return _share_passed(name, float(passed)), "" if passed == 1 else _report(fields)
    if not isinstance(code, int):
        raise ToolError(f"{name} returned neither 'passed' nor 'exit_code'")
    if code:
        return AnswerChecked(name, {"program_fails": 1.0}, "its program fails"), _report(fields)
    return AnswerChecked(name, {"program_runs": 1.0}, "its program runs"), ""


def _share_passed(name: str, passed: float) -> AnswerChecked:
    words = {1.0: "it passes", 0.0: "it fails"}.get(passed, f"{passed:.0%} of it passes")
    signals = {"check_passes": passed, "check_fails": 1.0 - passed}
    return AnswerChecked(name, {signal: value for signal, value in signals.items() if value}, words)


def _report(fields: Mapping[str, Any]) -> str:
    """Returns the end of a check's report, where the error is."""
    texts = (str(fields[key]).strip() for key in ("reason", "stdout", "stderr") if fields.get(key))
    return "\n".join(texts)[-SHOWN_CHARACTERS:]
