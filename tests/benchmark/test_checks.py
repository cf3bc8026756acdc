"""What is wrong with a suite is said with its place, all at once, before any money is spent."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_battle.benchmark.checking import named_code, require_sound_code
from ai_battle.benchmark.loading import LoadOptions, load
from ai_battle.benchmark.run import begin, run
from ai_battle.benchmark.suite import Suite
from ai_battle.core.errors import ConfigError

from .suites import ALWAYS_4, KNOWS, SUMS, rows, suite

FOUR = {"name": "four", "model": ALWAYS_4}


def wrong(folder: Path, written: Mapping[str, Any]) -> str:
    """The whole message; the suite is read from a file."""
    (folder / "suite.yaml").write_text(yaml.safe_dump(dict(written), sort_keys=False))
    with pytest.raises(ConfigError) as raised:
        load(str(folder / "suite.yaml"), environment={})
    return str(raised.value)


def test_a_grid_is_multiplied_out_with_names_that_say_what_differs(tmp_path: Path) -> None:
    grid = {"threshold": [0.5, 0.7], "max_retries": [1, 2]}
    setting = {"name": "rescue", "model": ALWAYS_4, "secondary": KNOWS, "strategy": "rescue", "grid": grid}
    loaded = load(suite(tmp_path, FOUR, setting), base=tmp_path)

    assert [each.name for each in loaded.settings] == [
        "four",
        "rescue threshold=0.5 max_retries=1",
        "rescue threshold=0.5 max_retries=2",
        "rescue threshold=0.7 max_retries=1",
        "rescue threshold=0.7 max_retries=2",
    ]
    helps = [each.help for each in loaded.settings if each.help]
    assert [(help_.threshold, help_.max_retries) for help_ in helps] == [(0.5, 1), (0.5, 2), (0.7, 1), (0.7, 2)]
    assert loaded.samples == 5 * 4


@pytest.mark.parametrize("strategy", ["boost", "handover", "minion"])
def test_a_strategy_without_retries_takes_recorded_answers(tmp_path: Path, strategy: str) -> None:
    row = {"id": "a", "prompt": "Is it?", "small_response": "yes", "large_response": "no"}
    (tmp_path / "recorded.jsonl").write_text(json.dumps({**row, "small_correct": True, "large_correct": False}))
    setting = {"name": "x", "recorded": "small", "strategy": strategy, "secondary": "recorded/large"}
    written = {"benchmark": {"datasets": "recorded.jsonl", "settings": [setting]}}
    assert load(written, base=tmp_path).settings[0].is_recorded


def test_all_rows_of_a_dataset_that_are_wrong_are_told_at_once(tmp_path: Path) -> None:
    rows = [{"prompt": "Is it?", "reference": "yes"}, {"promt": "Is it?"}, {"prompt": ""}, *[{"reference": "no"}] * 6]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    settings = [{"name": "x", "model": KNOWS}]
    with pytest.raises(ConfigError) as found:
        load({"benchmark": {"datasets": "rows.jsonl", "scorers": ["exact"], "settings": settings}}, base=tmp_path)
    assert [f"rows.jsonl:{line}:" in str(found.value) for line in range(1, 8)] == [False, *[True] * 5, False]
    assert str(found.value).endswith("3 more rows are wrong")


def test_a_grid_takes_models_too(tmp_path: Path) -> None:
    grid = {"model": ["ollama/phi4", "ollama/gemma3:1b"]}
    loaded = load(suite(tmp_path, {"name": "local", "grid": grid}), base=tmp_path)

    assert [each.name for each in loaded.settings] == ["local model=ollama/phi4", "local model=ollama/gemma3:1b"]


def test_tasks_are_drawn_with_a_seed_and_a_larger_draw_holds_the_smaller(tmp_path: Path) -> None:
    rows(tmp_path / "sums.jsonl", ({"id": str(n), "prompt": "2 + 2?", "reference": "4"} for n in range(100)))

    def task_ids(**dataset: Any) -> list[str]:
        written = suite(tmp_path, FOUR, datasets=[{"path": "sums.jsonl", **dataset}])
        return [task.id for task in load(written, base=tmp_path).tasks]

    assert task_ids(limit=3) == ["0", "1", "2"]
    assert task_ids(limit=10, seed=1) == task_ids(limit=10, seed=1) != task_ids(limit=10, seed=2)
    assert set(task_ids(limit=10, seed=1)) < set(task_ids(limit=20, seed=1))
    assert task_ids(limit=20, seed=1) == sorted(task_ids(limit=20, seed=1), key=int)


def test_tasks_of_several_datasets_are_told_apart(tmp_path: Path) -> None:
    rows(tmp_path / "more.jsonl", SUMS[:1])
    written = suite(tmp_path, FOUR, datasets=[{"path": "sums.jsonl"}, {"path": "more.jsonl", "scorers": ["exact"]}])
    loaded = load(written, base=tmp_path)

    assert [task.id for task in loaded.tasks][-2:] == ["sums/s4", "more/s1"]
    assert {name: [each.name for each in scorers] for name, scorers in loaded.scorers.items()} == {
        "sums": ["numeric"],
        "more": ["exact"],
    }


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"name": "x"}, "suite.yaml:7:5 benchmark.settings[0].model: is missing: say which model answers"),
        ({"name": "x", "model": "gpt-5-nonsens/q"}, "benchmark.settings[0].model: "),
        ({"name": "x", "primary": "gpt-5-nonsens/q"}, "benchmark.settings[0].primary: "),
        (
            {"name": "x", "model": "ollama/phi4", "strategy": "rescue"},
            "settings[0].secondary: is missing: rescue needs",
        ),
        (
            {"name": "x", "model": "ollama/phi4", "secondary": "gpt-4o", "strategy": "rescu"},
            "there is no strategy 'rescu'",
        ),
        (
            {"name": "x", "model": "ollama/phi4", "secondary": "ollama/q", "strategy": "takeover", "max_loops": 2},
            "settings[0].max_loops: takeover has no such option",
        ),
        (
            {"name": "x", "model": "ollama/phi4", "strategy": "vote", "samples": 1},
            "settings[0].samples: vote takes two samples or more",
        ),
        (
            {"name": "x", "model": "ollama/phi4", "temperature": 1},
            "settings[0].temperature: unknown key here; it belongs under 'model: parameters:'",
        ),
        ({"name": "x", "modle": "ollama/phi4"}, "settings[0].modle: unknown key; did you mean 'model'?"),
        (
            {"name": "x", "model": "ollama/phi4", "grid": {"treshold": [1]}},
            "settings[0].grid.treshold: is not a key of a setting; did you mean 'threshold'?",
        ),
        (
            {"name": "x", "model": "ollama/phi4", "secondary": "ollama/q", "grid": {"threshold": [0.5, 7]}},
            "settings[0].grid.threshold: is a share from 0 to 1, not 7; write 0.07 for 7 %",
        ),
        ({"name": "x", "recorded": "small"}, "no answer of 'small' is recorded for s1, s2, s3 and 1 more"),
        ({"name": "x", "discussion": "none.yaml"}, "none.yaml: there is no such file"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:40],
)
def test_a_setting_that_can_not_be_is_found(tmp_path: Path, setting: dict[str, Any], message: str) -> None:
    assert message in wrong(tmp_path, suite(tmp_path, setting))


def test_a_suite_without_settings_or_datasets_is_found(tmp_path: Path) -> None:
    assert "benchmark.settings: is empty" in wrong(tmp_path, suite(tmp_path))
    assert "benchmark.datasets: is empty" in wrong(tmp_path, suite(tmp_path, FOUR, datasets=[]))


def test_two_settings_of_one_name_are_found(tmp_path: Path) -> None:
    assert "'four' is already the name of another setting" in wrong(tmp_path, suite(tmp_path, FOUR, FOUR))


def test_a_recorded_model_is_not_asked_twice(tmp_path: Path) -> None:
    """It has one answer: what it would say to a second try, nobody knows."""
    answers = [{"id": "1", "prompt": "?", "small_response": "4", "large_response": "4", "small_correct": True}]
    rows(tmp_path / "answers.jsonl", answers)
    setting = {
        "name": "x",
        "recorded": "small",
        "secondary": "recorded/large",
        "strategy": "takeover",
        "max_retries": 2,
    }
    said = wrong(tmp_path, {"benchmark": {"datasets": "answers.jsonl", "settings": setting}})

    assert "settings[0].max_retries: must be 1 for a recorded model, which has one answer to each task" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "benchmark.datasets[0].path: sums.jsonl holds no tasks"),
        ('{"id": "a"}\n', "sums.jsonl:1: the field 'prompt' is missing"),
        ('{"prompt": "x", "reference": "1"}\n\n{"prompt": ""}\n', "sums.jsonl:3: the field 'prompt' is empty"),
        (
            '{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}\n',
            "sums.jsonl:2: the id 'a' is already that of sums.jsonl:1; without ids, tasks have their lines",
        ),
        ('{"prompt": "x"\n', "sums.jsonl:1: is not JSON (Expecting ',' delimiter at column 15)"),
        ("[1, 2]\n", "sums.jsonl:1: a JSON list, not an object; each line has to be an object of its own"),
        ('{"frage": "x"}\n', "there is frage. To name its column, write fields: {prompt: COLUMN}"),
        ('{"prompt": "x", "solution": 4}\n', "if it is the column solution, write fields: {reference: solution}"),
        ('{"prompt": "x"}\n{"prompt": "y", "answer": "b"}\n', "sums.jsonl:1; 1 more can't be scored either"),
        ('{"prompt": "x", "tools": 1}\n', "sums.jsonl:1: tools must be a list"),
        ('{"id": "a", "prompt": "x"}\n', "numeric needs a reference, which is missing in sums: sums.jsonl:1"),
        (
            '{"id": "a", "prompt": "x", "reference": "blue"}\n',
            "numeric needs a number as its reference, which is 'blue', which is missing in sums: sums.jsonl:1",
        ),
    ],
)
def test_a_dataset_with_a_fault_is_found_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "sums.jsonl").write_text(content)

    assert message in wrong(tmp_path, suite(tmp_path, FOUR))


def test_a_right_answer_that_is_no_option_is_found(tmp_path: Path) -> None:
    """Were it an index, all answers would be wrong."""
    row = {"question": "Which planet is red?", "choices": ["Venus", "Mars"], "answer": 1}
    (tmp_path / "sums.jsonl").write_text(json.dumps(row))
    exact = suite(tmp_path, FOUR, scorers=["exact"])
    said = "exact needs the letter or text of an option as its reference, which is '1', which is missing in sums"

    assert said in wrong(tmp_path, exact)
    for right in ("B", "Mars"):
        (tmp_path / "sums.jsonl").write_text(json.dumps(row | {"answer": right}))
        assert load(exact, base=tmp_path).tasks[0].reference == right


def test_a_dataset_that_is_not_there_or_no_text_is_found(tmp_path: Path) -> None:
    assert "there is no file" in wrong(tmp_path, suite(tmp_path, FOUR, datasets=[{"path": "none.jsonl"}]))
    (tmp_path / "bad.jsonl").write_bytes(b'{"prompt": "\xff\xfe"}\n')
    assert "at byte 12; save it as UTF-8" in wrong(tmp_path, suite(tmp_path, FOUR, datasets=[{"path": "bad.jsonl"}]))


@pytest.mark.parametrize(
    ("tests", "lacks"),
    [
        ("if (add(1, 2) !== 3) { throw new Error() }", "python_tests needs tests that are a Python program"),
        ("def test_add():\n    assert add(1, 2) == 3\n", "needs tests that also call the functions that they define"),
    ],
)
def test_tests_that_would_fail_or_pass_any_answer_are_found(tmp_path: Path, tests: str, lacks: str) -> None:
    written = suite(tmp_path, FOUR, scorers=["python_tests"])
    (tmp_path / "sums.jsonl").write_text(json.dumps({"prompt": "Write add.", "tests": tests}))

    assert f"{lacks}, which is missing in sums: sums.jsonl:1" in wrong(tmp_path, written)


@pytest.mark.parametrize(
    ("scorers", "message"),
    [
        (["numerik"], "scorers has no 'numerik'; did you mean 'numeric'?"),
        ([{"name": "numeric", "tolerence": 1}], "numeric has no option 'tolerence'; did you mean 'tolerance'?"),
        ([{"name": "numeric", "tolerance": 7}], "tolerance is a share from 0 to 1, not 7"),
        ([{"name": "regex", "pattern": "("}], "is not a regular expression"),
        ([{"name": "judge", "model": "ollama/phi4", "prompt": "Is {answer} good?"}], "the prompt has no place $answer"),
        (["judge"], "judge needs a model: write {name: judge, model: gpt-4o}"),
        (["python_tests"], "python_tests needs tests, which is missing in sums: sums.jsonl:1, sums.jsonl:2"),
        (["tool_calls"], "tool_calls needs a reference that is a list of calls"),
        ([], "benchmark.scorers: is missing: how are the answers to sums scored?"),
    ],
)
def test_a_scorer_without_what_it_needs_is_found(tmp_path: Path, scorers: list[Any], message: str) -> None:
    assert message in wrong(tmp_path, suite(tmp_path, FOUR, scorers=scorers))


def test_all_wrong_scorers_are_told_at_once(tmp_path: Path) -> None:
    found = wrong(tmp_path, suite(tmp_path, FOUR, scorers=[{"name": "numeric", "tolerance": 7}, "numerik"]))
    assert ("scorers[0]: numeric: tolerance" in found, "scorers[1]: scorers has no 'numerik'" in found) == (True, True)


def test_of_two_scorers_of_one_name_one_that_can_score_is_enough(tmp_path: Path) -> None:
    scorers = [{"name": "regex", "pattern": "[0-9]"}, "regex"]
    assert len(load(suite(tmp_path, FOUR, scorers=scorers), base=tmp_path).tasks) == 4


def test_a_limit_of_dollars_asks_for_prices_that_are_not_known(tmp_path: Path) -> None:
    """Also for that of a judge; what runs here is free."""
    providers = {"mine": {"base_url": "https://models.example.org/v1", "api_key": "k"}}
    written = suite(tmp_path, FOUR, {"name": "x", "model": "mine/big"}, providers=providers, limits={"cost_usd": 1})
    assert (
        "benchmark.limits.cost_usd: can't be kept: the price of mine/big is unknown; add it: "
        "prices: {mine/big: {input: 1, output: 2}}"
    ) in wrong(tmp_path, written)

    judged = suite(tmp_path, FOUR, scorers=[{"name": "judge", "model": "mine/big"}], providers=providers)
    judged["benchmark"]["limits"] = {"cost_usd": 1}
    assert "the price of mine/big is unknown" in wrong(tmp_path, judged)

    written["prices"] = {"mine/big": {"input": 1, "output": 2}}
    assert load(written, base=tmp_path).samples == 8


def test_an_executor_that_is_not_there_is_found(tmp_path: Path) -> None:
    assert "benchmark.executor: executors has no 'rey'" in wrong(tmp_path, suite(tmp_path, FOUR, executor="rey"))


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    said = wrong(tmp_path, suite(tmp_path, {"name": "a"}, {"name": "b"}, scorers=["numerik"], repeats=0))

    assert [line.split()[1] for line in said.splitlines()] == [
        "benchmark.scorers[0]:",
        "benchmark.settings[0].model:",
        "benchmark.settings[1].model:",
        "benchmark.repeats:",
    ]


def test_code_that_a_suite_names_is_known_without_running_it(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('was imported')")
    settings: list[dict[str, Any]] = [FOUR, {"name": "x", "model": "json.decoder/x"}]
    settings.append({"name": "y", "model": ALWAYS_4, "secondary": KNOWS, "strategy": "my.strategy"})
    loaded = load(suite(tmp_path, *settings), base=tmp_path)

    assert named_code(loaded) == ("my.strategy", "json.decoder")


def test_a_dataset_is_not_read_by_code_that_nobody_trusts(tmp_path: Path) -> None:
    said = wrong(tmp_path, suite(tmp_path, FOUR, datasets=[{"path": "sums.jsonl", "format": "json.tool"}]))

    assert "json.tool is code that would be run. If you trust it, run the suite with --trust" in said


FORMAT = """
from ai_battle.benchmark.tasks import Task

