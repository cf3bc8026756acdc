"""A model and the one that helps it where it is stuck; how it helps is a function."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..judging.detector import StuckDetector
from ._examining import Judges
from ._helping import Helping, Turn
from ._trying import Trying

Help = Callable[[Trying, ModelClient], Awaitable[ModelResponse]]
"""From the attempts of a model that is stuck, and its helper, to the answer of the turn."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Who is helped by whom, what finds out that help is needed, and on which terms it is given."""

    primary: ModelClient
    secondary: ModelClient
    detector: Judges
    helping: Helping = field(default_factory=Helping)

    def __post_init__(self) -> None:
        if self.primary is self.secondary:
            raise ConfigError("A model can't help itself: primary and secondary are one client; give two.")

    @classmethod
    def of(
        cls,
        primary: ModelClient,
        secondary: ModelClient,
        detector: Judges | None = None,
        helping: Helping | None = None,
    ) -> Self:
        """What is not given is as usual: the shipped detector, no limits."""
        return cls(primary, secondary, detector or StuckDetector(), helping or Helping())

    async def aclose(self) -> None:
        await self.primary.aclose()
        await self.secondary.aclose()


class Paired(ModelClient):
    """The first model of `pair` answers; where its best attempt is stuck, `help` brings the answer."""

    def __init__(self, pair: Pair, strategy: str, help: Help) -> None:  # noqa: A002
        self.pair = pair
        self._strategy = strategy
        self._help = help

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.pair.primary.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = Turn(self._strategy, self.pair.helping, emit)
        own = Trying(self.pair.primary, self.pair.detector, turn, request)
        await own.alone()
        return await self._help(own, self.pair.secondary) if own.stuck else await own.accept()

    async def aclose(self) -> None:
        await self.pair.aclose()
