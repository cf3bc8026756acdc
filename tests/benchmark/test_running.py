"""A suite is played: every setting answers every task, and what goes wrong is not a wrong answer."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.loading import LoadOptions, load
from ai_battle.benchmark.run import BenchmarkProgress, RunOptions, begin, play, reopen, run
from ai_battle.benchmark.sample import SampleKey
from ai_battle.benchmark.store import Store
from ai_battle.benchmark.summary import summary_of
from ai_battle.cli.bench import discuss
from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, Reply, fault, reply

from .suites import ALWAYS_4, KNOWS, SUMS, play_suite, rows, suite

ANSWERS: Mapping[str, Callable[[int], str]] = {
    "four": lambda number: "I think it is 4.",
    "knows": lambda number: f"It is {2 * number}.",
}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-nobody")


def test_every_setting_answers_every_task_as_often_as_is_said(tmp_path: Path) -> None:
    settings = ({"name": "knows", "model": KNOWS}, {"name": "four", "model": ALWAYS_4})
    ended, samples = play_suite(tmp_path, suite(tmp_path, *settings, repeats=3))

    assert (ended.limit, ended.progress.finished, ended.progress.total) == ("", 24, 24)
    assert samples.keys() == {SampleKey(s, t["id"], n) for s in ("knows", "four") for t in SUMS for n in range(3)}
    assert all(sample.score.value == 1.0 for key, sample in samples.items() if key.setting == "knows")
    assert {key.task for key, sample in samples.items() if key.setting == "four" and sample.score.value} == {"s2"}


def test_models_are_new_for_each_sample(tmp_path: Path) -> None:
    """A script of one entry would be used up by the second sample."""
    _, samples = play_suite(tmp_path, suite(tmp_path, {"name": "four", "model": ALWAYS_4}))

    assert [sample.error for sample in samples.values()] == [""] * 4


def test_a_failed_call_is_no_wrong_answer_and_can_be_played_again(tmp_path: Path) -> None:
    with FakeProviders.in_thread() as fakes:
        fakes.openai.says(fault(400), fault(400))
        fakes.openai.always("It is 4.")
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        written = suite(tmp_path, {"name": "gpt", "model": "gpt-4o"}, providers=providers, concurrency=1)
        ended, samples = play_suite(tmp_path, written)
        assert ended.progress.failed == 2
        assert [sample.score.value for sample in samples.values() if sample.error] == [None, None]

        loaded, store = reopen(tmp_path / "out", LoadOptions())
        assert run(loaded, store).progress.finished == 4, "what failed is finished too"
        assert run(loaded, store, RunOptions(again=True)).progress.failed == 0
        assert all(not sample.error for sample in store.samples())
        store.close()
    assert fakes.openai.count == 6


def test_a_sample_that_its_judge_did_not_grade_can_be_played_again(tmp_path: Path) -> None:
    judge = {"name": "judge", "model": "openai/gpt-4o"}
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always("Lovely! 11/10")
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        written = suite(tmp_path, {"name": "four", "model": ALWAYS_4}, scorers=[judge], providers=providers)
        assert play_suite(tmp_path, written)[0].progress.failed == 4

        fakes.openai.always("Fine.\nGRADE: 7")
        loaded, store = reopen(tmp_path / "out", LoadOptions())
        with closing(store):
            assert run(loaded, store, RunOptions(again=True)).progress.failed == 0
            assert {sample.score.value for sample in store.samples()} == {0.7}


def test_an_answer_that_nobody_can_read_is_unscored(tmp_path: Path) -> None:
    lost = {"type": "scripted", "script": ["I would rather not say."]}
    _, samples = play_suite(tmp_path, suite(tmp_path, {"name": "lost", "model": lost}))

    assert {(sample.score.value, sample.error) for sample in samples.values()} == {(None, "")}
    assert samples[SampleKey("lost", "s1", 0)].score.why == "no number in the answer"


def test_help_is_noted_with_both_answers_and_their_scores(tmp_path: Path) -> None:
    lost = {"type": "scripted/small", "script": [""], "loop": True}
    setting = {"name": "helped", "model": {**lost, "script": ["1 + 1 = 5, so the answer is"]}, "secondary": KNOWS}
    written = suite(tmp_path, {**setting, "strategy": "takeover", "threshold": 1.0, "max_retries": 1})
    _, samples = play_suite(tmp_path, written)

    sample = samples[SampleKey("helped", "s3", 0)]
    assert (sample.helped, sample.answer, sample.score.value) == (True, "It is 6.", 1.0)
    assert (sample.small_answer, sample.small_score) == ("1 + 1 = 5, so the answer is", 0.0)
    assert (sample.large_answer, sample.large_score) == ("It is 6.", 1.0)
    assert sample.quality is not None
    assert sample.quality < 1
    assert sample.reason
    assert 0 < sample.wasted.output_tokens < sample.usage.output_tokens


def test_help_that_never_came_is_noted_with_its_reason(tmp_path: Path) -> None:
    """Otherwise the table shows a helper that fails like one whose help is worth nothing."""
    lost = {"type": "scripted/small", "script": ["I don't know."]}
    broken = {"type": "scripted/large", "script": [{"fail": "unauthorized"}]}
    helped = {"name": "helped", "model": lost, "secondary": broken, "strategy": "takeover"}
    _, samples = play_suite(tmp_path, suite(tmp_path, helped))

    assert {(sample.help.asked, sample.help.failed) for sample in samples.values()} == {(1, 1)}
    with closing(Store.open(tmp_path / "out")) as store:
        notes = summary_of(store).notes
    assert any(note.startswith("helped: help failed (4): ") and "the key was not accepted" in note for note in notes)


def test_what_two_settings_ask_alike_is_asked_once(tmp_path: Path) -> None:
    """Not with repeats, which are there to see how answers differ."""
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(reply("It is 4.", delay=0.01))
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        same = [{"name": name, "model": "gpt-4o"} for name in ("a", "b", "c")]
        other = {"name": "warm", "model": {"type": "gpt-4o", "parameters": {"temperature": 0.5}}}
        _, samples = play_suite(tmp_path, suite(tmp_path, *same, other, providers=providers))
        assert fakes.openai.count == 2 * len(SUMS)
        paid = [sample.spent_usd for sample in samples.values() if sample.key.task == "s1"]
        assert sum(cost > 0 for cost in paid) == 2
        costs = {sample.usage.cost_usd for sample in samples.values() if sample.key.setting != "warm"}
        assert None not in costs
        assert 0 not in costs

        again = tmp_path / "again"
        again.mkdir()
        play_suite(again, suite(again, *same, providers=providers, repeats=2))
        assert fakes.openai.count == 2 * len(SUMS) + 3 * 2 * len(SUMS)


def test_a_limit_of_dollars_holds(tmp_path: Path) -> None:
    """It stops before the sample that may not fit, says so, and the rest can be played with a higher one."""
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(reply("It is 4. " * 100))
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        prices = {"gpt-4o": {"input": 0, "output": 1000}}
        model = {"type": "gpt-4o", "parameters": {"max_tokens": 1000}}
        rows(tmp_path / "sums.jsonl", [{"id": str(n), "prompt": f"{n} + 2?", "reference": "4"} for n in range(40)])
        sums = suite(tmp_path, {"name": "gpt", "model": model}, providers=providers, prices=prices)
        sums["benchmark"]["limits"] = {"cost_usd": 5}
        ended, samples = play_suite(tmp_path, sums)

        assert ended.limit == "cost_usd"
        assert "the limit of $5" in ended.reason
        spent = sum(sample.spent_usd for sample in samples.values())
        assert 2 < spent <= 5
        loaded, store = reopen(tmp_path / "out", LoadOptions(("benchmark.limits.cost_usd=100",)))
        assert not run(loaded, store).limit
        assert fakes.openai.count == 40, "what was finished was not asked again"
        store.close()


def test_a_limit_of_seconds_ends_a_run_after_what_runs(tmp_path: Path) -> None:
    slow = {"type": "scripted", "script": [{"say": "4", "delay": 0.1}]}
    ended, samples = play_suite(
        tmp_path, suite(tmp_path, {"name": "slow", "model": slow}, limits={"seconds": 0.15}, concurrency=1)
    )

    assert ended.limit == "seconds"
    assert 1 <= len(samples) < 4


def test_a_provider_that_is_asked_too_often_gets_fewer_calls_at_once(tmp_path: Path) -> None:
    """Nothing is lost: what was refused is asked again, within the retries of each call."""
    at_once: list[int] = []

    def answer(body: Any) -> Any:
        at_once.append(1)
        return fault(429, seconds=0) if len(at_once) <= 6 else "It is 4."

    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(answer)
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        ended, samples = play_suite(tmp_path, suite(tmp_path, {"name": "gpt", "model": "gpt-4o"}, providers=providers))
    assert ended.progress.failed == 0
    assert len(samples) == 4


def test_progress_counts_what_is_on_the_disk(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []

    def hear(progress: BenchmarkProgress) -> None:
        store = Store.open(tmp_path / "out")
        heard.append((progress.finished, len(store.finished_keys())))
        store.close()

    play_suite(tmp_path, suite(tmp_path, {"name": "knows", "model": KNOWS}, repeats=5), RunOptions(hear))

    assert heard[-1] == (20, 20)
    assert all(told <= there for told, there in heard)


async def test_what_was_finished_when_a_run_is_interrupted_is_kept(tmp_path: Path) -> None:
    """Also what was finished a moment ago and was gathered to be written: it may have been paid for."""
    asked: list[int] = []

    def answer(body: Any) -> str:
        asked.append(1)
        if len(asked) == 2:
            loop.call_soon_threadsafe(playing.cancel)
        return "It is 4."

    loop = asyncio.get_running_loop()
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(answer)
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        written = suite(tmp_path, {"name": "gpt", "model": "gpt-4o"}, providers=providers, concurrency=1)
        loaded = load(written, base=tmp_path)
        with closing(begin(loaded, tmp_path / "out")) as store:
            playing = asyncio.create_task(play(loaded, store))
            with pytest.raises(asyncio.CancelledError):
                await playing
            assert store.finished_keys() == {SampleKey("gpt", "s1", 0)}


def test_a_whole_discussion_answers_a_task(tmp_path: Path) -> None:
    """The task is its goal, and its last word is scored; what looks like a variable in a task is none."""
    (tmp_path / "talk.yaml").write_text(
        "discussion:\n  goal: Anything.\n  turns: 1\n  mode: no-meta\n  models:\n"
        "    Ann: {type: scripted, script: ['Let us see.']}\n"
        "    Bob: {type: scripted, when: [{match: 'see', say: 'It is 4.'}]}\n"
    )
    rows(tmp_path / "sums.jsonl", [{"id": "a", "prompt": "What is ${HOME}: 2 + 2?", "reference": "4"}])
    written = suite(tmp_path, {"name": "talk", "discussion": "talk.yaml"})
    _, samples = play_suite(tmp_path, written, RunOptions(discuss=discuss))

    sample = samples[SampleKey("talk", "a", 0)]
    assert (sample.error, sample.answer, sample.score.value) == ("", "It is 4.", 1.0)
    assert sample.usage.output_tokens > 0


def test_the_models_of_a_discussion_have_the_prices_and_providers_of_the_suite(tmp_path: Path) -> None:
    """Where its file states none: 2 turns of 100 tokens read and 10 written, at the suite's price of one of both."""
    two = "    Ann: {type: mine/a, role: human}\n    Bob: {type: mine/b}\n"
    own = "prices:\n  mine/b: {input: 0, output: 1000}\n"
    (tmp_path / "talk.yaml").write_text(f"discussion:\n  goal: Any.\n  turns: 1\n  models:\n{two}{own}")
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(reply("It is 4.", usage=Usage(100, 10)))
        sections = {
            "providers": {"mine": {"base_url": f"{fakes.openai.url}/v1", "api_key": "k"}},
            "prices": {name: {"input": 1000, "output": 0} for name in ("mine/a", "mine/b")},
        }
        written = suite(tmp_path, {"name": "talk", "discussion": "talk.yaml"}, limits={"cost_usd": 5}, **sections)
        _, samples = play_suite(tmp_path, written, RunOptions(discuss=discuss))

    sample = samples[SampleKey("talk", "s1", 0)]
    assert sample.usage.cost_usd == pytest.approx(0.1 + 0.01), sample.error


