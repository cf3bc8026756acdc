"""A program, what it may use, and what came of it."""

from dataclasses import dataclass
from typing import Literal

from ...core.errors import ToolError

Language = Literal["python", "javascript", "bash"]
KilledBecause = Literal["", "time", "memory", "tasks", "disk", "inodes", "output"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class NoFence(ToolError):
    """No sandbox works here; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Program:
    language: Language
    code: str
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Hold for all processes of one program together, but for `file_size` and `open_files`; sizes are in bytes."""

    memory: int = 1 * GIB
    tasks: int = 128
    disk: int = 256 * MIB
    inodes: int = 20_000
    file_size: int = 128 * MIB
    open_files: int = 256
    output: int = 64 * KIB
    drain: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Outcome:
    """`killed_because` names the limit that ended the program; then `exit_code` is that of a killed one, -9.

    `network` says what was reached, and what was refused, of the hosts that it may reach.
    """

    stdout: str
    stderr: str
    exit_code: int
    killed_because: KilledBecause
    seconds: float
    network: tuple[str, ...] = ()