class Quiz:
    scorer, suffixes, marks = "exact", (), ()

    def read(self, path):
        for line in path.read_text().splitlines():
            yield Task(*line.split(" | "))

def create(fields=None):
    return Quiz()
"""


def test_a_format_may_be_a_file_next_to_the_suite(tmp_path: Path) -> None:
    (tmp_path / "quiz.py").write_text(FORMAT)
    (tmp_path / "pub.txt").write_text("a | Capital of Peru? | Lima\nb | Capital of Chad? | N'Djamena\n")
    written = suite(tmp_path, FOUR, datasets=[{"path": "pub.txt", "format": "quiz"}])
    del written["benchmark"]["scorers"]

    assert "quiz.py is code that would be run" in wrong(tmp_path, written)
    tasks = load(written, LoadOptions(trust=True), base=tmp_path).tasks
    assert [(task.id, task.reference) for task in tasks] == [("a", "Lima"), ("b", "N'Djamena")]


def test_a_discussion_that_can_not_run_is_found(tmp_path: Path) -> None:
    """With its own places, and with prices that are not known where a limit needs them."""
    talk = "discussion:\n  goal: x\n  models:\n    a: {type: ollama/phi4}\n    b: {type: mine/big}\n"
    (tmp_path / "talk.yaml").write_text(talk)
    said = wrong(tmp_path, suite(tmp_path, {"name": "talk", "discussion": "talk.yaml"}))
    assert "talk.yaml:5:15 discussion.models.b.type: There is no provider 'mine'" in said

    (tmp_path / "talk.yaml").write_text(
        f"{talk}providers:\n  mine: {{base_url: 'https://models.example.org/v1', api_key: k}}\n"
    )
    said = wrong(tmp_path, suite(tmp_path, {"name": "talk", "discussion": "talk.yaml"}, limits={"cost_usd": 1}))
    assert "the price of mine/big is unknown" in said


def test_fewer_tasks_can_be_wished_for(tmp_path: Path) -> None:
    assert len(load(suite(tmp_path, FOUR), LoadOptions(limit=2), base=tmp_path).tasks) == 2


SCORER = """
from ai_battle.benchmark.sample import AnswerScore

