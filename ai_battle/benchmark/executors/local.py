"""`local`: samples run in this process, at once on its event loop."""

from ..cache import Keeper
from ..playing import Player, SampleContext


def create(context: SampleContext, keeper: Keeper | None = None) -> Player:
    return Player(context, keeper)
