"""Tools for the models of a discussion."""

from dataclasses import replace

from .. import tools
from ..config import Loaded
from ..config.participants import ParticipantSettings
from ..providers._capabilities import capabilities_offline
from ..providers._refusals import RefusalMemory
from .models import Model


def with_tools(name: str, model: Model, outfit: "tools.Outfit", spec: ParticipantSettings) -> Model:
    """The model with tools; what the file says of its capabilities counts more than what it refused before."""
    stated = spec.capabilities.stated()
    known = capabilities_offline(model.name, stated).known.get("tools")
    native = bool(known.value) if known and known.source != "learned" else None
    memory = RefusalMemory.load() if "tools" not in stated else tools.Forgetful()
    knows = tools.Knows(native, memory, (model.endpoint or model.name.provider, model.name.model))
    return replace(model, client=outfit.client(model.client, knows, tools.User(name, spec.tools, spec.approval)))


def outfit_of(loaded: Loaded, *, allow_unsandboxed: bool, approve: "tools.Ask | None" = None) -> "tools.Outfit | None":
    said = loaded.file.discussion
    used = said.tools and said.tools.enabled
    return tools.Outfit(said, loaded.base, allow_unsandboxed=allow_unsandboxed, ask=approve) if used else None
