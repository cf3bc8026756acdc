"""The boost loop: a model without tools plans, or answers at once; a model with tools carries the plan out."""

from pathlib import Path

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.traits import CalledModel, StrategyTraits
from ._boost_reply import Guidance, Summary
from ._boost_template import HERE, Template, template_of
from ._boost_turn import BoostTurn, Models
from ._turn import Helping

TRAITS = StrategyTraits(
    models={"secondary": CalledModel("once in each turn, and up to two times more", "each turn", "boost")}, plans=True
)


class BoostLoop(ModelClient):
    """`boost` sees each request first, with the tools as text; `auxiliary` gets its guidance and the real tools.

    A reply in none of the formats, and guidance to which no tool is called, are tried again, `max_loops` times in all.
    Where `boost` brings nothing that can be used, `auxiliary` answers alone. `template` is a path or a text with a
    place for the request. `helping` says on which terms `boost` is asked; its timeout counts over all attempts.
    """

    def __init__(
        self,
        boost: ModelClient,
        auxiliary: ModelClient,
        max_loops: int = 3,
        template: str | Template = "",
        helping: Helping | None = None,
    ) -> None:
        if boost is auxiliary:
            raise ConfigError("A model can't boost itself: boost and auxiliary are one client; give two.")
        if max_loops < 1:
            raise ConfigError(
                f"max_loops counts the rounds of the boost loop, from 1 on; it can't be {max_loops!r}.", "max_loops"
            )
        self.boost = boost
        self.auxiliary = auxiliary
        self.max_loops = max_loops
        self.helping = helping or Helping()
        self.template = template if isinstance(template, Template) else template_of(template)

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.auxiliary.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        models = Models(self.boost, self.auxiliary, self.template, self.helping)
        turn = BoostTurn(models, request, emit)
        for loop in range(self.max_loops):
            match await turn.plan(loop):
                case Summary(text):
                    return await turn.answer(text)
                case Guidance() as guidance:
                    if response := await turn.execute(guidance):
                        return response
                case None:
                    return await turn.directly()
        return await turn.best()

    async def aclose(self) -> None:
        try:
            await self.boost.aclose()
        finally:
            await self.auxiliary.aclose()


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    max_loops: int = 3,
    template: str = "",
    base: Path = HERE,
    helping: Helping | None = None,
) -> ModelClient:
    """A `template` that is a path starts at `base`."""
    return BoostLoop(secondary, primary, max_loops, template_of(template, base), helping)
