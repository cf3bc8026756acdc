"""The kinds of fence, each a way to start the supervisor: what is around it, and what it then adds from inside."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .limits import Language


@dataclass(frozen=True, slots=True)
class Site:
    """The paths of one run as they are on this machine."""

    workspace: Path
    scratch: Path  # made for this run, and for nothing else; holds the program's file
    program: str  # the file's name
    folders: tuple[str, ...]  # that the interpreter needs
    reaches: bool = False  # some hosts, so that it has certificates to check
    closed: Path | None = None  # a folder in the workspace that is out of reach all the same

    @property
    def way(self) -> tuple[Path, ...]:
        """The folders between the two: who could rename them would put another closed one in its place."""
        if not self.closed:
            return ()
        return tuple(path for path in reversed(self.closed.parents) if self.workspace in path.parents)


@dataclass(frozen=True, slots=True)
class Inside:
    """The same run as seen from behind the fence."""

    program: str
    temporary: str
    readable: Sequence[str]
    writable: Sequence[str]
    measured: Sequence[str]
    devices: Sequence[str] = ()
    listed: Sequence[str] = ()
    profile: str = ""  # of macOS' own sandbox
    shared_memory: str = ""  # a folder that stands for /dev/shm, where that is everybody's


class Fence(ABC):
    """`layers` are all that is in force, for people; `alone` says whether it has namespaces of its own.

    `python` runs the supervisor, and Python programs. `own_network` is why a program can be led to some hosts only,
    and `closes` is whether it can be kept from a folder in its workspace.
    """

    name: str
    python = sys.executable
    commands: Mapping[Language, tuple[str, ...]] = {}  # instead of this machine's
    environment: Mapping[str, str] = {}  # of what stands around; never the program's
    alone: bool
    own_network = False
    closes = True
    layers: tuple[str, ...]
    calls: bytes = b""

    def around(self, site: Site) -> Sequence[str]:
        """The command that stands before the supervisor's, if any."""
        return ()

    @abstractmethod
    def inside(self, site: Site) -> Inside:
        """An empty `writable` leaves the files open."""
