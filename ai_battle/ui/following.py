"""Streams runs to the page: new records of their journals, and the drafts of answers meanwhile."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pydantic_core import to_json

from ..arbiter.verdict import FILE as VERDICTS
from ..arbiter.verdict import read_verdicts
from ..conversation.reading import FILE, event_of, whole_lines
from ..conversation.runs import RunOverview
from ..conversation.visibility import VisibilityFilter
from ..core.errors import JournalError
from ..core.events import Concluded, Event, PhaseStarted, PromptGiven, RunFinished, TurnFinished
from ..core.files import is_locked
from ..core.messages import Document, Image, Part, Text, Thinking
from ..core.texts import about, each_text, printable
from ..reporting.account import RunAccount
from ..reporting.exports import PICTURES
from ..reporting.figures import colour, count, count_of, dollars, duration, moment
from ..reporting.pages import base64_text, excerpt, fold_title, prose_tree
from ..reporting.sentences import (
    arguments,
    attachment,
    badges,
    outcome_markdown,
    phase_title,
    phase_words,
    sentence,
    verdict_words,
)
from ..reporting.turn_view import Timeline, TimelineEntry, ToolCard, TurnView
from .live import AnswerDraft, LiveRun, LiveRuns

FRAME, LOOK, ALIVE = 0.04, 1.0, 15.0
"""Seconds between two pieces of a stream, two looks at runs of other processes, and two signs of life."""
FIRST_BATCH, LARGEST_BATCH = 40, 320
"""Records in a piece: few in the first one, so that it shows at once; later ones grow, as each costs a frame."""
LARGEST_PICTURE = 2_000_000
NO_RESULT = {"failed": False, "result": ""}

Item = dict[str, Any]


def item_of(view: TurnView | TimelineEntry) -> Item | None:
    """Returns what the page shows of a view, or None for nothing.

    Texts of models are strings, or trees of known elements, so that the page never inserts HTML.
    """
    match view:
        case TurnView(event=TurnFinished() as turn):
            usage, mark = turn.usage, about(estimated=turn.usage.estimated)
            tokens = f"{mark}{count(usage.input_tokens)} → {mark}{count(usage.output_tokens)} tokens"
            facts = " · ".join((turn.model, duration(turn.seconds), tokens, dollars(usage.cost_usd)))
            item = {"kind": "turn", "turn": turn.turn, "speaker": turn.speaker, "facts": facts}
            item |= {"badges": badges(turn), "story": _story(view), "parts": [*map(_part, view.parts)]}
        case TurnView(event=failed):
            item = {"kind": "failure", "turn": failed.turn, "words": sentence(failed), "story": _story(view)}
        case TimelineEntry(event=PhaseStarted() as phase):
            item = {"kind": "phase", "title": phase_title(phase), "words": phase_words(phase)}
        case TimelineEntry(event=PromptGiven() as prompt):
            item = {"kind": "prompt", "parts": [*map(_prompt_part, prompt.message.parts)]}
        case TimelineEntry(event=Concluded() as outcome) if outcome.text:
            parts = [{"prose": prose_tree(outcome_markdown(outcome))}]
            item = {"kind": "outcome", "speaker": outcome.speaker, "parts": parts, **_remark(view)}
        case _ if view.words:
            item = {"kind": "remark", **_remark(view)}
        case _:
            return None
    shown: Item = each_text(item, printable)
    return shown


def _story(view: TurnView) -> list[Item]:
    return [_remark(entry) for entry in view.entries if entry.words]


def _remark(entry: TimelineEntry) -> Item:
    return {"words": entry.words, "texts": [list(text) for text in entry.texts]}


def _prompt_part(part: Part) -> Item:
    return {**_part(part), "fold": fold_title(part)}


def _part(part: Part | ToolCard) -> Item:
    match part:
        case Text(text):
            return {"prose": prose_tree(text)}
        case Thinking(text):
            return {"thinking": prose_tree(text)}
        case ToolCard(call, result):
            came = {"failed": result.is_error, "result": excerpt(result.text)} if result else NO_RESULT
            return {"tool": part.title, "arguments": arguments(call), **came}
        case Image(media_type, data) if media_type in PICTURES and 0 < len(data) <= LARGEST_PICTURE:
            return {"file": attachment(part), "picture": f"data:{media_type};base64,{base64_text(data)}"}
        case Image() | Document():
            return {"file": attachment(part)}
    return {"prose": []}


def facts_of(run: RunAccount) -> Item:
    """Returns the head of a run: its progress, its usage, and its participants."""
    used = f"{about(estimated=run.usage.estimated)}{count_of(run.usage.total_tokens, 'token')}"
    cost = f"cost {dollars(run.usage.cost_usd)}"
    facts = {
        "title": run.title,
        "used": " · ".join((run.name, moment(run.begun), count_of(run.turns, "turn"), used, cost)),
        "reason": run.stop_reason,
        "participants": [
            {"name": each.name, "model": each.model, "colour": colour(place)}
            for place, each in enumerate(run.participants.values())
        ],
    }
    shown: Item = each_text(facts, printable)
    return shown


class RunFollower:
    """Reads a run for one listener, which has all records up to `after`, sending each later one exactly once.

    Drafts, questions and the status are sent as their present state, not as a history.
    """

    def __init__(self, run_dir: Path, after: int = -1) -> None:
        self.run_dir = run_dir
        self._after = after
        self._account = RunAccount(run_dir.name)
        # A person taking part must not see turns meant for others before the run is over.
        self._visibility = None if RunOverview.read(run_dir).status in ("done", "limit") else VisibilityFilter()
        self._timeline = Timeline()
        self._place = self._next = 0
        self._told: Item = {}
        self._draft = (0, 0, 0)
        self._verdicts: tuple[int, list[Item]] = (0, [])
        self._batch = FIRST_BATCH
        self._is_broken = False

    @property
    def position(self) -> int:
        """The number of the last record that the listener has."""
        return max(self._after, self._next - 1)

    def news(self, runs: LiveRuns) -> Iterator[Item]:
        """Yields what is new, in pieces of a few records each."""
        live = runs.get(self.run_dir.name)
        while (items := self._read()) is not None:
            yield {"items": items, "facts": facts_of(self._account)}
        state = self._state(live, is_judging=self.run_dir.name in runs.judging)
        changed = {key: value for key, value in state.items() if self._told.get(key) != value}
        self._told |= changed
        if news := changed | self._draft_of(live.draft if live else None):
            yield news

    def _read(self) -> list[Item] | None:
        """Returns the items of the next records, or None when all are read."""
        place, items = self._place, list[Item]()
        if self._is_broken or not self._has_grown():
            return None
        batch, self._batch = self._batch, min(2 * self._batch, LARGEST_BATCH)
        try:
            for line in islice(whole_lines(self.run_dir, place), batch):
                self._place = line.end
                if line.record["seq"] >= self._next:
                    self._next = line.record["seq"] + 1
                    items += self._items(event_of(line, self.run_dir), str(line.record["time"]))
        except JournalError as error:
            self._is_broken = True
            items.append({"kind": "failure", "words": printable(str(error)), "story": []})
        return items if self._place > place or items else None

    def _items(self, event: Event, time: str) -> Iterator[Item]:
        self._account.begun = self._account.begun or time
        self._account.take(event)
        if (shown := self._visibility.filter_event(event) if self._visibility else event) is None:
            return iter(())
        views = [*self._timeline.take(shown), *self._timeline.flush()]
        if isinstance(event, RunFinished):
            views += self._timeline.end()
        return filter(None, map(item_of, views)) if self._next - 1 > self._after else iter(())

    def _has_grown(self) -> bool:
        try:
            return (self.run_dir / FILE).stat().st_size > self._place
        except OSError:
            return False

    def _state(self, live: LiveRun | None, *, is_judging: bool) -> Item:
        is_ours = live is not None and live.is_active
        status = "judging" if is_judging else "running" if is_ours else self._status
        return {
            "status": status,
            "ours": is_ours,
            "answering": [*self._timeline.open_turns] if status == "running" else [],
            "questions": [each.to_json() for each in live.questions.values()] if live else [],
            "error": printable(live.error) if live else "",
            "verdicts": self._read_verdicts(),
        }

    @property
    def _status(self) -> str:
        if not self.run_dir.is_dir():
            return "gone"
        return "running" if is_locked(self.run_dir) else self._account.status

    def _read_verdicts(self) -> list[Item]:
        """Returns verdicts given after the run. Reads their file again only if its size has changed."""
        size = 0
        with suppress(OSError):
            size = (self.run_dir / VERDICTS).stat().st_size
        if size != self._verdicts[0]:
            self._verdicts = (size, [*_verdict_items(self.run_dir)])
        return self._verdicts[1]

    def _draft_of(self, draft: AnswerDraft | None) -> Item:
        """Returns the news of the draft: more text, or all of it if `fresh`, or None if it is gone."""
        now = (draft.number, len(draft.pieces), len(draft.notes)) if draft else (0, 0, 0)
        before, self._draft = self._draft, now
        if now == before:
            return {}
        if draft is None:
            return {"draft": None}
        is_fresh = draft.number != before[0]
        text = "".join(draft.pieces if is_fresh else draft.pieces[before[1] :])
        shown = {"speaker": draft.speaker, "turn": draft.turn, "fresh": is_fresh, "text": printable(text)}
        notes = [*map(printable, draft.notes)]
        return {"draft": {**shown, "notes": notes, "tentative": draft.tentative, "thinking": draft.thinking}}


def _verdict_items(run_dir: Path) -> Iterator[Item]:
    try:
        for verdict in read_verdicts(run_dir):
            item = {"words": verdict_words(verdict), "rows": [*map(list, verdict.rows)], "remarks": [*verdict.remarks]}
            yield each_text(item, printable)
    except JournalError as error:
        yield {"words": printable(str(error)), "rows": [], "remarks": []}


async def stream(followers: Sequence[RunFollower], runs: LiveRuns) -> AsyncGenerator[bytes]:
    """Yields server-sent events until the server ends: "run" with news of one run, "runs" with the active runs.

    Each id is the position in all runs, for reconnecting. A listener gets only a few pieces a second.
    """
    listener, last_active, silent = runs.listen(), "", 0.0
    try:
        while True:
            listener.clear()
            is_last, silent = runs.is_closed, silent + LOOK
            for piece in _news(followers, runs):
                yield piece
                silent = 0.0
                await asyncio.sleep(0)  # let other tasks run, as a long run has many pieces
            active = json.dumps({name: len(run.questions) for name, run in runs.active.items()})
            if active != last_active or silent > ALIVE:
                last_active, silent = active, 0.0
                yield f"event: runs\ndata: {active}\n\n".encode()
            if is_last:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(listener.wait(), LOOK)
            await asyncio.sleep(FRAME)
    finally:
        runs.forget(listener)


def _news(followers: Sequence[RunFollower], runs: LiveRuns) -> Iterator[bytes]:
    for follower in followers:
        name = follower.run_dir.name
        for news in follower.news(runs):
            place = urlencode({each.run_dir.name: each.position for each in followers})
            yield b"event: run\nid: %s\ndata: %s\n\n" % (place.encode(), to_json({"run": name, **news}))