@pytest.mark.parametrize(("answer", "is_silent"), [(reply(""), True), (fault(401), False)], ids=["silence", "fault"])
def test_a_discussion_whose_models_stay_silent_is_wrong_and_did_not_fail(
    tmp_path: Path, answer: Reply, is_silent: bool
) -> None:
    """It said nothing, as a silent model alone does; a provider that refuses is another matter."""
    talk = "discussion:\n  goal: Any.\n  turns: 1\n  models: {a: {type: gpt-4o, role: human}, b: {type: gpt-4o}}\n"
    (tmp_path / "talk.yaml").write_text(talk)
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(answer)
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "k"}}
        written = suite(tmp_path, {"name": "talk", "discussion": "talk.yaml"}, providers=providers)
        _, samples = play_suite(tmp_path, written, RunOptions(discuss=discuss))

    assert {(each.is_unreadable, each.has_failed) for each in samples.values()} == {(is_silent, not is_silent)}


def test_peers_that_agree_are_no_help(tmp_path: Path) -> None:
    """So the share of helped answers is that of the large model's, and not all of them."""
    rows(tmp_path / "tasks.jsonl", [{"id": "a", "prompt": "How many are 2 and 2?", "reference": "4"}])

    def says(*lines: str) -> dict[str, object]:
        return {"type": "scripted", "script": list(lines), "loop": True}

    def council(name: str, *peers: str) -> dict[str, object]:
        models = {"model": says("#### 4"), "peers": [says(peer) for peer in peers], "secondary": says("#### 4")}
        return {"name": name, "strategy": "council", **models}

    written = {
        "benchmark": {
            "datasets": [{"path": "tasks.jsonl"}],
            "scorers": ["numeric"],
            "settings": [council("agreed", "#### 4", "#### 4"), council("divided", "#### 5", "#### 6")],
        }
    }
    _, samples = play_suite(tmp_path, written)

    assert {key.setting: sample.helped for key, sample in samples.items()} == {"agreed": False, "divided": True}