class Points:
    def __init__(self, most: float) -> None:
        self.most = most

    def lacks(self, task):
        return ""

    async def score(self, task, answer):
        return AnswerScore(self.most)

def create(most: float = 1.0):
    return Points(most)
"""


@pytest.fixture
def suite_of_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Suite]:
    """Loads a suite that is scored by a module of its user's own, with these options."""
    (tmp_path / "my_scorers").mkdir()
    (tmp_path / "my_scorers" / "points.py").write_text(SCORER)
    monkeypatch.syspath_prepend(str(tmp_path))

    def load_suite(**options: Any) -> Suite:
        written = suite(tmp_path, FOUR, scorers=[{"name": "my_scorers.points", **options}])
        return load(written, LoadOptions(trust=True), base=tmp_path)

    return load_suite


def test_wrong_options_of_a_trusted_module_are_found_before_anything_is_spent(
    suite_of_points: Callable[..., Suite],
) -> None:
    require_sound_code(suite_of_points(most=0.5))
    with pytest.raises(ConfigError, match=r"benchmark\.scorers\[0\].*no option 'mots'; did you mean 'most'\?"):
        require_sound_code(suite_of_points(mots=0.5))


def test_a_scorer_may_be_a_file_next_to_the_suite(tmp_path: Path) -> None:
    (tmp_path / "points.py").write_text(SCORER)
    loaded = load(suite(tmp_path, FOUR, scorers=[{"name": "points", "most": 0.5}]), base=tmp_path)

    assert named_code(loaded) == (str(tmp_path / "points.py"),)
    require_sound_code(loaded)
    with closing(begin(loaded, tmp_path / "out")) as store:
        run(loaded, store)
        assert {sample.score.value for sample in store.samples()} == {0.5}


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("async def", "def", "create() returned Points, which is no scorer: it needs lacks(task) and async score("),
        ("lacks", "needs", "create() returned Points, which is no scorer"),
        ('return ""', "return task.tsk", "points.py: AttributeError: 'Task' object has no attribute 'tsk'"),
        ("return Points(most)", "return open('none')", "points.py can't be created: FileNotFoundError"),
    ],
)
def test_a_mistake_in_a_scorer_is_told_as_one_before_anything_is_spent(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    (tmp_path / "points.py").write_text(SCORER.replace(right, wrong))
    with pytest.raises(ConfigError) as told:
        require_sound_code(load(suite(tmp_path, FOUR, scorers=["points"]), base=tmp_path))

    assert message in str(told.value)


def test_a_score_without_its_class_fails_its_sample_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "points.py").write_text(SCORER.replace("AnswerScore(self.most)", "self.most"))
    loaded = load(suite(tmp_path, FOUR, scorers=["points"]), base=tmp_path)
    with closing(begin(loaded, tmp_path / "out")) as store:
        run(loaded, store)
        errors = {sample.error for sample in store.samples()}

    assert errors == {"Points returned 1.0 as a score; it must be an AnswerScore."}


def test_a_score_that_is_none_fails_its_sample_and_says_so(
    suite_of_points: Callable[..., Suite], tmp_path: Path
) -> None:
    loaded = suite_of_points(most=7.5)
    with closing(begin(loaded, tmp_path / "out")) as store:
        run(loaded, store)
        assert {sample.error for sample in store.samples()} == {"Points scored 7.5; a score is from 0 to 1, or None."}
