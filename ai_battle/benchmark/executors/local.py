"""`local`: samples run in this process, at once on its event loop."""

from ..cache import Keeper
from ..playing import Kit, Player


def create(kit: Kit, keeper: Keeper | None = None) -> Player:
    return Player(kit, keeper)