def test_recorded_answers_run_through_the_same_runner(tmp_path: Path) -> None:
    """Nothing is called or paid, prices say what it would have cost."""
    recorded = [
        {
            "id": str(n),
            "prompt": f"How many are {n} and {n}?",
            "small_response": f"{n} + {n} = {2 * n}.\n#### {2 * n}" if n % 2 else "I do not know",
            "small_correct": bool(n % 2),
            "large_response": f"#### {2 * n}",
            "large_correct": True,
        }
        for n in range(10)
    ]
    rows(tmp_path / "answers.jsonl", recorded)
    takeover = {"name": "takeover", "recorded": "small", "secondary": "recorded/large", "strategy": "takeover"}
    written = {
        "benchmark": {
            "datasets": [{"path": "answers.jsonl"}],
            "settings": [{"name": "small", "recorded": "small"}, {"name": "large", "recorded": "large"}, takeover],
            "limits": {"cost_usd": 0.000001},
        },
        "prices": {"recorded/large": {"input": 10, "output": 30}, "recorded/small": {"input": 1, "output": 1}},
    }
    ended, samples = play_suite(tmp_path, written)

    assert not ended.limit, "what is recorded costs nothing, whatever the limit"
    quality = {
        name: sum(sample.score.value or 0 for key, sample in samples.items() if key.setting == name)
        for name in ("small", "large", "takeover")
    }
    assert quality == {"small": 5, "large": 10, "takeover": 10}
    helped = {key.task for key, sample in samples.items() if sample.helped}
    assert helped == {str(n) for n in range(0, 10, 2)}
    assert (samples[SampleKey("large", "1", 0)].usage.cost_usd or 0) > (
        samples[SampleKey("small", "1", 0)].usage.cost_usd or 0
    )


