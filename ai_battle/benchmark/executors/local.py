"""`local`: samples run in this process, at once on its event loop."""

from ..cache import Keeper
from ..playing import Kit, Player
from ..sample import Key, Sample
from ..tasks import Task


class Local:
    def __init__(self, player: Player) -> None:
        self._player = player

    async def play(self, key: Key, task: Task) -> Sample:
        return await self._player.play(key, task)

    async def aclose(self) -> None:
        await self._player.aclose()


def create(kit: Kit, keeper: Keeper | None = None) -> Local:
    return Local(Player(kit, keeper))
