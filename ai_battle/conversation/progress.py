"""How far a run has come: what has to be known before it is taken up again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.events import (
    Concluded,
    Event,
    RunFinished,
    RunResumed,
    RunStarted,
    ScriptAdvanced,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.helping import HelpSummed
from ._reading import read


@dataclass(slots=True)
class Progress:
    """What the journal says was done.

    `turn` is the last one that is over. `positions` are how many entries of its script each scripted participant has
    used up for what will not be asked again: turns that are over, selections and summaries; a scripted helper counts
    as "participant/helper". `started` is None when
    nothing was journalled yet; `settings` are the last that were recorded, `ended` how the run ended, if it did,
    and `outcome` what was made of it.
    """

    run_dir: Path
    started: RunStarted | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    turn: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    ended: RunFinished | None = None
    outcome: str = ""
    help: HelpSummed | None = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; a run that failed or was interrupted can be resumed."""
        return self.ended is not None and self.ended.status in ("done", "limit")

    @property
    def config_digest(self) -> str:
        return str(self.settings.get("config_digest", ""))


def progress(run_dir: Path) -> Progress:
    """Reads the journal once, one line in memory at a time."""
    account = _Account(Progress(run_dir))
    for _, event in read(run_dir):
        account.take(event)
    return account.progress


class _Account:
    """Adds events up. What a turn used that is still open counts only when it is over: it will be played again."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._open: set[str] = set()
        self._pending: dict[str, int] = {}

    def take(self, event: Event) -> None:
        match event:
            case RunStarted() | RunResumed():
                self._begin(event)
            case TurnStarted(speaker=speaker):
                self._open.add(speaker)
            case ScriptAdvanced(position=position, speaker=speaker):
                self._pending[speaker] = position
            case TurnFinished() | TurnFailed(policy="skip"):
                self.progress.turn = event.turn
                self._open.discard(event.speaker)
                self._keep_positions()
            case SpeakerSelected() | Summarised():
                self._keep_positions()
            case Concluded(text=text):
                self.progress.outcome = text
                self._keep_positions()
            case HelpSummed() | RunFinished():
                self._end(event)

    def _begin(self, event: RunStarted | RunResumed) -> None:
        if isinstance(event, RunStarted):
            self.progress.started = event
        self.progress.ended = None
        self.progress.settings = event.settings or self.progress.settings
        self._open.clear()
        self._pending.clear()

    def _end(self, event: HelpSummed | RunFinished) -> None:
        if isinstance(event, HelpSummed):
            self.progress.help = event
        else:
            self.progress.ended = event

    def _keep_positions(self) -> None:
        """Those of participants who are not in the middle of a turn: a selector's and a summariser's too."""
        for voice in [*self._pending]:
            if not any(voice == speaker or voice.startswith(f"{speaker}/") for speaker in self._open):
                self.progress.positions[voice] = self._pending.pop(voice)