@pytest.mark.parametrize("concurrency", [1, 7])
def test_the_same_suite_gives_the_same_samples_however_many_run_at_once(tmp_path: Path, concurrency: int) -> None:
    settings = ({"name": "knows", "model": KNOWS}, {"name": "four", "model": ALWAYS_4})
    _, samples = play_suite(tmp_path, suite(tmp_path, *settings, concurrency=concurrency))

    assert [(key, sample.answer, sample.score.value) for key, sample in samples.items()] == [
        (SampleKey(name, f"s{n}", 0), answer(n), float(name == "knows" or n == 2))
        for name, answer in ANSWERS.items()
        for n in range(1, 5)
    ]


def test_a_calibration_is_found_beside_the_suite(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text('{"cut": 9.0}')
    never = {"name": "never", "model": ALWAYS_4, "secondary": KNOWS, "strategy": "takeover", "calibration": "own.json"}

    _, samples = play_suite(tmp_path, suite(tmp_path, never))

    assert len(samples) == len(SUMS)
    assert not any(sample.helped for sample in samples.values())


@pytest.mark.parametrize("nothing", [reply(""), reply("", stop="content_filter"), reply("", thinking="A hard one.")])
def test_to_say_nothing_or_to_refuse_is_a_wrong_answer_and_no_failed_call(tmp_path: Path, nothing: Reply) -> None:
    with FakeProviders.in_thread() as fakes:
        fakes.openai.always(lambda body: reply("It is 2.") if "1 + 1" in str(body["messages"]) else nothing)
        providers = {"openai": {"base_url": f"{fakes.openai.url}/v1", "api_key": "${OPENAI_API_KEY}"}}
        _, found = play_suite(
            tmp_path, suite(tmp_path, {"name": "mute", "model": "openai/gpt-4o"}, providers=providers)
        )

    assert found[SampleKey("mute", "s1", 0)].score.value == 1.0
    others = [sample for key, sample in found.items() if key.task != "s1"]
    assert [(sample.has_failed, sample.with_unscored_rule("wrong").score.value) for sample in others] == [
        (False, 0.0)
    ] * 3
