"""What a peer brings that is asked only where its word turns the decision, on recorded answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

from .._agreement import WORTH, Ballot
from ._peers import Attempt, Beside


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Shares of questions that a peer and the large model are asked, and how much of its advantage is recovered."""

    peer_calls: float
    large_calls: float
    recovered: float

    def __str__(self) -> str:
        return f"peer calls {self.peer_calls:.3f}, large calls {self.large_calls:.3f}, recovered {self.recovered:.3f}"


def second_look(beside: Beside, threshold: float) -> SecondLook:
    """The large model answers where an answer is stuck, with what the peer says where it was asked."""
    found = [_decided(mine, its, threshold) for mine, its in zip(beside.attempts, beside.peers, strict=True)]
    return SecondLook(fmean(asked for asked, _ in found), *_served(beside.attempts, [stuck for _, stuck in found]))


def alone(beside: Beside, threshold: float) -> SecondLook:
    """The same without a peer."""
    return SecondLook(0.0, *_served(beside.attempts, [_is_stuck(mine, 0.0, threshold) for mine in beside.attempts]))


def _decided(mine: Attempt, peer: Ballot | None, threshold: float) -> tuple[bool, bool]:
    """Whether the peer is asked, and whether the answer is stuck then."""
    stuck = _is_stuck(mine, 0.0, threshold)
    if mine.ballot is None:
        return False, stuck
    agrees, differs = (_is_stuck(mine, log(odds), threshold) for odds in WORTH[mine.ballot.kind])
    if agrees == differs == stuck:
        return False, stuck
    return True, agrees if peer == mine.ballot else differs


def _is_stuck(mine: Attempt, shift: float, threshold: float) -> bool:
    quality = min(max(mine.judged.quality, 1e-9), 1 - 1e-9)
    return mine.judged.at_once or log(quality / (1 - quality)) + shift < log(threshold / (1 - threshold))


def _served(attempts: Sequence[Attempt], stuck: Sequence[bool]) -> tuple[float, float]:
    small, large = fmean(each.small for each in attempts), fmean(each.large for each in attempts)
    right = fmean(each.large if is_stuck else each.small for each, is_stuck in zip(attempts, stuck, strict=True))
    return fmean(stuck), (right - small) / (large - small)
