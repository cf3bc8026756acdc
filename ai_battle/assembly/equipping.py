"""Tools for the models of a discussion."""

from dataclasses import replace

from .. import tools
from ..config import Loaded
from ..config.participants import ParticipantSettings
from ..providers._capabilities import capabilities_offline
from ..providers._refusals import RefusalMemory
from .models import Model


def with_tools(name: str, model: Model, tool_set: "tools.ToolSet", spec: ParticipantSettings) -> Model:
    """The model with tools; what the file says of its capabilities counts more than what it refused before."""
    stated = spec.capabilities.stated()
    known = capabilities_offline(model.name, stated).known.get("tools")
    native = bool(known.value) if known and known.source != "learned" else None
    memory = RefusalMemory.load() if "tools" not in stated else tools.Forgetful()
    knows = tools.ToolSupport(native, memory, (model.endpoint or model.name.provider, model.name.model))
    return replace(model, client=tool_set.client(model.client, knows, tools.ToolUser(name, spec.tools, spec.approval)))


def tool_set_of(
    loaded: Loaded, *, allow_unsandboxed: bool, approve: "tools.Ask | None" = None
) -> "tools.ToolSet | None":
    said = loaded.file.discussion
    used = said.tools and said.tools.enabled
    return tools.ToolSet(said, loaded.base, allow_unsandboxed=allow_unsandboxed, ask=approve) if used else None
