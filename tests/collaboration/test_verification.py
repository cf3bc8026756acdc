"""Answers are verified by running: what a prompt's program comes to decides, however many models say something else."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager, RunResult
from ai_battle.conversation.reading import read
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, ignore
from ai_battle.core.helping import AnswerChecked, HelpAsked, HelpFailed
from ai_battle.signals.asked_programs import AskedProgram, asked_program
from ai_battle.tools.sandbox import choose
from ai_battle.tools.verification import Verification

from ..benchmark.suites import play_suite as benchmarked
from ..benchmark.suites import rows, suite

DOUBLES = "```python\ndef twice(items):\n    return [2 * each for each in items]\n```\n"
GOAL = f"{DOUBLES}What does `twice([4, 1])` return?"
RIGHT, WRONG = "It returns `[8, 2]`.", "It returns `[8, 1]`."
SORTS = "Write a Python function `top(items, n)` that returns the n largest, the largest first.\n"
SORTS += "For example:\n>>> top([3, 9, 4], 2)\n[9, 4]\n"
SORTED = "```python\ndef top(items, n):\n    return sorted(items{})[:n]\n```"


pytestmark = pytest.mark.usefixtures("working_fence")


def says(*texts: str) -> dict[str, Any]:
    return {"type": "scripted/helper", "script": list(texts), "loop": True}


async def play(pair: dict[str, Any], small: str | list[str], goal: str = GOAL) -> tuple[RunResult, EventLog]:
    script = [small] if isinstance(small, str) else small
    discussion = {
        "turns": 1,
        "mode": "no-meta",
        "goal": goal,
        "models": {
            "small": {"type": "scripted/small", "script": script, "loop": True},
            "other": {"type": "scripted/other", "script": ["Fine."], "loop": True},
        },
        "collaboration": {"pairs": [{"primary": "small", "max_retries": 1, **pair}]},
    }
    manager = CollaborativeConversationManager.from_config({"discussion": discussion})
    return await manager.run_discussion(log := EventLog()), log


def of(kind: type, log: EventLog) -> list[Any]:
    return [event for event in log.events if isinstance(event, kind)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def test_one_answer_that_running_confirms_outweighs_two_that_agree() -> None:
    """The large model is not asked, and the journal tells of each answer what running has shown."""
    council = {"strategy": "council", "peers": [says(WRONG), says(RIGHT)], "secondary": says("Who knows.")}
    result, log = await play(council, WRONG)

    assert result.messages[1].text == RIGHT
    assert not [asked for asked in of(HelpAsked, log) if asked.role == "helper"]
    checked = [event for _, event in read(result.run_dir) if isinstance(event, AnswerChecked)]
    assert [(each.by, dict(each.signals)) for each in checked] == [
        ("verification", {"refuted": 1.0}),
        ("verification", {"refuted": 1.0}),
        ("verification", {"verified": 1.0}),
    ]
    assert "refuted: twice([4, 1]) is [8, 2], as running it shows" in checked[0].reason
    assert {each.speaker for each in checked} == {"small"}


@pytest.mark.parametrize("pair", [{"strategy": "peer", "peers": [says(WRONG)]}, {"strategy": "vote", "samples": 2}])
async def test_where_all_are_refuted_the_model_is_told_what_running_has_shown(pair: dict[str, Any]) -> None:
    """One more call of the small model spares the large one."""
    again = [WRONG, WRONG, RIGHT] if "samples" in pair else [WRONG, RIGHT]
    result, log = await play({**pair, "secondary": says("Who knows.")}, again)

    assert result.messages[1].text == RIGHT
    assert not [asked for asked in of(HelpAsked, log) if asked.role == "helper"]


async def test_a_single_answer_that_running_refutes_is_helped() -> None:
    result, log = await play({"strategy": "takeover", "secondary": says(RIGHT)}, WRONG)

    assert result.messages[1].text == RIGHT
    assert [dict(each.signals) for each in of(AnswerChecked, log)] == [{"refuted": 1.0}]


async def test_a_program_is_run_on_the_examples_of_the_prompt() -> None:
    answers = {"reverse=True": ", reverse=True", "nothing": ""}
    council = {"strategy": "council", "peers": [says(SORTED.format("")), says(SORTED.format(answers["reverse=True"]))]}
    result, log = await play(council, SORTED.format(""), SORTS)

    assert "reverse=True" in result.messages[1].text
    reasons = [each.reason for each in of(AnswerChecked, log)]
    assert reasons[0].endswith("refuted: top([3, 9, 4], 2) is [3, 4], and must be [9, 4]")
    assert reasons[2].endswith("verified: its program meets 1 of 1 examples of the prompt")


async def test_one_answer_whose_sum_is_right_outweighs_two_that_agree_on_a_false_one() -> None:
    false, right = "7 * 24 = 158. The answer is 158.", "7 * 24 = 168. The answer is 168."
    council = {"strategy": "council", "peers": [says(false), says(right)], "secondary": says("Who knows.")}
    result, log = await play(council, false, "What is 7 * 24?")

    assert result.messages[1].text == right
    assert not [asked for asked in of(HelpAsked, log) if asked.role == "helper"]
    assert [each.reason for each in of(AnswerChecked, log)] == [
        "'168' is verified: what the prompt asks for comes to 168"
    ]


async def test_nothing_is_run_where_verification_is_switched_off() -> None:
    council = {"strategy": "council", "peers": [says(WRONG), says(RIGHT)], "verify": False}
    result, log = await play({**council, "threshold": 0}, WRONG)

    assert result.messages[1].text == WRONG
    assert of(AnswerChecked, log) == []


async def test_nothing_is_run_for_prompts_without_a_program() -> None:
    result, log = await play({"strategy": "peer", "peers": [says("#### 18")]}, "#### 18", "How many are 7 and 11?")

    assert result.messages[1].text == "#### 18"
    assert (of(AnswerChecked, log), of(HelpFailed, log)) == ([], [])


HOSTILE = (
    "[each for each in iter(int, 1)]",
    "'x' * 10 ** 11",
    "__import__('os')._exit(0)",
    "__import__('sys').exit()",
    "[__import__('os').fork() for _ in range(40)] and 1",
    "open('/etc/shadow').read()",
    "open(__import__('os').path.expanduser('~/.ssh/id_rsa')).read()",
    "__import__('socket').create_connection(('1.1.1.1', 53), 1)",
    "__import__('random').random()",
    "list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})",
    "object()",
    "(lambda f: f(f))(lambda f: f(f))",
    "print('0' * 10 ** 7)",
)


@pytest.mark.parametrize(
    "expression", [*HOSTILE[:3], *(pytest.param(each, marks=pytest.mark.slow) for each in HOSTILE[3:])]
)
async def test_a_program_that_takes_too_much_or_differs_each_time_proves_nothing(expression: str) -> None:
    assert await Verification().outcome(AskedProgram("", expression)) is None


WAITING = "import queue; queue.Queue().get()"


@pytest.mark.parametrize("code", ["raise SystemExit", "import os; os._exit(0)", WAITING, "import nowhere"])
async def test_a_program_that_ends_before_its_examples_has_met_none(code: str) -> None:
    answer = f"```python\ndef top(items, n):\n    pass\n\n{code}\n```"
    assert await Verification()(SORTS, answer, ignore) is None


async def test_answers_that_come_at_once_run_a_program_in_turn() -> None:
    verification = Verification()
    found = await asyncio.gather(*(verification(GOAL, answer, ignore) for answer in (RIGHT, WRONG, RIGHT, WRONG)))
    assert [next(iter(each[0].signals)) for each in found if each] == ["verified", "refuted", "verified", "refuted"]


ASKED = (
    ("Welchen Wert hat `stand` am Ende?\n```python\nstand = 7\nfor _ in range(3):\n    stand -= 2\n```", "1", "3"),
    ("Que va afficher ce script ?\n```python\nprint(*sorted('cab'), sep='<')\n```", "`a<b<c`", "`c<a<b`"),
    ("Consider\n\n    def cut(text):\n        return text[1:-1]\n\nWhich value is cut('house')?", "'ous'", "'hous'"),
    ("What is the output?\n```\n>>> a = {2, 1}\n>>> len(a | {3})\n```", "The output is 3.", "The output is 4."),
    ("[CODE]\ndef g(n):\n    return n % 4\nassert g(11) == ____\n[/CODE]", '{"answer": "3"}', '{"answer": "2"}'),
    ("Fill in: `assert max([2, 8, 5]) == ?`", "8", "5"),
    ("下面的程序输出什么\n```python\nprint(7 // 2)\n```", "答案是 3", "答案是 4"),
    ("What does this print?\n```js\nconsole.log([3, 20, 100].sort().join('/'));\n```", "`100/20/3`", "`3/20/100`"),
)  # fmt: skip


@pytest.mark.parametrize(("prompt", "right", "wrong"), ASKED)
async def test_a_program_is_found_in_the_words_of_many(prompt: str, right: str, wrong: str) -> None:
    verification = Verification()
    if "js" in prompt:
        await needs_node(verification)
    confirmed, other = await verification(prompt, right, ignore), await verification(prompt, wrong, ignore)
    assert confirmed
    assert confirmed[0].signals == {"verified": 1.0}
    assert other is None or other[0].signals == {"refuted": 1.0}


async def needs_node(verification: Verification) -> None:
    if await verification.outcome(AskedProgram("console.log(1)", language="javascript")) is None:
        pytest.skip("there is no node here")


OTHERWISE = (
    (f"{DOUBLES}twice([4]) returns [8], but it should return [4, 4]. Mend it.", "Now twice([4]) is `[4, 4]`."),
    (f"{DOUBLES}How many elements does the list have that twice([4, 1]) returns?", "2"),
    (f"{DOUBLES}What is the sum of the values in twice([4, 1])?", "10"),
    (f"{DOUBLES}What does twice([4, 1]) return as JSON with one key per index?", '`{"0": 8, "1": 2}`'),
    ("Which number, in hexadecimal, is printed?\n```python\nprint(255)\n```", "`0xff`, or 'ff'"),
    ("Was liefert f(2), wenn man die Zahl danach noch quadriert?\n```python\ndef f(x): return x\n```", "4"),
    (f"{DOUBLES}What is twice([4]) + twice([1])? Give the resulting value.", "[8, 2]"),
    (f"{DOUBLES}Which value is len(twice([4, 1]))?", "2"),
    ("Write a poem about results = values(returned).", "Values returned at dawn"),
    (f"{DOUBLES}Compare twice([1]) and twice([2]): which is larger, what do they return?", "The answer is `[4]`."),
)


@pytest.mark.parametrize(("prompt", "answer"), OTHERWISE)
async def test_an_answer_to_another_question_about_a_program_is_left_alone(prompt: str, answer: str) -> None:
    found = await Verification()(prompt, answer, ignore)
    assert found is None or "refuted" not in found[0].signals


@pytest.mark.parametrize(
    "text", ["(" * 7_000, "f(" * 3_000, "assert f(" * 800, "`" * 8_000, "x = " * 2_000, "[CODE]" * 1_300]
)
def test_prompts_that_only_look_like_programs_are_read_quickly(text: str) -> None:
    assert asked_program(f"What is the output?\n{text}") is None


LISTS = "```python\nx = [1, 2, 3]\nx.{}\n```"
MEANS = "Write `avg(xs)`. For example avg([1, 1, 2]) -> 1.33"
UNVERIFIABLE = (
    ("What is the value of x?\n" + LISTS.format("append(4)"), "x is [1, 2, 3, 4]"),
    ("What is the value of x?\n" + LISTS.format("pop()"), "x is [1, 2]"),
    ("What is the value of x?\n```python\nx = 3\nprint(7)\n```", "3"),
    (f"{DOUBLES}What does `sum(twice([1])) / 3` return? Round to two digits.", "0.67"),
    ("What does this print?\n```python\nprint(2 / 3)\n```", "It prints approximately 0.667."),
    (f"{DOUBLES}What does `twice([5])[0]` return? Answer in binary.", "1010"),
    ("What does `2 ^ 3` return?", "8"),
    ("What is the output of `round(2.5)` in Python 2?", "3.0"),
    (MEANS, "```python\ndef avg(xs):\n    return sum(xs) / len(xs)\n```"),
    ("Write f(n). For example f(n) == 0 for n = 0.", "```python\ndef f(n):\n    return n\n```"),
    ("Write load(path). For example `load('a.txt')` -> 'x'", "```python\ndef load(p):\n    return open(p).read()\n```"),
    ("Write roll(n), as `roll(9)` -> 77", "```python\nimport random\ndef roll(n):\n    return random.random()\n```"),
)


@pytest.mark.parametrize(("prompt", "answer"), UNVERIFIABLE)
async def test_a_right_answer_is_not_refuted_for_what_running_can_not_tell(prompt: str, answer: str) -> None:
    assert await Verification()(prompt, answer, ignore) is None


async def test_an_example_behind_the_name_of_the_function_is_read_alone() -> None:
    found = await Verification()("Write add(a). add(1) = 2", "```python\ndef add(a):\n    return a + 1\n```", ignore)
    assert found is not None
    assert found[0].signals == {"verified": 1.0}


DEEP = f"{'-' * 390}1"
ONE = "```python\ndef f(x):\n    return 1\n```"


@pytest.mark.parametrize(
    "goal",
    [
        f"What does `f({DEEP})` return?",
        f"```python\nx = 1\nassert {DEEP} == ??\n```",
        f"What is the output?\n```python\nx = 1\n{DEEP}\n```",
        f"Write a function f.\nassert f({DEEP}) == 1",
    ],
)
async def test_an_expression_that_is_nested_too_deeply_is_left_alone(goal: str) -> None:
    result, log = await play({"strategy": "peer", "peers": [says(ONE)]}, ONE, goal)

    assert (result.messages[1].text, of(AnswerChecked, log), of(HelpFailed, log)) == (ONE, [], [])


def test_a_benchmark_tells_what_running_has_shown_of_first_answers(tmp_path: Path) -> None:
    """In its table of signals, where an answer that stands is counted as well as one that is helped."""
    rows(
        tmp_path / "sums.jsonl",
        [{"id": "a", "prompt": f"{DOUBLES}What does `sum(twice([4, 1]))` return?", "reference": "10"}],
    )
    poor, good = says("It returns 9."), says("It returns 10.")
    helped = {"name": "helped", "model": poor, "strategy": "takeover", "secondary": good}
    stands = {"name": "stands", "model": good, "strategy": "takeover", "secondary": poor, "threshold": 0.99}
    _, samples = benchmarked(tmp_path, suite(tmp_path, helped, stands))
    found = {key.setting: {*sample.signals} & {"refuted", "verified"} for key, sample in samples.items()}
    assert found == {"helped": {"refuted"}, "stands": {"verified"}}
    assert {sample.score.value for sample in samples.values()} == {1.0}


FORGERIES = (
    "import sys, os\nframe = sys._getframe()\nwhile frame.f_back: frame = frame.f_back\n"
    "print(frame.f_globals.get('word', ''), end='')\nprint('[\"\", [[\"[9, 4]\", \"\"]]]', flush=True)\nos._exit(0)",
    'import os\nfor place in range(1, 40):\n    try: os.write(place, b\'["", [["[9, 4]", ""]]]\\n\')\n'
    "    except OSError: pass\nos._exit(0)",
    "import os\nfor place in range(1, 9):\n    try: open(f'/proc/{os.getppid()}/fd/{place}', 'w').write("
    '\'["", [["[9, 4]", ""]]]\\n\')\n    except OSError: pass\nos._exit(0)',
    "import builtins, json\nreal = json.dumps\njson.dumps = lambda given, **_: real(['', [['[9, 4]', '']]])",
)


@pytest.mark.parametrize("code", FORGERIES, ids=["frames", "descriptors", "the parent's", "functions"])
async def test_a_program_that_writes_the_result_itself_has_not_met_an_example(code: str) -> None:
    answer = f"```python\ndef top(items, n):\n    pass\n\n{code}\n```"
    found = await Verification()(SORTS, answer, ignore)
    assert found is None or "verified" not in found[0].signals


ELSEWHERE = (
    ("import datetime\nprint(datetime.date.today())", "`2001-02-03`"),
    ("import os\nprint(os.getcwd())", "`/home/me`"),
    ("import os\nprint(len(os.environ))", "The output is 41."),
    ("import time\nprint(int(time.time()) // 10 ** 8)", "The output is 9."),
    ("import sys\nprint(sys.argv)", "`['main.py']`"),
    ("print(sorted(__import__('os').listdir()))", "`['a.txt']`"),
)


@pytest.mark.parametrize(("code", "answer"), ELSEWHERE)
async def test_a_program_that_reads_its_surroundings_refutes_nothing(code: str, answer: str) -> None:
    found = await Verification()(f"What does this print?\n```python\n{code}\n```", answer, ignore)
    assert found is None


@pytest.mark.parametrize("code", ["echo $HOME", "date +%Y", "pwd"])
async def test_neither_does_a_script(code: str) -> None:
    assert await Verification()(f"What does this print?\n```bash\n{code}\n```", "It prints `nowhere`.", ignore) is None


async def test_a_program_that_could_not_be_run_is_run_for_the_next_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first draft goes on unverified, and the journal says why; what the second says is looked at."""
    failing, stand_in = tmp_path / "fails once", tmp_path / "bin" / "bwrap"
    stand_in.parent.mkdir()
    fails = f'rm "{failing}" 2>/dev/null && {{ echo no memory >&2; exit 1; }}'
    stand_in.write_text(f'#!/bin/sh\n{fails}\nexec {shutil.which("bwrap")} "$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    if choose().name != "bubblewrap":  # which it remembers, without another trial
        pytest.skip("bubblewrap does not work here")
    failing.touch()
    council = {"strategy": "peer", "peers": [says(WRONG)], "secondary": says("Who knows."), "threshold": 0.1}
    _, log = await play(council, RIGHT)

    (failed,) = of(HelpFailed, log)
    assert "goes on unverified: The fence could not be built: no memory" in failed.reason
    assert len(of(AnswerChecked, log)) == 1


def denying(deny: list[str], **pair: Any) -> dict[str, Any]:
    pair = {"primary": "small", "secondary": says(RIGHT), "strategy": "takeover", **pair}
    small = {"type": "scripted/small", "script": [WRONG], "loop": True, "approval": {"deny": deny}}
    other = {"type": "scripted/other", "script": ["Fine."], "loop": True}
    models = {"small": small, "other": other}
    return {
        "turns": 1,
        "goal": GOAL,
        "mode": "no-meta",
        "tools": ["code_execution"],
        "models": models,
        "collaboration": {"pairs": [pair]},
    }


@pytest.mark.parametrize(("deny", "served"), [(["code_execution"], WRONG), ([], RIGHT)])
async def test_nothing_is_run_for_a_participant_whose_code_may_not_be_run(deny: list[str], served: str) -> None:
    manager = CollaborativeConversationManager.from_config({"discussion": denying(deny, threshold=0.1)})
    result = await manager.run_discussion(log := EventLog())

    assert result.messages[1].text == served
    assert bool(of(AnswerChecked, log)) == (not deny)


def test_to_ask_for_verification_where_code_may_not_be_run_is_an_error() -> None:
    with pytest.raises(ConfigError, match="approval denies code_execution"):
        CollaborativeConversationManager.from_config({"discussion": denying(["code_execution"], verify=True)})
