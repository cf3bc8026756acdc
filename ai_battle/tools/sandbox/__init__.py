"""Where code that models write is run: behind the strongest fence that this machine can build, or not at all."""

from ._folders import discard
from ._hosts import Hosts
from .choice import Level, choose
from .errors import NoFence
from .limits import Outcome, Program, SandboxLimits
from .sandbox import Sandbox

__all__ = ["Hosts", "Level", "NoFence", "Outcome", "Program", "Sandbox", "SandboxLimits", "choose", "discard"]
