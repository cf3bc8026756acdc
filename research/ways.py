"""Ways to let a small model have the help of a large one on the shipped tool tasks: `python -m research.ways`.

All 36 tasks of `configs/benchmarks/data/tools.jsonl`, in six settings, with scripted models: it shows what each way
asks and pays, and what it makes of a small model that goes wrong in known ways; it says nothing of how often real
ones do. Of the 30 tasks that need a call the small model refuses every sixth, is unsure of every sixth (and asks
there, where it has an advisor) and gives a wrong argument in every sixth; of the six that need none it calls a tool
in one. The large one is wrong in every twelfth, and says how to do the others. The suite `tool-use` is the same for
real models.
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


def right(task: Mapping[str, Any]) -> Line:
    """Returns what a model does that knows the task."""
    if not task["reference"]:
        return NO_CALL
    return {"call": [{"tool": name, "parameters": _values(named)} for name, named in _calls(task)]}


def wrong_argument(task: Mapping[str, Any]) -> Line:
    name, named = next(_calls(task))
    values = _values(named)
    changed = {key: "elsewhere" if isinstance(value, str) else 1 for key, value in [next(iter(values.items()))]}
    return {"call": [{"tool": name, "parameters": {**values, **changed}}]}


def by_itself(place: int, task: Mapping[str, Any], unsure: Line) -> Line:
    if not task["reference"]:
        return {"call": [{"tool": task["tools"][0]["name"], "parameters": {}}]} if place % 6 == 3 else NO_CALL
    return {1: REFUSES, 3: unsure, 5: wrong_argument(task)}.get(place % 6, right(task))


def small(tasks: list[dict[str, Any]], unsure: Line) -> Line:
    told = [{"match": f"{task['id']}: ", **right(task)} for task in tasks]
    alone = [{"match": _spelling(task), **by_itself(place, task, unsure)} for place, task in enumerate(tasks)]
    return {"type": "scripted/small", "loop": True, "script": [UNSURE], "when": [*told, *alone]}


def large(tasks: list[dict[str, Any]]) -> Line:
    rules: list[Line] = []
    for place, task in enumerate(tasks):
        knows = place % 12 != 11
        done = right(task) if knows else UNSURE
        how = f"{task['id']}: do it so: {json.dumps(done)}" if knows else "I don't know."
        rules += [
            {"match": f"(?s){_spelling(task)}.*Advise it", "say": how},
            {"match": f"(?s)FORMAT 2.*{_spelling(task)}", "say": f"ANALYSIS:\nA task.\n\nGUIDANCE:\n{how}"},
            {"match": _spelling(task), **done},
        ]
    return {"type": "scripted/large", "loop": True, "script": [UNSURE], "when": sorted(rules, key=_is_plain)}


def suite(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    help_, alone = large(tasks), small(tasks, UNSURE)
    settings = [{"name": "small alone", "model": alone}]
    for way in WAYS:
        model = small(tasks, ASKS) if way == "advisor" else alone
        settings.append({"name": way, "model": model, "secondary": help_, "strategy": way})
    settings.append({"name": "large alone", "model": help_})
    datasets = [{"path": str(TASKS)}]
    return {"benchmark": {"datasets": datasets, "scorers": ["tool_calls"], "settings": settings}, "prices": PRICES}


def _calls(task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, list[Any]]]]:
    for call in task["reference"]:
        yield from call.items()


def _values(named: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The first value of each argument that is right; an empty one stands for an argument that is left out."""
    return {key: values[0] for key, values in named.items() if values[0] != ""}


def _spelling(task: Mapping[str, Any]) -> str:
    return re.escape(str(task["prompt"])).replace("$", "$$")


def _is_plain(rule: Line) -> bool:
    """Rules for an adviser come first, as the task itself is read along in what it is asked."""
    return not rule["match"].startswith("(?s)")


def _cells(row: SettingRow) -> Iterator[str]:
    yield f"{row.name:12}"
    yield f"{row.quality or 0:6.1%}"
    yield f"{row.asked:6}" if row.asked else f"{'':6}"
    yield f"{1000 * (row.cost_per_task or 0):8.2f}"
    yield f"{1000 * row.help_usd:8.2f}" if row.help_usd else ""


def main() -> None:
    tasks = [json.loads(line) for line in TASKS.read_text(encoding="utf-8").splitlines()]
    with TemporaryDirectory() as folder:
        path = Path(folder, "ways.yaml")
        path.write_text(yaml.safe_dump(suite(tasks), allow_unicode=True), encoding="utf-8")
        loaded = load(str(path))
        store = begin(loaded, Path(folder, "results"))
        run(loaded, store)
        print(f"{len(tasks)} tasks\nsetting      quality asked $/1,000  of it help")
        for row in summary_of(store).settings:
            print(" ".join(_cells(row)))
        store.close()


if __name__ == "__main__":
    main()
