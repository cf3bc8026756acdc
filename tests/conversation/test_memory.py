"""The context budget: old turns are folded, what matters stays, and memory stays flat."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.collaboration._attempts import HelpedModel, take_over
from ai_battle.conversation.prompting import prompt
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ContextTooLong
from ai_battle.core.events import Emit, EventLog, Summarised, TurnFailed, Warned, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage, estimate_request
from ai_battle.core.messages import assistant
from ai_battle.judging.detector import StuckDetector
from ai_battle.providers.scripted import ScriptedClient

MARKINGS = (
    "DECISION: {0}.",
    "**Decision:** {0}.",
    "Decision 3: {0}.",
    "We decided that {0}.",
    "After some back and forth we agreed that {0}.",
    "So it's settled: {0}.",
    "- We have decided: {0}",
    "AGREED: {0}",
    "Good. We've now agreed: {0}.",
    "Decision:\n{0}.",
)
SUBJECTS = (
    ("the ferry leaves at {0}", "the deposit is {0} euro", "the crew is {0} people", "the fuel is from tank {0}"),
    (
        "the museum opens at {0}",
        "the ticket costs {0} crowns",
        "room {0} stays closed",
        "the audio guide has {0} stops",
    ),
    ("the recipe takes {0} grams of flour", "the oven is at {0} degrees", "it rests for {0} minutes", "it serves {0}"),
    ("the port is {0}", "the timeout is {0} ms", "the pool has {0} connections", "version {0} is the oldest supported"),
)
FILLER = "I would like to look at this from another side before we go on, because there is more to weigh than that. "


def long_dialogue(seed: int) -> tuple[list[str], list[str]]:
    """Forty turns, and the facts of the six marked decisions among the first thirty."""
    random = Random(seed)
    subjects = [subject for group in SUBJECTS for subject in group]
    facts = [subject.format(random.randrange(100, 9999)) for subject in random.sample(subjects, 6)]
    turns = [FILLER * random.randrange(2, 6) + f"Point {n}." for n in range(40)]
    for fact, position in zip(facts, random.sample(range(30), 6), strict=True):
        turns[position] += f" {random.choice(MARKINGS).format(fact)} " + FILLER
    return turns, facts


class Speaker(ModelClient):
    """Says its lines; asked for a summary, it gives `notes` (or raises what it is)."""

    def __init__(self, lines: Iterator[str], notes: str | Exception = "They talked about several points.") -> None:
        self.lines, self.notes = lines, notes
        self.requests: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        usage = Usage(estimate_request(request), 20, cost_usd=0.0)
        if request.system != prompt("summariser"):
            self.requests.append(request)
            return ModelResponse(assistant(next(self.lines)), usage=usage, model="speaker")
        self.summaries.append(request)
        if isinstance(self.notes, Exception):
            raise self.notes
        return ModelResponse(assistant(self.notes), usage=usage, model="speaker")


def pair(make: Callable[[], Speaker]) -> tuple[list[Participant], list[Speaker]]:
    clients = [make(), make()]
    return [Participant(n, c, persona=f"I am {n}.") for n, c in zip(("ada", "bob"), clients, strict=True)], clients


@pytest.mark.slow
async def test_nine_in_ten_marked_decisions_of_20_long_dialogues_reach_the_next_request(tmp_path: Path) -> None:
    planted, kept = 0, 0
    for seed in range(20):
        turns, facts = long_dialogue(seed)
        lines = iter(turns)
        people, clients = pair(lambda lines=lines: Speaker(lines))  # type: ignore[misc]
        manager = ConversationManager(
            people, goal="Plan it.", turns=20, max_conversation_tokens=1200, out=tmp_path / str(seed)
        )
        await manager.run_discussion(log := EventLog())

        assert sum(isinstance(event, Summarised) for event in log.events) >= 2
        last = clients[1].requests[-1]
        sent = last.system + "".join(message.text for message in last.messages)
        planted += len(facts)
        kept += sum(fact in sent for fact in facts)

    print(f"{kept} of {planted} decisions kept")
    assert planted == 120
    assert kept >= 0.9 * planted


async def test_no_request_exceeds_the_budget_and_goal_and_persona_always_stay(tmp_path: Path) -> None:
    lines = (f"{FILLER * 3}Point {n}." for n in count())
    people, clients = pair(lambda: Speaker(lines))
    manager = ConversationManager(
        people, goal="Keep this goal.", turns=60, max_conversation_tokens=1500, out=tmp_path / "run"
    )

    result = await manager.run_discussion(log := EventLog())

    for name, client in zip(("ada", "bob"), clients, strict=True):
        assert max(map(estimate_request, client.requests)) <= 1500
        assert all("Keep this goal." in request.messages[0].text for request in client.requests)
        assert all(f"I am {name}." in request.system for request in client.requests)
        assert "They talked about several points." in client.requests[-1].messages[0].text
        assert {message.role for message in client.requests[-1].messages[::2]} == {"user"}
    folds = [event for event in log.events if isinstance(event, Summarised)]
    assert all(event.usage.input_tokens and event.model == "speaker" for event in folds)
    assert result.usage.input_tokens > sum(event.usage.input_tokens for event in folds)
    assert len(result.messages) == 121, "the journal has them all"


async def test_the_window_of_the_model_is_a_budget_too(tmp_path: Path) -> None:
    lines = (f"{FILLER * 3}Point {n}." for n in count())
    small = Speaker(lines)
    people = [
        Participant("ada", small, window=2000, parameters={"max_tokens": 500}),
        Participant("bob", Speaker(lines), window=1_000_000),
    ]

    await ConversationManager(people, goal="Talk.", turns=25, out=tmp_path / "run").run_discussion()

    assert small.summaries
    assert max(map(estimate_request, small.requests)) <= 1500
    assert all(request.options["max_tokens"] <= 500 for request in small.summaries)


@pytest.mark.parametrize("notes", [ContextTooLong("too long"), ""], ids=["error", "empty"])
async def test_when_summarising_fails_the_oldest_are_dropped_and_it_is_said(
    notes: Exception | str, tmp_path: Path
) -> None:
    lines = (f"{FILLER * 3}Point {n}." for n in count())
    people, clients = pair(lambda: Speaker(lines, notes))
    manager = ConversationManager(people, goal="Talk.", turns=20, max_conversation_tokens=1200, out=tmp_path / "run")

    result = await manager.run_discussion(log := EventLog())

    assert result.status == "done"
    assert max(estimate_request(request) for client in clients for request in client.requests) <= 1200
    assert all(event.text == "" for event in log.events if isinstance(event, Summarised))
    assert any(isinstance(event, Warned) and "dropped" in event.message for event in log.events)


async def test_a_prompt_that_no_summary_makes_short_enough_is_reported_once_for_each_participant(
    tmp_path: Path,
) -> None:
    people, _ = pair(lambda: Speaker(f"Point {n}." for n in count()))
    manager = ConversationManager(people, goal=FILLER * 30, turns=4, max_conversation_tokens=400, out=tmp_path / "run")

    await manager.run_discussion(log := EventLog())

    warnings = [event.message for event in log.events if isinstance(event, Warned)]
    assert [warning.partition(" needs ")[0] for warning in warnings] == ["A request of ada", "A request of bob"]


async def test_no_meta_drops_the_oldest_without_a_word_to_the_models(tmp_path: Path) -> None:
    lines = (f"{FILLER * 3}Point {n}." for n in count())
    people, clients = pair(lambda: Speaker(lines))
    manager = ConversationManager(
        people, goal="Talk.", turns=20, mode="no-meta", max_conversation_tokens=1200, out=tmp_path / "run"
    )

    await manager.run_discussion(log := EventLog())

    assert not clients[0].summaries
    assert any(isinstance(event, Warned) and "dropped" in event.message for event in log.events)
    assert all("Notes" not in m.text for client in clients for r in client.requests for m in r.messages)


async def test_a_request_that_a_model_finds_too_long_is_shortened_once(tmp_path: Path) -> None:
    bob = ScriptedClient("1.", "2.", "3.", {"fail": "context_too_long"}, "They counted.", "4.")
    people = [Participant("ada", ScriptedClient("One.", "Two.", "Three.", "Four.")), Participant("bob", bob)]

    result = await ConversationManager(people, goal="Count.", turns=4, out=tmp_path / "run").run_discussion(
        log := EventLog()
    )

    assert [message.text for message in result.messages][-1] == "4."
    assert not any(isinstance(event, TurnFailed) for event in log.events)
    assert "They counted." in bob.requests[-1].messages[0].text
    assert len(bob.requests[-1].messages) < len(bob.requests[3].messages)


async def test_a_helper_answers_only_what_is_still_too_long_when_shortened(tmp_path: Path) -> None:
    too_long = {"fail": "context_too_long"}
    bob = ScriptedClient("1.", "2.", "3.", too_long, "They counted.", "4.", too_long, "Still.", too_long)
    helper = ScriptedClient("5, and all is counted.")
    pair = HelpedModel("takeover", bob, helper, (take_over,), StuckDetector(threshold=0.0))
    people = [Participant("ada", ScriptedClient("One.", loop=True)), Participant("bob", pair)]

    result = await ConversationManager(people, goal="Count.", turns=5, out=tmp_path / "run").run_discussion()

    assert [message.text for message in result.messages][-3:] == ["4.", "One.", "5, and all is counted."]
    assert len(helper.requests) == 1


async def test_a_request_that_is_still_too_long_is_a_failed_turn(tmp_path: Path) -> None:
    bob = ScriptedClient({"fail": "context_too_long"}, {"fail": "context_too_long"}, loop=True)
    people = [Participant("ada", ScriptedClient("One.", loop=True)), Participant("bob", bob)]

    result = await ConversationManager(people, goal="Count.", out=tmp_path / "run").run_discussion()

    assert (result.status, result.stop_reason[:4]) == ("failed", "bob:")


async def test_the_estimate_learns_from_what_the_model_reports(tmp_path: Path) -> None:
    class Denser(Speaker):
        """A vocabulary that needs twice the tokens of the estimate."""

        async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
            response = await super().complete(request, emit)
            usage = Usage(2 * estimate_request(request), 20, cost_usd=0.0)
            return ModelResponse(response.message, usage=usage, model="denser")

    lines = (f"{FILLER * 3}Point {n}." for n in count())
    people, clients = pair(lambda: Denser(lines))

    manager = ConversationManager(people, goal="Talk.", turns=40, max_conversation_tokens=3000, out=tmp_path / "run")
    await manager.run_discussion()

    assert max(2 * estimate_request(request) for client in clients for request in client.requests) <= 3000


@pytest.mark.slow
async def test_ten_thousand_turns_stay_flat_in_memory(tmp_path: Path) -> None:
    """The last nine tenths of the run need no more memory than the first one."""

    class Chatter(ModelClient):
        async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
            is_summary = request.system == prompt("summariser")
            said = "Notes." if is_summary else f"{FILLER}DECISION: keep {id(request) % 977}."
            return ModelResponse(assistant(said), usage=Usage(1, 1, cost_usd=0.0), model="chatter")

    sizes: list[int] = []

    async def weigh(event: object) -> None:
        if getattr(event, "turn", 0) in (1000, 10_000):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])

    people = [Participant("ada", Chatter()), Participant("bob", Chatter())]
    manager = ConversationManager(
        people, goal="Talk.", turns=5000, max_conversation_tokens=2000, stop={"no_novelty": False}, out=tmp_path / "run"
    )
    tracemalloc.start()
    try:
        result = await manager.run_discussion(weigh)
    finally:
        tracemalloc.stop()

    assert result.turns == 10_000
    assert sizes[-1] < sizes[0] + 200_000
