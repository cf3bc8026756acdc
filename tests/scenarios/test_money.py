"""What a discussion costs is known to the cent, and a limit on it is never passed."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, RunResult
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import BudgetReached, EventLog, ModelReplied, Warned
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, Fault, fault, reply

PRICE = {"input": 0.0, "output": 10.0}
"""Dollars per million: 20,000 tokens are twenty cents."""
TWENTY_CENTS = reply("A thought.", usage=Usage(100, 20_000))


def talk(
    *types: str, limits: dict[str, Any] | None = None, parameters: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    models = {f"model{n}": {"type": type_, "parameters": parameters or {}} for n, type_ in enumerate(types)}
    prices = dict.fromkeys(types, PRICE)
    discussion = {"goal": "Talk.", "mode": "ai-ai", "turns": 4, "models": models, "limits": limits or {}, **more}
    return {"discussion": discussion, "prices": prices}


async def run(source: dict[str, Any]) -> tuple[RunResult, EventLog]:
    return await ConversationManager.from_config(source).run_discussion(log := EventLog()), log


def entries(log: EventLog) -> list[ModelReplied]:
    return [event for event in log.events if isinstance(event, ModelReplied)]


@pytest.mark.parametrize(("parallel", "said"), [(False, "0.2"), (True, "0.4")], ids=["one after another", "at once"])
async def test_a_limit_in_dollars_is_not_passed(fakes: FakeProviders, parallel: bool, said: str) -> None:
    """Two calls of $0.20 fit into $0.50, the third is not made; where there is time for it the second sums up."""
    fakes.openai.always(TWENTY_CENTS)
    source = talk(
        *("openai/gpt-4o",) * 5,
        limits={"cost_usd": 0.5},
        parameters={"max_tokens": 20_000},
        execution={"parallel": parallel},
    )
    result, log = await run(source)

    assert len(fakes.openai.questions) == 2
    assert result.usage.cost_usd == pytest.approx(0.4)
    assert (result.status, result.stop_reason) == ("limit", f"cost_usd: {said} of 0.5, and a turn may take 0.2")
    [reached] = [event for event in log.events if isinstance(event, BudgetReached)]
    assert reached.needed == pytest.approx(0.2)


async def test_an_empty_answer_is_paid_for_and_booked(fakes: FakeProviders) -> None:
    """A reasoning model that thinks until its tokens are used up has cost all the same, each time that it is asked."""
    nothing = reply("", usage=Usage(1_000, 5_000, reasoning_tokens=5_000), stop="length")
    fakes.openai.says(nothing, "Here I am.")
    result, log = await run(talk("openai/gpt-4o", "openai/gpt-4o", turns=1))

    wasted = entries(log)[0]
    assert (wasted.failed, wasted.usage.output_tokens) == (True, 5_000)
    assert wasted.usage.cost_usd == pytest.approx(0.05)
    assert result.usage == sum((entry.usage for entry in entries(log)), Usage(cost_usd=0.0))


async def test_what_a_stream_said_of_its_usage_before_it_broke_is_booked(fakes: FakeProviders) -> None:
    """Anthropic tells what it read at the beginning; what it wrote is estimated from what came."""
    fakes.anthropic.says(fault_mid_stream(), "Here I am.")
    _, log = await run(talk("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", turns=1))

    broken = entries(log)[0]
    assert (broken.failed, broken.estimated, broken.usage.input_tokens) == (True, True, 777)
    assert 10 < broken.usage.output_tokens < 60


def fault_mid_stream() -> Fault:
    said = "An answer that goes on for a while, word by word, and breaks in the middle of it. " * 3
    return fault("close_mid_stream", reply=reply(said, usage=Usage(777, 60)))


async def test_where_no_max_tokens_is_set_an_answer_is_kept_to_what_is_left(fakes: FakeProviders) -> None:
    """The 16,384 tokens that the model can write would cost more than the limit: that alone is no reason to refuse."""
    fakes.openai.always(reply("Short.", usage=Usage(20, 900)))
    result, log = await run(talk("openai/gpt-4o", "openai/gpt-4o", limits={"cost_usd": 0.03}))

    sent = [question.body["max_tokens"] for question in fakes.openai.questions]
    assert sent == [3_000, 2_100]
    warned = [event.message for event in log.events if isinstance(event, Warned)]
    assert warned[0].startswith("Answers of openai/gpt-4o are kept to what is left of a limit, 3000 tokens now")
    assert result.status == "limit"
    assert result.usage.cost_usd == pytest.approx(0.018)


async def test_a_limit_that_is_far_away_changes_no_request(fakes: FakeProviders) -> None:
    await run(
        talk("openai/gpt-4o", "anthropic/claude-sonnet-4-5", limits={"cost_usd": 100.0, "tokens": 10**6}, turns=1)
    )

    assert "max_tokens" not in fakes.openai.questions[0].body


async def test_a_limit_in_tokens_is_not_passed_either(fakes: FakeProviders) -> None:
    fakes.ollama.always(reply("Hm.", usage=Usage(1_000, 500)))
    source = talk("ollama/phi4", "ollama/phi4", limits={"tokens": 5_000}, parameters={"max_tokens": 500})
    result, _ = await run(source)

    assert result.usage.total_tokens <= 5_000
    assert result.status == "limit"


async def test_a_limit_in_dollars_refuses_a_model_of_unknown_price(fakes: FakeProviders) -> None:
    source = talk("openai/my-own-model", "ollama/phi4", limits={"cost_usd": 1.0})
    del source["prices"]
    with pytest.raises(ConfigError, match=r"The price of openai/my-own-model is not known.*'unpriced: allow'"):
        ConversationManager.from_config(source)


async def test_or_lets_it_answer_where_the_file_says_so(fakes: FakeProviders) -> None:
    source = talk("openai/my-own-model", "openai/my-own-model", limits={"cost_usd": 1.0, "unpriced": "allow"}, turns=1)
    del source["prices"]
    result, log = await run(source)

    assert result.status == "done"
    assert any("price of" in event.message for event in log.events if isinstance(event, Warned))


async def test_models_on_this_machine_are_free(fakes: FakeProviders) -> None:
    source = talk("ollama/phi4", "ollama/phi4", limits={"cost_usd": 0.01}, turns=1)
    del source["prices"]

    assert (await run(source))[0].status == "done"


async def test_what_was_paid_for_in_vain_counts_after_resuming(fakes: FakeProviders, tmp_path: Path) -> None:
    """An answer whose turn was lost in a crash was paid for, and is paid for again."""
    fakes.openai.always(TWENTY_CENTS)
    source = talk("openai/gpt-4o", "openai/gpt-4o", parameters={"max_tokens": 20_000}, turns=1)
    manager = ConversationManager.from_config(source, out=tmp_path / "run")
    await manager.run_discussion()
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"model_replied"' in line)
    journal.write_text("".join(lines[: last + 1]))

    resumed = await manager.resume(tmp_path / "run")
    assert resumed.usage.cost_usd == pytest.approx(0.6)


@pytest.mark.parametrize("parallel", [False, True], ids=["one after another", "at once"])
async def test_calls_that_a_killed_process_had_begun_are_booked_by_estimate(
    fakes: FakeProviders, tmp_path: Path, parallel: bool
) -> None:
    """The journal ends as if the process had been killed in the second round. A free model needs no entry."""
    fakes.openai.always("Tea.")
    fakes.ollama.always("Milk.")
    source = talk("openai/gpt-4o", "ollama/phi4", "openai/gpt-4o", turns=2, execution={"parallel": parallel})
    source["prices"] = {"openai/gpt-4o": {"input": 10.0, "output": 10.0}}
    result = await ConversationManager.from_config(source, out=tmp_path / "run").run_discussion(EventLog())
    journal = result.run_dir / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    [third] = [place for place, line in enumerate(lines) if b'"turn_finished","turn":3,' in line]
    journal.write_bytes(b"".join(lines[: third + 1 if parallel else third + 2]))

    again = await ConversationManager.from_config(source).resume(result.run_dir, log := EventLog())

    lost = [entry for entry in entries(log) if entry.estimated]
    assert [entry.speaker for entry in lost] == (["model0", "model2"] if parallel else ["model0"])
    assert all(entry.usage.cost_usd == pytest.approx(entry.usage.input_tokens / 1e5) for entry in lost)
    assert again.usage == result.usage + sum((entry.usage for entry in lost), Usage(cost_usd=0.0))
    assert again.usage.estimated
    told = [event.message for event in log.events if isinstance(event, Warned) and "was being asked" in event.message]
    assert len(told) == len(lost)


async def test_the_call_of_a_helper_that_a_killed_process_had_begun_is_booked_on_the_helper(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    """The small model is free and had answered; its helper had not when the process was killed."""
    fakes.ollama.always("7 * 24 = 158. The answer is 158.")
    fakes.openai.always("7 * 24 = 168. The answer is 168.")
    source = talk("ollama/phi4", "ollama/phi4", turns=1)
    pair = {"primary": "model1", "secondary": "openai/gpt-4o", "strategy": "takeover", "threshold": 1, "max_retries": 1}
    source["discussion"]["collaboration"] = {"pairs": [pair]}
    source["prices"] = {"openai/gpt-4o": {"input": 10.0, "output": 10.0}}
    result = await ConversationManager.from_config(source, out=tmp_path / "run").run_discussion(EventLog())
    journal = result.run_dir / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    [asked] = [place for place, line in enumerate(lines) if b'"help_asked"' in line]
    journal.write_bytes(b"".join(lines[: asked + 1]))

    again = await ConversationManager.from_config(source).resume(result.run_dir, log := EventLog())

    [lost] = [entry for entry in entries(log) if entry.estimated]
    assert (lost.model, lost.speaker, lost.role) == ("openai/gpt-4o", "model1", "helper")
    assert lost.usage.cost_usd
    assert again.usage.cost_usd == pytest.approx((result.usage.cost_usd or 0) + lost.usage.cost_usd)
    assert any("The helper of model1 was being asked" in e.message for e in log.events if isinstance(e, Warned))
