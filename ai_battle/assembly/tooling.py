"""Gives each model its tools in the way that suits it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..config.participants import Capabilities, ParticipantSettings
from ..config.problems import Problem
from ..config.tools import Approval, Tools
from ..core.client import ModelClient
from ..core.tooling import Ask
from ..providers._capabilities import RefusalMemory, capabilities_offline
from ..tools.approval import Approver, Consent
from ..tools.base import Tool
from ..tools.base import ToolRegistry as ToolRegistry
from ..tools.client import ToolCapableClient
from ..tools.formats.auto import InProcessRefusals
from ..tools.toolset import ToolSet as ToolSet
from ..tools.toolset import ToolSupport, ToolUser, settings_problems
from .models import Model


def with_tools(name: str, model: Model, tool_set: ToolSet, spec: ParticipantSettings) -> Model:
    """Returns the model with the discussion's tools."""
    user = ToolUser(name, spec.tools, spec.approval)
    return replace(model, client=tool_set.client(model.client, _tool_support(model, spec.capabilities), user))


def with_tool_support(model: Model, capabilities: Capabilities) -> Model:
    """Returns the model with tool calling in its own format, for a strategy that brings tools."""
    return replace(model, client=_tool_support(model, capabilities).client_of(model.client))


def _tool_support(model: Model, capabilities: Capabilities) -> ToolSupport:
    """Returns how the model gets tools. What the file states takes precedence over earlier refusals."""
    stated = capabilities.stated_values()
    memory = RefusalMemory.load() if "tools" not in stated else InProcessRefusals()
    native = capabilities_offline(model.name, stated).get("tools")
    return ToolSupport(native, memory, (model.endpoint or model.name.provider, model.name.model))


def with_live_tools(
    clients: Mapping[str, ModelClient], tools: tuple[Tool, ...], ask: Ask | None
) -> dict[str, ModelClient]:
    """Returns a program's clients with its tools, each with a registry of its own, by participant."""
    person, approval = Approver(ask), Approval(default="ask" if ask else None)
    return {
        name: ToolCapableClient(client, tools, consent=Consent(name, (approval,), person))
        for name, client in clients.items()
    }


def problems(tools: Tools, base: Path) -> Iterator[Problem]:
    """Yields problems of the tools section, without importing code that it names."""
    for path, words in settings_problems(tools, base):
        yield Problem(("discussion", "tools", *path), words)
