"""Executors play samples and discussions, here or elsewhere. Each is a file, named by `executor`."""

from dataclasses import dataclass
from typing import Any, Protocol

EXECUTORS = __name__
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class ExecutorTraits:
    """Traits next to `create`. Jobs elsewhere can ask nobody, and emit no events until they are over."""

    is_elsewhere: bool = False


class Executor(Protocol):
    """Plays jobs. It is made by `create(make, *here, tell)` of its file.

    `make` creates what plays the jobs, in the process that plays them; it and the jobs are pickled on their way to
    another. `here` are its arguments in this process. `tell` receives sentences for the user.
    """

    async def play(self, *job: Any) -> Any:
        """Returns the result of a job, or raises its error; `JobLost` if its process or machine was lost."""

    async def aclose(self) -> None:
        """Releases what it holds, and ends what still runs elsewhere."""
