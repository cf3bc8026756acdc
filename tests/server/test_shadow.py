"""A share of a pair's requests is answered by the other model too, after the answer has gone out."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ai_battle.cli import run_command
from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import Usage
from ai_battle.evidence.store import EvidenceStore
from ai_battle.evidence.trials import DAYS, ShadowTrial, keep_trial, read_trials
from ai_battle.evidence.versions import keep_version
from ai_battle.judging.calibration import Calibration
from ai_battle.testing import FakeProviders, fault, reply

from .serving import ask_server, server_config, serving, serving_to, until

FILE = """
server:
  state: {state}
  routes:
    pair:
      model: openai/small
      secondary: openai/large
      strategy: {strategy}
      max_retries: 1
      threshold: {threshold}
      shadow: {shadow}
prices:
  openai/small: {{input: 1.0, output: 1.0}}
  openai/large: {{input: 10.0, output: 10.0}}
  openai/judge: {{input: 1.0, output: 1.0}}
"""
ALL = "{share: 1, judge: openai/judge, budget: {cost_usd: 5}}"
PAIR = "openai/small + openai/large (takeover)"
GOOD = "The tower is 96 metres tall, as its plate at the door says."
BETTER = "The tower is 97 metres tall, as the survey of 1990 says."
POOR = "I do not know."
QUESTION: dict[str, Any] = {
    "model": "pair",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "How tall is the tower?"}],
}


def write_config(folder: Path, shadow: str = ALL, threshold: float = 0.7, strategy: str = "takeover") -> str:
    path = folder / "server.yaml"
    path.write_text(FILE.format(state=folder / "state", shadow=shadow, threshold=threshold, strategy=strategy))
    return str(path)


COSTLY = {
    "large": reply(BETTER, usage=Usage(10, 40)),
    "judge": reply('{"better": "same"}', usage=Usage(1_000, 500)),
}


def text_in(body: Any) -> str:
    return json.dumps(body["messages"])


def answers(fakes: FakeProviders, small: Any = GOOD, large: Any = BETTER, judge: Any = None) -> None:
    said = {"small": small, "large": large, "judge": judge or honest}

    def answer(body: Any) -> Any:
        each = said[body["model"]]
        return each(body) if callable(each) else each

    fakes.openai.always(answer)


def honest(body: Any) -> str:
    """Finds 97 metres better, wherever it stands."""
    text = text_in(body)
    a, b = text.index("Answer A"), text.index("Answer B")
    better = "A" if a < text.rindex("97 metres") < b else "B"
    return json.dumps({"why": "The survey is right.", "better": better})


def trials(folder: Path) -> list[ShadowTrial]:
    store = EvidenceStore(folder / "state")
    try:
        return [trial for _, trial in read_trials(store, PAIR)]
    finally:
        store.close()


def counts(folder: Path) -> Mapping[str, float]:
    store = EvidenceStore(folder / "state")
    try:
        return store.records(DAYS, PAIR)[-1].document
    finally:
        store.close()


async def settled_outcomes(address: str, outcomes: int) -> dict[str, float]:
    """The outcomes of the shadow in the server's metrics, once there are so many."""
    found: dict[str, float] = {}
    async with aiohttp.ClientSession(address) as session, asyncio.timeout(20):
        while sum(found.values()) < outcomes:
            await asyncio.sleep(0.01)
            async with session.get("/metrics") as answer:
                lines = (await answer.text()).splitlines()
            heads = [line.rsplit(" ", 1) for line in lines if line.startswith("ai_battle_shadow_total{")]
            found = {head.split('outcome="')[1].split('"')[0]: float(number) for head, number in heads}
    return found


