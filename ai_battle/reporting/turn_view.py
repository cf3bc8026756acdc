"""The events of a run as views show them: each turn with what led to its answer."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..conversation.reading import read
from ..core.events import Event, RunResumed, TurnFailed, TurnFinished, TurnStarted
from ..core.exchange import Usage
from ..core.helping import AnswerChecked, BoostStep, DraftDropped, HelpAsked, HintGiven, ModelConsulted, StuckFound
from ..core.messages import Part, ToolCall, ToolResult
from ..core.tooling import ToolDecided
from .sentences import call_words, decision_words, result_words, sentence

Turn = TurnFinished | TurnFailed


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An event as a sentence, which may be empty; `texts` holds what was shown and said, with titles."""

    event: Event
    words: str
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool call with its result, if any, and the decision on it in words."""

    call: ToolCall
    result: ToolResult | None
    decision: str

    @property
    def title(self) -> str:
        """The call with its result in short form: `calculator(12*7) -> 84`."""
        came = f" -> {result_words(self.result)}" if self.result else ""
        return f"{call_words(self.call)}{f' ({self.decision})' if self.decision else ''}{came}"


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn with its `entries` in order, and the decisions on its calls in words, by the id of the call."""

    event: Turn
    entries: tuple[TimelineEntry, ...]
    decisions: Mapping[str, str]

    @property
    def parts(self) -> Iterator[Part | ToolCard]:
        """The content of the turn, each call with its result."""
        turn = self.event
        if isinstance(turn, TurnFailed):
            return
        parts = [part for message in (*turn.steps, turn.message) for part in message.parts]
        waiting = _results_by_call(parts)
        for part in parts:
            if isinstance(part, ToolCall):
                results = waiting.get(part.id, [])
                yield ToolCard(part, results.pop(0) if results else None, self.decisions.get(part.id, ""))
            elif not isinstance(part, ToolResult):
                yield part


def _results_by_call(parts: Iterable[Part]) -> Mapping[str, list[ToolResult]]:
    """Returns results by their call's id. There may be several in order, as ids are unique in one answer only."""
    found: defaultdict[str, list[ToolResult]] = defaultdict(list)
    for part in parts:
        if isinstance(part, ToolResult):
            found[part.call.id].append(part)
    return found


@dataclass(slots=True)
class _OpenTurn:
    events: list[Event] = field(default_factory=list)
    decisions: dict[str, str] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if isinstance(event, ToolDecided):
            self.decisions[event.call.id] = decision_words(event)
        self.events.append(event)

    def view(self, over: Turn) -> TurnView:
        answer = over.message.text if isinstance(over, TurnFinished) else ""
        return TurnView(over, tuple(entries(self.events, answer)), self.decisions)


class Timeline:
    """Creates views from the events of a run as they come, holding only the open turns in memory.

    An aborted turn has no view; its events are shown before what follows.
    """

    def __init__(self) -> None:
        self._turns: dict[str, _OpenTurn] = {}
        self._between: list[Event] = []

    @property
    def open_turns(self) -> Mapping[str, Sequence[Event]]:
        """The speakers that are answering, with their events so far."""
        return {speaker: turn.events for speaker, turn in self._turns.items()}

    def take(self, event: Event) -> Iterator[TurnView | TimelineEntry]:
        speaker = getattr(event, "speaker", "")
        match event:
            case TurnStarted() | TurnFinished() | TurnFailed():
                yield from self.flush()
                turn = self._turns.pop(speaker, _OpenTurn())
                if isinstance(event, TurnStarted):
                    self._between += turn.events
                    self._turns[speaker] = _OpenTurn()
                else:
                    yield turn.view(event)
            case RunResumed():
                self._between += (*self._unfinished_events(), event)
            case _ if speaker in self._turns:
                self._turns[speaker].take(event)
            case _:
                self._between.append(event)

    def flush(self) -> Iterator[TimelineEntry]:
        """Returns entries for the events between turns since the last view."""
        events, self._between = self._between, []
        return entries(events)

    def end(self) -> Iterator[TimelineEntry]:
        self._between += self._unfinished_events()
        return self.flush()

    def _unfinished_events(self) -> list[Event]:
        events = [event for turn in self._turns.values() for event in turn.events]
        self._turns.clear()
        return events


def timeline(run_dir: Path) -> Iterator[TurnView | TimelineEntry]:
    """Yields the turns of a run, and what happened between them."""
    views = Timeline()
    for _, event in read(run_dir):
        yield from views.take(event)
    yield from views.end()


def turn_view(run_dir: Path, turn: Turn) -> TurnView:
    """Returns a turn of the run with what led to it."""
    views = (view for view in timeline(run_dir) if isinstance(view, TurnView) and view.event == turn)
    return next(views, TurnView(turn, (), {}))


def entries(events: Iterable[Event], answer: str = "") -> Iterator[TimelineEntry]:
    """Yields the events before an answer, with each draft where it was judged, and each text and reason only once."""
    ordered = _with_drafts_in_place(list(events))
    dropped = {(event.text, event.usage): event.reason for event in ordered if isinstance(event, DraftDropped)}
    reason, known = "", set[str]()
    for event in ordered:
        match event:
            case StuckFound():
                reason = event.reason
            case HelpAsked(reason=given) if given == reason:
                event = replace(event, reason="")
        outcome = _outcome(event, answer, dropped) if isinstance(event, ModelConsulted) else ""
        texts = tuple(_texts(event, known))
        known.update(text for _, text in texts)
        yield TimelineEntry(event, sentence(event) + outcome, texts)


def _with_drafts_in_place(events: list[Event]) -> list[Event]:
    """Moves dropped drafts to where they were found stuck: the event comes only with a better answer."""
    ordered: list[Event] = []
    for event in events:
        place = len(ordered)
        if isinstance(event, DraftDropped) and event.attempt:
            judged = (at + 1 for at, other in enumerate(ordered) if _is_judged(other, event))
            place = max(judged, default=place)
        ordered.insert(place, event)
    return ordered


def _is_judged(event: Event, draft: DraftDropped) -> bool:
    return isinstance(event, StuckFound) and event.attempt == draft.attempt


def _texts(event: Event, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields what was shown and said, except texts that were shown before."""
    match event:
        case HintGiven(text=text):
            yield "what it was told", text
        case ModelConsulted(shown=shown, text=text):
            yield from [("what it was shown", shown)] if shown and shown not in known else ()
            yield from [("what it said", text)] if text else ()
        case DraftDropped(text=text) | BoostStep(text=text) | AnswerChecked(text=text) if text not in ("", *known):
            yield "what it said", text


def _outcome(event: ModelConsulted, answer: str, dropped: Mapping[tuple[str, Usage], str]) -> str:
    """Describes what became of a consulted model's text; nothing if that is unknown."""
    if not event.text:
        return ""
    if reason := dropped.get((event.text, event.usage)):
        return f"; it is not used: {reason.rstrip('.')}"
    if answer.strip() and answer.strip() in event.text:
        return "; it becomes the answer"
    return f"; {event.speaker} goes on from it" if answer and event.role in ("helper", "boost") else ""
