"""Where samples and discussions are played: one file each; the name behind `executor` is the name of the file."""

from dataclasses import dataclass
from typing import Any, Protocol

EXECUTORS = __name__
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class ExecutorTraits:
    """Stands beside `create`: elsewhere nobody can be asked, and nothing is heard of a job until it is over."""

    is_elsewhere: bool = False


class Executor(Protocol):
    """Plays jobs. Made by `create(make, *here, tell)` of its file.

    `make` makes what plays them, in the process that does; it and the jobs are pickled on their way to another.
    `here` are what it is given where that is this process. `tell` is given sentences that the user should read.
    """

    async def play(self, *job: Any) -> Any:
        """Returns what became of a job, or raises it; `JobLost` where nobody lived to tell."""

    async def aclose(self) -> None:
        """Gives back what it holds; what still runs elsewhere is ended."""