async def test_what_the_small_model_answered_alone_is_compared_with_the_helpers_answer(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    answers(fakes)
    async with serving(fakes, write_config(tmp_path)) as address:
        _, answer = await ask_server(address, "/v1/chat/completions", QUESTION)
        assert await settled_outcomes(address, 1) == {"loss": 1}

    assert answer["choices"][0]["message"]["content"] == GOOD
    (trial,) = trials(tmp_path)
    assert (trial.outcome, trial.helped, trial.is_lost) == ("loss", False, True)
    assert (trial.small, trial.large, trial.prompt) == (GOOD, BETTER, "How tall is the tower?")
    assert trial.reason == "The survey is right."
    assert trial.pair_usd is not None
    assert trial.large_usd is not None
    assert trial.large_usd > trial.pair_usd
    assert counts(tmp_path)["requests"] == counts(tmp_path)["loss"] == 1
    assert counts(tmp_path)["usd"] > trial.large_usd


async def test_what_was_helped_is_compared_with_the_small_model_alone(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes, small=POOR)
    async with serving(fakes, write_config(tmp_path)) as address:
        _, answer = await ask_server(address, "/v1/chat/completions", QUESTION)
        assert await settled_outcomes(address, 1) == {"loss": 1}

    assert answer["choices"][0]["message"]["content"] == BETTER
    (trial,) = trials(tmp_path)
    assert (trial.outcome, trial.helped, trial.is_lost) == ("loss", True, False)
    assert (trial.small, trial.large) == (POOR, BETTER)


async def test_a_judge_that_looks_at_the_place_alone_makes_ties(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes, judge='{"why": "It comes first.", "better": "A"}')
    async with serving(fakes, write_config(tmp_path)) as address:
        await ask_server(address, "/v1/chat/completions", QUESTION)
        assert await settled_outcomes(address, 1) == {"tie": 1}
    assert not trials(tmp_path)[0].is_steady


@pytest.mark.parametrize("judge", ["Both are lovely.", '{"better": "C"}', reply("")], ids=["prose", "label", "nothing"])
async def test_a_judge_that_says_nothing_of_use_is_counted_and_kept_from_everybody(
    fakes: FakeProviders, tmp_path: Path, judge: Any
) -> None:
    answers(fakes, judge=judge)
    async with serving(fakes, write_config(tmp_path)) as address:
        _, answer = await ask_server(address, "/v1/chat/completions", QUESTION)
        assert await settled_outcomes(address, 1) == {"failed": 1}
    assert answer["choices"][0]["message"]["content"] == GOOD
    assert trials(tmp_path) == []


async def test_answers_do_not_wait_for_a_judge_that_hangs_and_what_is_too_much_is_dropped(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    answers(fakes, judge=reply("too late", delay=60))
    async with serving(fakes, write_config(tmp_path)) as address:
        said = [await ask_server(address, "/v1/chat/completions", QUESTION) for _ in range(40)]
        found = await settled_outcomes(address, 20)
    assert {(status, body["choices"][0]["message"]["content"]) for status, body in said} == {(200, GOOD)}
    assert found == {"dropped": 20}
    assert counts(tmp_path)["requests"] == 40


@pytest.mark.parametrize("requests", [100, pytest.param(5_000, marks=pytest.mark.slow)])
async def test_nothing_of_a_judge_that_hangs_fails_rambles_or_lies_reaches_a_client(
    fakes: FakeProviders, tmp_path: Path, requests: int
) -> None:
    judgements = cycle([reply("late", delay=0.3), fault(500), "JUDGE says both.", '{"why": "JUDGE", "better": "A"}'])
    answers(fakes, judge=lambda body: next(judgements))
    left = iter(range(requests))
    said = set()

    async def keep_asking(session: aiohttp.ClientSession, stream: bool) -> None:
        for _ in left:
            async with session.post("/v1/chat/completions", json={**QUESTION, "stream": stream}) as answer:
                text = await answer.text()
                is_whole = ("[DONE]" if stream else GOOD) in text
                said.add((answer.status, is_whole, "JUDGE" in text))

    async with serving(fakes, write_config(tmp_path)) as address:
        async with aiohttp.ClientSession(address) as session:
            await asyncio.gather(*(keep_asking(session, stream) for stream in (False, True) * 8))
        found = await settled_outcomes(address, requests - 20)
    assert said == {(200, True, False)}
    assert found.keys() <= {"dropped", "failed", "tie"}
    assert found["dropped"] > requests / 2
    assert counts(tmp_path)["requests"] == requests


async def test_it_costs_no_key_anything_and_stops_at_its_own_budget(fakes: FakeProviders, tmp_path: Path) -> None:
    """A comparison takes $0.0035, so that a second one can't be ended."""
    answers(fakes, **COSTLY)
    async with serving_to(fakes, len, write_config(tmp_path, ALL.replace("cost_usd: 5", "cost_usd: 0.006"))) as (
        state,
        address,
    ):
        for number in (1, 2, 3):
            await ask_server(address, "/v1/chat/completions", QUESTION)
            found = await settled_outcomes(address, number)
        costs = state.metrics.numbers["cost_usd_total", "pair"]
    assert found == {"tie": 1, "unpaid": 2}
    assert costs < 0.001
    assert counts(tmp_path)["usd"] <= 0.006


async def test_a_budget_goes_on_where_another_process_left_it(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes, **COSTLY)
    file = write_config(tmp_path, ALL.replace("cost_usd: 5", "cost_usd: 0.006"))
    found = []
    for _ in range(2):
        async with serving(fakes, file) as address:
            await ask_server(address, "/v1/chat/completions", QUESTION)
            found.append(await settled_outcomes(address, 1))
    assert found == [{"tie": 1}, {"unpaid": 1}]


async def test_a_share_of_the_requests_is_drawn(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes)
    lots = Random(7)
    expected = sum(lots.random() < 0.25 for _ in range(40))
    async with serving(fakes, write_config(tmp_path, ALL.replace("share: 1", "share: 0.25, seed: 7"))) as address:
        for _ in range(40):
            await ask_server(address, "/v1/chat/completions", QUESTION)
        await settled_outcomes(address, expected)
    assert counts(tmp_path)["requests"] == 40
    assert counts(tmp_path)["loss"] == expected


async def test_what_is_kept_holds_no_secret(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes)
    question = {**QUESTION, "messages": [{"role": "user", "content": "Is my key sk-abcdefgh12345678 good?"}]}
    async with serving(fakes, write_config(tmp_path)) as address:
        await ask_server(address, "/v1/chat/completions", question)
        await settled_outcomes(address, 1)
    assert trials(tmp_path)[0].prompt == "Is my key *** good?"


async def test_helper_and_judge_are_shown_no_more_than_a_helper_may_see(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes)
    talk = [{"role": "user", "content": "I am Ada."}, {"role": "assistant", "content": "Hello Ada."}]
    file = write_config(tmp_path, f"{ALL}\n      helper_sees: prompt")
    async with serving(fakes, file) as address:
        await ask_server(address, "/v1/chat/completions", {**QUESTION, "messages": [*talk, *QUESTION["messages"]]})
        await settled_outcomes(address, 1)
    bodies = {question.body["model"]: text_in(question.body) for question in fakes.openai.questions}
    assert bodies.keys() == {"small", "large", "judge"}
    assert {name: "Ada" in text for name, text in bodies.items()} == {"small": True, "large": False, "judge": False}


async def test_a_shadow_that_fails_keeps_nobody_from_getting_help(fakes: FakeProviders, tmp_path: Path) -> None:
    """Its calls have circuits of their own, so that a helper that it asks in vain is asked for clients all the same."""
    answers(fakes, large=fault(500))
    async with serving(fakes, write_config(tmp_path)) as address:
        for number in range(1, 9):
            assert await answer_text(address) == GOOD
            assert await settled_outcomes(address, number) == {"failed": number}
        answers(fakes, small=POOR)
        assert await answer_text(address) == BETTER


async def test_a_full_store_is_counted_and_reaches_nobody(fakes: FakeProviders, tmp_path: Path) -> None:
    answers(fakes)
    async with serving_to(fakes, len, write_config(tmp_path)) as (state, address):
        assert state.evidence
        state.evidence.close()
        state.evidence = EvidenceStore(tmp_path / "state", most_bytes=4096)
        for shadow in state.current.shadows.values():
            shadow.store = state.evidence
        long = {**QUESTION, "messages": [{"role": "user", "content": "How tall is it? " * 500}]}
        status, _ = await ask_server(address, "/v1/chat/completions", long)
        found = await settled_outcomes(address, 1)
    assert status == 200
    assert found.keys() == {"unkept"}


async def test_the_server_tells_those_who_have_a_key_what_its_pairs_have_shown(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    answers(fakes)
    key = {"x-api-key": "key-of-team"}
    async with serving(fakes, write_config(tmp_path), AI_BATTLE_SERVE_KEYS="key-of-team") as address:
        await ask_server(address, "/v1/chat/completions", QUESTION, key)
        async with aiohttp.ClientSession(address) as session:
            async with session.get("/pairs") as refused:
                assert refused.status == 401
            text = ""
            async with asyncio.timeout(20):
                while "Lost, the last 1" not in text:
                    async with session.get("/pairs", headers=key) as page:
                        text = await page.text()
            async with session.get("/pairs", headers={**key, "accept": "application/json"}) as page:
                (found,) = await page.json()
    assert PAIR in text
    assert "How tall is the tower?" in text
    assert found["families"][0]["losses"] == found["counts"]["loss"] == 1


async def test_a_server_without_a_shadow_keeps_nothing(fakes: FakeProviders, tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(f"server: {{state: {tmp_path / 'state'}, routes: {{large: openai/gpt-4o}}}}")
    async with (
        serving(fakes, str(tmp_path / "server.yaml")) as address,
        aiohttp.ClientSession(address) as session,
        session.get("/pairs") as page,
    ):
        assert await page.text() == "No pair here has a shadow.\n"
    assert not (tmp_path / "state").exists()


WATCHED = ALL.replace("budget", "watch: {loss: 0.1, webhook: '%s'}, budget")


async def test_a_pair_that_loses_too_much_gets_help_always_until_it_is_told_anew_when_to_ask(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    answers(fakes)
    told: list[Any] = []
    lines: list[bytes] = []

    async def hear(http: web.Request) -> web.Response:
        told.append(await http.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/hook", hear)
    async with TestServer(app) as listener:
        file = write_config(tmp_path, WATCHED % listener.make_url("/hook"))
        async with serving_to(fakes, lines.append, file) as (_, address):
            said: list[str] = []
            async with asyncio.timeout(20):
                while BETTER not in said:
                    said.append(await answer_text(address))
                    await settled_outcomes(address, len(said))
            await until(lambda: bool(told))
        assert 2 <= said.count(GOOD) <= 6
        async with serving_to(fakes, lines.append, file) as (_, address):
            assert await answer_text(address) == BETTER
        assert len(told) == 1
        async with serving(fakes, write_config(tmp_path, WATCHED % "", threshold=0.6)) as address:
            assert await answer_text(address) == GOOD

    assert told[0].keys() == {"event", "route", "reason"}
    assert "answers were worse than the helper's would have been, and at most 10.0% of them may be" in told[0]["reason"]
    warnings = [line for line in lines if b"Each of its answers gets help from now on" in line]
    assert len(warnings) == 2


async def answer_text(address: str, prompt: str = "How tall is the tower?") -> str:
    question = {**QUESTION, "messages": [{"role": "user", "content": prompt}]}
    _, answer = await ask_server(address, "/v1/chat/completions", question)
    return str(answer["choices"][0]["message"]["content"])


async def test_a_webhook_that_nobody_answers_is_told_in_the_log_without_its_address(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    answers(fakes)
    lines: list[bytes] = []
    file = write_config(tmp_path, WATCHED % "http://127.0.0.1:9/secret")
    async with serving_to(fakes, lines.append, file) as (_, address):
        for number in range(1, 8):
            await answer_text(address)
            await settled_outcomes(address, number)
        await until(lambda: any(b"did not accept the alarm" in line for line in lines))
    assert not any(b"secret" in line for line in lines)


def write_calibration(folder: Path) -> str:
    """A calibration with a promise, made of what a shadow has found: a few poor answers were lost."""
    with closing(EvidenceStore(folder / "state")) as store:
        for number in range(80):
            is_poor = number % 8 == 0
            trial = ShadowTrial("loss" if is_poor else "tie", False, 1.0, "chat", f"{number} towers?", GOOD, BETTER)
            keep_trial(store, PAIR, f"trial{number}", replace(trial, small=POOR if is_poor else f"{GOOD} {number}"))
    path = folder / "pair.json"
    arguments = ("--state", str(folder / "state"), "--promise", "0.1", "--out", str(path))
    assert run_command(["calibrate", "--from-shadow", PAIR, *arguments]) == 0
    return str(path)


async def test_a_promise_that_the_shadow_bore_out_is_watched_by_it_and_the_last_safe_cut_takes_its_place(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    """An answer of the sort that was not lost goes on without help; a restart changes nothing of that."""
    surer = f"{GOOD} 73"
    answers(fakes, small=lambda body: surer if "73 towers?" in text_in(body) else GOOD)
    promise = f"calibration: {write_calibration(tmp_path)}\n      promise: {{loss: 0.1}}\n      shadow: "
    file = write_config(tmp_path, ALL)
    (tmp_path / "promised.yaml").write_text(Path(file).read_text().replace("shadow: ", promise))  # noqa: ASYNC240
    async with serving(fakes, str(tmp_path / "promised.yaml")) as address:
        said: list[str] = []
        async with asyncio.timeout(20):
            while BETTER not in said:
                said.append(await answer_text(address))
                await settled_outcomes(address, len(said))
        assert await answer_text(address, "73 towers?") == surer
        await settled_outcomes(address, len(said) + 1)
        async with aiohttp.ClientSession(address) as session, session.get("/pairs") as page:
            text = await page.text()
    assert said.count(GOOD) <= 6
    assert "No: " in text
    assert "How tall is the tower?" in text[text.index("Lost, the last") :]
    assert "at most 10.0% of them may be. The last safe cut holds from now on, until it is calibrated again" in text
    lines: list[bytes] = []
    async with serving_to(fakes, lines.append, str(tmp_path / "promised.yaml")) as (_, address):
        assert [await answer_text(address), await answer_text(address, "73 towers?")] == [BETTER, surer]
    assert sum(b"The last safe cut holds" in line for line in lines) == 1


async def test_a_fallback_that_loses_too_much_as_well_gives_way_to_a_stricter_one(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    """Answers of each sort are lost from some day on, so in the end each gets help."""
    answers(fakes, small=lambda body: f"{GOOD} 73" if "73 towers?" in text_in(body) else GOOD)
    promise = f"calibration: {write_calibration(tmp_path)}\n      promise: {{loss: 0.1}}\n      shadow: "
    path = tmp_path / "promised.yaml"
    path.write_text(Path(write_config(tmp_path, ALL)).read_text().replace("shadow: ", promise))  # noqa: ASYNC240
    said: list[str] = []
    lines: list[bytes] = []
    async with serving_to(fakes, lines.append, str(path)) as (_, address), asyncio.timeout(30):
        while said[-2:] != [BETTER, BETTER]:
            for prompt in ("How tall is the tower?", "73 towers?"):
                said.append(await answer_text(address, prompt))
                await settled_outcomes(address, len(said))
    alarms = [line for line in lines if b"answers were worse than the helper's would have been" in line]
    assert len(alarms) == len({*alarms}) >= 2


AUTOMATIC = "calibration: auto\n      promise: {loss: 0.1}\n      shadow: "
BATCH = 10
"""Comparisons after which a pair looks for a new version."""


def automatic(folder: Path) -> str:
    path = Path(write_config(folder))
    path.write_text(path.read_text().replace("shadow: ", AUTOMATIC))
    return str(path)


def mixed_answers(fakes: FakeProviders) -> None:
    """Of eight small answers one is poor, and lost."""

    def small(body: Any) -> str:
        number = int(re.findall(r"(\d+) towers", text_in(body))[-1])
        return f"{GOOD} {number}" if number % 8 else POOR

    def judge(body: Any) -> str:
        text = text_in(body)
        if POOR not in text:
            return '{"why": "Both will do.", "better": "same"}'
        is_first = text.index("Answer A") < text.index(POOR) < text.index("Answer B")
        return json.dumps({"why": "It is an answer.", "better": "B" if is_first else "A"})

    answers(fakes, small=small, judge=judge)


async def ask_towers(address: str, numbers: Iterable[int]) -> list[str]:
    said = []
    before = sum((await settled_outcomes(address, 0)).values())
    for number in numbers:
        said.append(await answer_text(address, f"{number} towers?"))
        await settled_outcomes(address, int(before) + len(said))
    return said


def pair_command(folder: Path, *words: str) -> int:
    return run_command(["pair", *words, "--state", str(folder / "state")])


async def test_a_pair_calibrates_itself_as_soon_as_what_it_has_found_bears_out_its_promise(
    fakes: FakeProviders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before that each answer gets help, so that nothing is lost; a restart knows the newest version."""
    mixed_answers(fakes)
    lines: list[bytes] = []
    async with serving_to(fakes, lines.append, automatic(tmp_path)) as (_, address):
        assert {*await ask_towers(address, range(3 * BATCH))} == {BETTER}
        await until(lambda: any(b"notice" in line for line in lines))
        assert await ask_towers(address, [31, 32, 33]) == [f"{GOOD} 31", BETTER, f"{GOOD} 33"]
    async with serving(fakes, automatic(tmp_path)) as address:
        assert await ask_towers(address, [34, 40]) == [f"{GOOD} 34", BETTER]

    (line,) = [line for line in lines if b"notice" in line]
    assert b"asks for help by version 1, " in line
    assert pair_command(tmp_path, "report") == 0
    assert "It calibrates itself, by version 1, " in capsys.readouterr().out
    assert pair_command(tmp_path, "undo") == 2
    assert "There is nothing to go back to: version 1 is the first" in capsys.readouterr().err


async def test_the_last_version_can_be_undone_and_none_is_forgotten(
    fakes: FakeProviders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed_answers(fakes)
    with closing(EvidenceStore(tmp_path / "state")) as store:
        for number, cut in enumerate((-1e9, 1e9)):
            keep_version(store, PAIR, Calibration(cut, help_rate=float(cut < 0)), 50, after=number)
    async with serving(fakes, automatic(tmp_path)) as address:
        assert await ask_towers(address, [9]) == [f"{GOOD} 9"]
        assert pair_command(tmp_path, "undo", PAIR) == 0
        async with asyncio.timeout(20):
            while await ask_towers(address, [9]) != [BETTER]:
                pass
    assert "Now: version 3, " in (words := capsys.readouterr().err)
    assert "restored from version 1: about 100% of the answers get help" in words
    assert pair_command(tmp_path, "report", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [(each["number"], each["restored"]) for each in found["versions"]] == [(1, 0), (2, 0), (3, 1)]


def test_nothing_can_be_undone_where_no_pair_has_calibrated_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(EvidenceStore(tmp_path / "state")):
        assert pair_command(tmp_path, "undo") == 2
        assert "No pair has calibrated itself." in capsys.readouterr().err
        assert pair_command(tmp_path, "undo", PAIR) == 2
        assert f"{PAIR} has not calibrated itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written_as", "said"),
    [
        ("calibration: auto\n      shadow: ", "calibration: auto needs a promise; write for example promise: "),
        (f"peers: [openai/other]\n      {AUTOMATIC}", "calibration: auto judges the answer of one model"),
        ("calibration: auto\n      promise: {loss: 0.1}\n      # ", "calibration: auto learns from what the pair's"),
    ],
)
async def test_a_pair_that_can_not_calibrate_itself_is_an_error_beside_its_line(
    fakes: FakeProviders, tmp_path: Path, written_as: str, said: str
) -> None:
    path = Path(write_config(tmp_path))
    path.write_text(path.read_text().replace("shadow: ", written_as))  # noqa: ASYNC240
    with pytest.raises(ConfigError) as error:
        server_config(fakes, str(path))
    assert said in str(error.value)


async def test_a_strategy_that_leaves_the_writing_to_the_small_model_is_not_watched(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    file = write_config(tmp_path, WATCHED % "", strategy="rescue")
    with pytest.raises(ConfigError, match=r"shadow.watch: rescue can't be told to answer with the helper's words"):
        server_config(fakes, file)


WRONG = {
    "{share: 1, judge: openai/judge, watch: {}, budget: {cost_usd: 5}}": "shadow.watch: has no loss, and the pair has",
    "{share: 1, judge: openai/judge, watch: {loss: 0.1, webhook: 'http://example.org'}, budget: {cost_usd: 5}}": (
        "shadow.watch: webhook must be an address with https, or with http on this machine"
    ),
    "{share: 0.1, judge: openai/judge}": "routes.pair.shadow.budget: ",
    "{share: 1, judge: openai/large, budget: {cost_usd: 5}}": "shadow.judge: 'openai/large' gives one of the answers",
    "{share: 1, judge: openai/small, budget: {cost_usd: 5}}": "shadow.judge: 'openai/small' gives one of the answers",
    "{share: 1, judge: openai/unpriced, budget: {cost_usd: 5}}": "shadow.budget: The price of openai/unpriced is not",
    "{share: 1, judge: check, budget: {cost_usd: 5}}": "shadow.judge: is check, which is a tool that the pair names",
    "{share: 0, judge: openai/judge, budget: {cost_usd: 5}}": "shadow.share: ",
    "{share: 2, judge: openai/judge, budget: {cost_usd: 5}}": "shadow.share: ",
}


@pytest.mark.parametrize("shadow", WRONG)
async def test_a_shadow_that_can_not_be_is_an_error_beside_its_line(
    fakes: FakeProviders, tmp_path: Path, shadow: str
) -> None:
    with pytest.raises(ConfigError) as error:
        server_config(fakes, write_config(tmp_path, shadow))
    print(error.value)
    assert WRONG[shadow] in str(error.value)
