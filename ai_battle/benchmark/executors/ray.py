"""`ray`: samples are tasks on a Ray cluster; this process hands them out and writes the results.

`RAY_ADDRESS` says which cluster; without it, one is started on this machine. Answers are not shared between workers.
"""

import asyncio
from dataclasses import replace
from functools import cache
from typing import Any

from ...core import plugins
from ...core.errors import ProviderError
from ...core.events import ModelReplied
from ...core.exchange import Usage
from ...core.ledger import book
from ..cache import Keeper
from ..playing import Player, SampleContext
from ..sample import Sample, SampleKey
from ..tasks import Task

LOST = 3
"""How many workers may be lost under one sample until it counts as failed."""


class OnRay:
    """`library` is the imported module `ray`."""

    def __init__(self, library: Any, context: SampleContext) -> None:
        self._ray = library
        library.init(ignore_reinit_error=True, log_to_driver=False)
        self._context = library.put(context)
        self._play = library.remote(_play_remotely).options(max_retries=LOST)

    async def play(self, key: SampleKey, task: Task) -> Sample:
        """Ray itself plays a sample again whose worker is lost."""
        try:
            sample: Sample = await self._play.remote(self._context, key, task)
        except self._ray.exceptions.RayError as error:
            lost = ProviderError(f"Its worker was lost {LOST + 1} times: {type(error).__name__}: {error}")
            return Sample(*key, error=str(lost))
        book(ModelReplied("", Usage(cost_usd=sample.spent_usd), sample.seconds))  # paid for in another process
        return sample

    async def aclose(self) -> None:
        self._ray.shutdown()


async def _ask(context: SampleContext, key: SampleKey, task: Task) -> Sample:
    player = Player(context)
    try:
        return await player.play(key, task)
    finally:
        await player.aclose()


def _play_remotely(context: SampleContext, key: SampleKey, task: Task) -> Sample:
    return _runner().run(_ask(context, key, task))


@cache
def _runner() -> asyncio.Runner:
    """Returns a worker's event loop, always the same, so that its connections are used again."""
    return asyncio.Runner()


def create(context: SampleContext, keeper: Keeper | None = None) -> OnRay:
    """Raises `ConfigError` where Ray is not installed."""
    around = replace(context.around, environment=dict(context.around.environment or {}))
    return OnRay(plugins.optional("ray", "ray"), replace(context, around=around))
