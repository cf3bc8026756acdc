"""Where samples run: one file each; the name in the suite is the name of the file."""

from typing import Protocol

from ..sample import Sample, SampleKey
from ..tasks import Task

EXECUTORS = __name__


class Executor(Protocol):
    """Made by `create(context, keeper)` of its file: `keeper` keeps answers for all samples,
    where it can be reached.
    """

    async def play(self, key: SampleKey, task: Task) -> Sample:
        """The sample, also where it failed."""

    async def aclose(self) -> None:
        """Gives back what it holds."""
