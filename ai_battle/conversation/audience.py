"""Who hears a run: the journal first, then its own state, then whoever asked to listen; secrets only the state."""

from ..core.borders import foreign_code
from ..core.errors import AIBattleError
from ..core.events import DELTAS, Emit, Event, Warned, ignore
from ..core.exchange import EVERYTHING, WHOLE_ANSWER, Wants
from ..core.redaction import NO_SECRETS, Redactor
from .state import State


class Audience:
    """An event counts when the journal has it. A listener that fails is told of once, and never ends a run.

    `wants` says what of answers is listened to; by default all where somebody listens, else nothing on the way.
    """

    def __init__(
        self,
        journal: Emit,
        state: State,
        listener: Emit = ignore,
        redactor: Redactor = NO_SECRETS,
        wants: Wants | None = None,
    ) -> None:
        self.wants = wants or (WHOLE_ANSWER if listener is ignore else EVERYTHING)
        self._journal = journal
        self._redactor = redactor
        self.state = state
        self._listener = None if listener is ignore else listener
        self._border = foreign_code("A listener failed, and the run goes on without regard to it", AIBattleError)
        self._complained = False

    async def __call__(self, event: Event) -> None:
        if not isinstance(event, DELTAS):
            heard, event = event, self._redactor.value(event)
            await self._journal(event)
            self.state.apply(heard)
        if self._listener is None:
            return
        try:
            with self._border:
                await self._listener(event)
        except AIBattleError as error:
            await self._complain(error)

    async def _complain(self, error: AIBattleError) -> None:
        if not self._complained:
            self._complained = True
            await self(Warned(str(error)))
