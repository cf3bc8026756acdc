"""A run that is taken up again: no finished turn is lost, none is played twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.conversation.journal import Journal
from ai_battle.conversation.reading import read
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError, JournalError
from ai_battle.core.events import (
    Emit,
    Event,
    EventLog,
    ModelReplied,
    RunResumed,
    SpeakerSelected,
    Summarised,
    TurnFinished,
    ignore,
)
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage, estimate_request
from ai_battle.core.ledger import SpendingLimits
from ai_battle.core.messages import assistant


class Counting(ModelClient):
    """Says how many messages it was sent, so that every answer depends on the whole request; choosers get a name."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.calls += 1
        said = "".join(message.text for message in request.messages)
        text = f"{len(request.messages)} messages, {len(said)} characters."
        if request.output_schema:
            names = request.output_schema["properties"]["next"]["enum"]
            text = f"Next: {names[len(said) % len(names)]}"
        return ModelResponse(assistant(text), usage=Usage(len(said) // 4, 10, cost_usd=0.01), model="counting")


SETTINGS: dict[str, dict[str, object]] = {
    "round robin": {},
    "random": {"speaker_selection": "random"},
    "moderator": {"speaker_selection": "moderator"},
    "auto": {"speaker_selection": "auto"},
    "parallel": {"parallel": True},
    "limit": {"limits": SpendingLimits(tokens=700)},
    "folding": {"max_conversation_tokens": 300},
    "stop": {"stop": {"max_messages": 5}},
    "outcome": {"outcome": "Say what it came to."},
    "parallel and limit": {"parallel": True, "limits": SpendingLimits(tokens=66)},
    "parallel and stop": {"parallel": True, "stop": {"max_messages": 2}},
    "three, auto and limit": {"speaker_selection": "auto", "limits": SpendingLimits(tokens=300)},
}


def manager(kind: str, out: Path | None = None) -> tuple[ConversationManager, list[Counting]]:
    roles = ("moderator", "human", "assistant", "observer", *(["assistant"] if kind.startswith("three") else []))
    clients = [Counting() for _ in roles]
    people = [
        Participant(name, client, role=role)  # type: ignore[arg-type]
        for name, client, role in zip(("chair", "ada", "bob", "eve", "dan"), clients, roles, strict=False)
    ]
    made = ConversationManager(people, goal="Count.", turns=3, mode="ai-ai", out=out, **SETTINGS[kind])  # type: ignore[arg-type]
    return made, clients


def outcome_in(run_dir: Path) -> list[str]:
    return [file.read_text() for file in run_dir.glob("outcome.*")]


def is_paid_twice(kept: list[Event]) -> bool:
    """Tells whether the process died between an answer and its turn: it is paid for once more, and a limit says so."""
    open_turn = [event for event in kept if isinstance(event, ModelReplied | TurnFinished | SpeakerSelected)]
    return bool(open_turn) and isinstance(open_turn[-1], ModelReplied)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if number % 3 else ()) for number, kind in enumerate(SETTINGS)]
)
async def test_wherever_the_journal_ends_the_resumed_run_says_the_same_and_repeats_nothing(
    kind: str, tmp_path: Path
) -> None:
    whole, clients = manager(kind, tmp_path / "whole")
    expected = await whole.run_discussion()
    texts = [message.text for message in expected.messages]
    all_calls = sum(client.calls for client in clients)
    lines = (tmp_path / "whole/journal.jsonl").read_bytes().splitlines(keepends=True)

    for cut in range(1, len(lines)):
        run_dir = tmp_path / f"cut{cut}"
        run_dir.mkdir()
        (run_dir / "journal.jsonl").write_bytes(b"".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
        kept = [event for _, event in read(run_dir)]
        done = sum(isinstance(event, TurnFinished) for event in kept)

        again, clients = manager(kind)
        result = await again.resume(run_dir)

        if "limits" in SETTINGS[kind] and is_paid_twice(kept):
            continue
        assert [message.text for message in result.messages] == texts, cut
        assert outcome_in(run_dir) == outcome_in(tmp_path / "whole"), cut
        assert (result.status, result.stop_reason.partition(":")[0]) == (
            expected.status,
            expected.stop_reason.partition(":")[0],
        )
        assert sum(client.calls for client in clients) <= all_calls - done


async def test_a_finished_run_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    first, _ = manager("round robin", tmp_path / "run")
    expected = await first.run_discussion()
    before = (tmp_path / "run/journal.jsonl").read_bytes()

    again, clients = manager("round robin")
    result = await again.resume(tmp_path / "run", log := EventLog())

    assert (result.status, result.turns, result.usage) == (expected.status, expected.turns, expected.usage)
    assert before == (tmp_path / "run/journal.jsonl").read_bytes()
    assert [client.calls for client in clients] == [0, 0, 0, 0]
    assert log.events == []


async def test_a_failed_run_goes_on_where_it_failed(tmp_path: Path) -> None:
    from ai_battle.providers.scripted import ScriptedClient

    people = [Participant("ada", ScriptedClient("One.")), Participant("bob", ScriptedClient({"fail": "unauthorized"}))]
    failed = await ConversationManager(people, goal="Talk.", turns=1, out=tmp_path / "run").run_discussion()
    assert failed.status == "failed"

    mended = [Participant("ada", ScriptedClient()), Participant("bob", ScriptedClient("Two."))]
    result = await ConversationManager(mended, goal="Talk.", turns=1).resume(tmp_path / "run", log := EventLog())

    assert [message.text for message in result.messages] == ["Talk.", "One.", "Two."]
    assert isinstance(log.events[0], RunResumed)
    assert log.events[0].turn == 2


async def test_a_run_directory_that_is_in_use_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    first, _ = manager("round robin", tmp_path / "run")
    await first.run_discussion()

    second, clients = manager("round robin", tmp_path / "run")
    with pytest.raises(ConfigError, match="exists and is not empty"):
        await second.run_discussion()
    assert [client.calls for client in clients] == [0, 0, 0, 0]


class Dense(Counting):
    """A vocabulary that needs twice the tokens of the estimate, which moves the moment at which turns are folded."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        response = await super().complete(request, emit)
        said = assistant(f"{response.text} " + "And so on, and so on. " * 6)
        return replace(response, message=said, usage=Usage(2 * estimate_request(request), 10, cost_usd=0.01))


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, True])
async def test_a_resumed_run_knows_what_was_learnt_of_the_models_tokens(parallel: bool, tmp_path: Path) -> None:
    """Cut at any line, it folds the same turns at the same moment as the run that was not interrupted."""

    def dense(out: Path | None = None) -> ConversationManager:
        people = [Participant(name, Dense(), persona="I count. " * 40) for name in ("ada", "bob", "cleo")]
        return ConversationManager(
            people, goal="Count.", turns=6, parallel=parallel, max_conversation_tokens=1_500, out=out
        )

    expected = await dense(tmp_path / "whole").run_discussion(log := EventLog())
    folds = [event for event in log.events if isinstance(event, Summarised)]
    lines = (tmp_path / "whole/journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(folds) > 1

    for cut in range(1, len(lines)):
        run_dir = tmp_path / f"cut{cut}"
        run_dir.mkdir()
        (run_dir / "journal.jsonl").write_bytes(b"".join(lines[:cut]))

        result = await dense().resume(run_dir)

        assert [message.text for message in result.messages] == [message.text for message in expected.messages], cut
        assert [event for _, event in read(run_dir) if isinstance(event, Summarised)] == folds, cut


async def test_a_run_that_somebody_else_goes_on_with_is_not_even_read(tmp_path: Path) -> None:
    """Whatever the journal says by then, it may say something else when the lock is free."""
    run_dir = tmp_path / "run"
    first, _ = manager("round robin", run_dir)
    await first.run_discussion()
    held = Journal.reopen(run_dir)
    (run_dir / "journal.jsonl").write_text("unreadable\nunreadable\n")

    again, _ = manager("round robin")
    with pytest.raises(JournalError, match="in use by process"):
        await again.resume(run_dir)
    await held.close()


def say(*texts: str) -> list[object]:
    """Every second answer comes after an attempt that fails."""
    return [entry for n, text in enumerate(texts) for entry in ([{"fail": "rate_limited"}] * (n % 2) + [text])]


BY_RULE = {"match": "asks something.$", "say": "That is answered by rule."}
FAILURE = {"match": "fails here.$", "fail": "bad_reply"}
SCRIPTED = {
    "turns": 3,
    "speaker_selection": "moderator",
    "goal": "Talk.",
    "timeouts": {"retry_count": 1},
    "execution": {"max_conversation_tokens": 400},
    "models": {
        "chair": {
            "type": "scripted",
            "role": "moderator",
            "when": [{"match": f"Choose one: .*{name}", "say": name} for name in ("bob", "ada")],
            "script": say("Welcome.", "Notes.", "Goodbye."),
        },
        "ada": {
            "type": "scripted",
            "when": [BY_RULE],
            "script": say("It fails here.", *(f"{n} " + "word " * 60 for n in range(9))),
        },
        "bob": {
            "type": "scripted",
            "when": [FAILURE],
            "script": say("Bob asks something.", "Bob goes on.", *(f"{n} " + "term " * 60 for n in range(9))),
        },
        "cleo": {"type": "scripted", "script": ["Nobody chooses me."]},
    },
}


@pytest.mark.slow
async def test_scripts_with_rules_and_failures_go_on_where_they_were(tmp_path: Path) -> None:
    """Rules use up no entry, whoever is asked and whatever for: turns, choices, summaries."""
    whole = ConversationManager.from_config({"discussion": SCRIPTED}, out=tmp_path / "whole")
    expected = await whole.run_discussion()
    texts = [message.text for message in expected.messages]
    assert (expected.status, texts[-1], "That is answered by rule." in texts) == ("done", "Goodbye.", True)
    lines = (tmp_path / "whole/journal.jsonl").read_bytes().splitlines(keepends=True)

    for cut in range(1, len(lines)):
        run_dir = tmp_path / f"cut{cut}"
        run_dir.mkdir()
        (run_dir / "config.yaml").write_bytes((tmp_path / "whole/config.yaml").read_bytes())
        (run_dir / "journal.jsonl").write_bytes(b"".join(lines[:cut]))

        result = await ConversationManager.from_config({"discussion": SCRIPTED}).resume(run_dir)

        assert [message.text for message in result.messages] == texts, cut


async def test_a_last_word_that_was_not_said_is_not_taken_for_a_turn(tmp_path: Path) -> None:
    """The run was stopped by a limit, also when it is taken up again right before its end."""
    models = {
        "ada": {"type": "scripted", "script": ["Once upon a time. " * 8, "There was a king. " * 8]},
        "bob": {"type": "scripted", "script": ["And?", {"fail": "refused"}]},
    }
    told = {"goal": "Tell.", "turns": 2, "mode": "ai-ai", "models": models, "limits": {"tokens": 500}}
    manager = ConversationManager.from_config({"discussion": told}, out=tmp_path / "run")
    expected = await manager.run_discussion()
    lines = (tmp_path / "run/journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run/journal.jsonl").write_bytes(b"".join(lines[:-1]))

    result = await manager.resume(tmp_path / "run")

    assert b'"kind":"wrap_up"' in lines[-2]
    assert (result.status, result.stop_reason) == (expected.status, expected.stop_reason)
    assert expected.status == "limit"
