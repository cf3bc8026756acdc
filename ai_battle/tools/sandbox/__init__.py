"""Runs code that models write in the strongest sandbox that this machine can build, or not at all."""

from .addresses import Address, AddressFilter, RequestRefused, proxy_request
from .backends import Backend, Bubblewrap, Docker, GuestPaths, HostPaths, Landlock
from .egress import EgressLimits, EgressProxy
from .inside.kernel import landlock_version
from .program import Language, NoFence, Outcome, Program, SandboxLimits
from .sandbox import Level, Sandbox, choose, why_not
from .snapshot import Snapshot, discard, protected_paths
from .syscalls import SyscallFilter, syscall_number

__all__ = [
    "Address", "AddressFilter", "Backend", "Bubblewrap", "Docker", "EgressLimits", "EgressProxy", "GuestPaths",
    "HostPaths", "Landlock", "Language", "Level", "NoFence", "Outcome", "Program", "RequestRefused", "Sandbox",
    "SandboxLimits", "Snapshot", "SyscallFilter", "choose", "discard", "landlock_version", "protected_paths",
    "proxy_request", "syscall_number", "why_not",
]  # fmt: skip
