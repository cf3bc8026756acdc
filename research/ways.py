"""Compares strategies on the shipped tool tasks, with scripted models: `python -m research.ways`.

All 36 tasks of `configs/benchmarks/data/tools.jsonl` run in six settings. The figures show what each strategy asks and
pays, and what it makes of a small model with known faults; they do not show how often real models have such faults. Of
the 30 tasks that need a call, the small model refuses every sixth, is unsure of every sixth (and asks if it has an
advisor), and gives a wrong argument in every sixth. Of the six that need none it calls a tool in one. The large model
is wrong in every twelfth, and explains the others. The suite `tool-use` is the same for real models.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import begin, run
from ai_battle.benchmark.summary import SettingRow, summary_of

TASKS = Path(__file__).parents[1] / "configs" / "benchmarks" / "data" / "tools.jsonl"
WAYS = ("rescue", "takeover", "boost", "advisor")
PRICES = {"scripted/small": {"input": 0.1, "output": 0.1}, "scripted/large": {"input": 3, "output": 15}}
NO_CALL = {"say": "That is answered without a tool: as far as I know, it is so."}
REFUSES = {"say": "I can't do that. I am only a language model."}
UNSURE = {"say": "I'm not sure how you mean that."}
ASKS = {"call": {"tool": "advisor", "parameters": {"question": "How is that meant?"}}}

Line = Mapping[str, Any]


def right_answer(task: Mapping[str, Any]) -> Line:
    """Returns the answer of a model that knows the task."""
    if not task["reference"]:
        return NO_CALL
    return {"call": [{"tool": name, "parameters": _values(named)} for name, named in _calls(task)]}


def wrong_argument(task: Mapping[str, Any]) -> Line:
    name, named = next(_calls(task))
    values = _values(named)
    changed = {key: "elsewhere" if isinstance(value, str) else 1 for key, value in [next(iter(values.items()))]}
    return {"call": [{"tool": name, "parameters": {**values, **changed}}]}


def unaided_answer(place: int, task: Mapping[str, Any], unsure: Line) -> Line:
    if not task["reference"]:
        return {"call": [{"tool": task["tools"][0]["name"], "parameters": {}}]} if place % 6 == 3 else NO_CALL
    return {1: REFUSES, 3: unsure, 5: wrong_argument(task)}.get(place % 6, right_answer(task))


def small_model(tasks: list[dict[str, Any]], unsure: Line) -> Line:
    advised = [{"match": f"{task['id']}: ", **right_answer(task)} for task in tasks]
    alone = [{"match": _spelling(task), **unaided_answer(place, task, unsure)} for place, task in enumerate(tasks)]
    return {"type": "scripted/small", "loop": True, "script": [UNSURE], "when": [*advised, *alone]}


def large_model(tasks: list[dict[str, Any]]) -> Line:
    rules: list[Line] = []
    for place, task in enumerate(tasks):
        knows = place % 12 != 11
        done = right_answer(task) if knows else UNSURE
        how = f"{task['id']}: do it so: {json.dumps(done)}" if knows else "I don't know."
        rules += [
            {"match": f"(?s){_spelling(task)}.*Advise it", "say": how},
            {"match": f"(?s)FORMAT 2.*{_spelling(task)}", "say": f"ANALYSIS:\nA task.\n\nGUIDANCE:\n{how}"},
            {"match": _spelling(task), **done},
        ]
    return {"type": "scripted/large", "loop": True, "script": [UNSURE], "when": sorted(rules, key=_is_plain)}


def suite(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    help_, alone = large_model(tasks), small_model(tasks, UNSURE)
    settings = [{"name": "small alone", "model": alone}]
    for way in WAYS:
        model = small_model(tasks, ASKS) if way == "advisor" else alone
        settings.append({"name": way, "model": model, "secondary": help_, "strategy": way})
    settings.append({"name": "large alone", "model": help_})
    datasets = [{"path": str(TASKS)}]
    return {"benchmark": {"datasets": datasets, "scorers": ["tool_calls"], "settings": settings}, "prices": PRICES}


def _calls(task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, list[Any]]]]:
    for call in task["reference"]:
        yield from call.items()


def _values(named: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Returns the first right value of each argument. An empty value means that the argument is left out."""
    return {key: values[0] for key, values in named.items() if values[0] != ""}


def _spelling(task: Mapping[str, Any]) -> str:
    return re.escape(str(task["prompt"])).replace("$", "$$")


def _is_plain(rule: Line) -> bool:
    """Sorts rules for an advisor first, as a question to it contains the task, too."""
    return not rule["match"].startswith("(?s)")


def _cells(row: SettingRow) -> Iterator[str]:
    yield f"{row.name:12}"
    yield f"{row.quality or 0:6.1%}"
    yield f"{row.help.asked:6}" if row.help.asked else f"{'':6}"
    yield f"{1000 * (row.cost_per_task or 0):8.2f}"
    yield f"{1000 * row.help.help_usd:8.2f}" if row.help.help_usd else ""


def main() -> None:
    tasks = [json.loads(line) for line in TASKS.read_text(encoding="utf-8").splitlines()]
    with TemporaryDirectory() as folder:
        path = Path(folder, "ways.yaml")
        path.write_text(yaml.safe_dump(suite(tasks), allow_unicode=True), encoding="utf-8")
        loaded = load(str(path))
        store = begin(loaded, Path(folder, "results"))
        run(loaded, store)
        print(f"{len(tasks)} tasks\nsetting      quality  asked  $/1,000 help $/1,000")
        for row in summary_of(store).settings:
            print(" ".join(_cells(row)))
        store.close()


if __name__ == "__main__":
    main()
