"""What all requests of one server share; its routes can be exchanged while requests run."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ..assembly.models import Model
from .routes import Route, Routes

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request may take: bytes of its body, tokens of its answer."""

    body: int = 32 * MEGABYTE
    max_tokens: int | None = None


@dataclass(slots=True)
class Generation:
    """The routes of one configuration, and how many requests they are answering."""

    routes: Routes
    models: Sequence[Model] = ()
    running: int = 0
    retired: bool = False

    async def close_if_done(self) -> None:
        if self.retired and not self.running:
            for model in self.models:
                await model.client.aclose()


@dataclass(slots=True)
class Served:
    current: Generation
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def routes(self) -> Routes:
        return self.current.routes

    @asynccontextmanager
    async def route(self, name: str) -> AsyncIterator[Route]:
        """The route stays whole until the request is over; raises `NoRoute`."""
        generation = self.current
        route = generation.routes.find(name)
        generation.running += 1
        try:
            yield route
        finally:
            generation.running -= 1
            await generation.close_if_done()

    async def exchange(self, new: Generation) -> None:
        """From now on requests are answered by the new routes; those that run keep the old ones."""
        old, self.current = self.current, new
        old.retired = True
        await old.close_if_done()

    async def aclose(self) -> None:
        self.current.retired = True
        await self.current.close_if_done()
