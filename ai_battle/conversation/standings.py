"""Where ladders stand: a fold over the events of a run."""

from collections.abc import Mapping, Sequence

from .. import collaboration
from ..core.events import Event, TurnFailed, TurnFinished, TurnStarted
from ..core.helping import LadderStood


class Standings:
    """Only events change it, through `apply`; a turn that was interrupted is done again and counts once."""

    def __init__(self) -> None:
        self._settled: dict[tuple[str, int], LadderStood] = {}
        self._of_turn: dict[tuple[str, int], LadderStood] = {}

    def apply(self, event: Event) -> None:
        match event:
            case LadderStood(speaker=speaker, ladder=ladder):
                self._of_turn[speaker, ladder] = event
            case TurnStarted(speaker=speaker):
                self._of_turn = {key: stood for key, stood in self._of_turn.items() if key[0] != speaker}
            case TurnFinished(speaker=speaker) | TurnFailed(speaker=speaker, policy="skip"):
                self._settled |= {key: stood for key, stood in self._of_turn.items() if key[0] == speaker}

    def restore(self, standings: "Mapping[str, Sequence[collaboration.LadderState]]") -> None:
        """Ladders that have just been made go on from where those of the run stood."""
        for (speaker, ladder), stood in self._settled.items():
            for standing in standings.get(speaker, ())[ladder : ladder + 1]:
                standing.go_on_from(stood)
