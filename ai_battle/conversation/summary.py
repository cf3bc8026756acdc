"""The context budget: the oldest turns are folded into a summary before a request grows too long."""

from collections.abc import Mapping

from ..core.events import Emit
from ..core.exchange import ModelRequest, Usage
from .participant import Participant
from .plan import Plan
from .state import State


class Memory:
    def __init__(self, plan: Plan, state: State, tell: Emit, systems: Mapping[str, str]) -> None:
        self._plan = plan
        self._state = state
        self._tell = tell
        self._systems = systems

    async def make_room(self, participant: Participant) -> None: ...

    async def shorten(self, participant: Participant) -> bool:
        return False

    def learn(self, participant: Participant, request: ModelRequest, usage: Usage) -> None: ...
