"""The explorer of a benchmark: tasks, the answers of both models and of all settings, and why help was asked for."""

from collections.abc import Iterator, Mapping

from ..benchmark.sample import Sample
from ..benchmark.store import Store
from ..benchmark.summary import Item, Summary
from ..benchmark.tasks import Task
from ..core.texts import about
from ._figures import dollars
from ._markup import Html, joined, tag
from .benchmark_charts import NONE, seconds, whole

MOST, MOST_ANSWERS = 200, 2_000
"""Tasks that are shown, and answers of all settings to them."""

LONGEST, SHORT = 4_000, 96

Answers = Mapping[str, Mapping[str, Sample]]


def items(summary: Summary, store: Store) -> Iterator[Html]:
    """The most telling tasks first: those that the settings answer differently, then those with help."""
    chosen = sorted(summary.items, key=_telling)[: min(MOST, max(1, MOST_ANSWERS // max(1, len(summary.settings))))]
    wanted = {item.task for item in chosen}
    tasks = {task.id: task for task in store.tasks() if task.id in wanted}
    answers = _answers(store, wanted)
    if len(chosen) < len(summary.items):
        yield tag("p", f"The {len(chosen):,} most telling of {len(summary.items):,} tasks; results.sqlite has all.")
    for item in chosen:
        yield _item(item, tasks[item.task], answers.get(item.task, {}))


def _telling(item: Item) -> tuple[float, float, str]:
    scores = [score for score in item.scores.values() if score is not None]
    return (-(max(scores) - min(scores)) if scores else 0.0, -sum(item.helped.values()), item.task)


def _answers(store: Store, wanted: set[str]) -> Answers:
    """The first answer of each setting to each task that is shown."""
    found: dict[str, dict[str, Sample]] = {}
    for setting in store.settings():
        for sample in store.samples(setting):
            if sample.task in wanted and not sample.repeat:
                found.setdefault(sample.task, {})[setting] = sample
    return found


def _item(item: Item, task: Task, answers: Mapping[str, Sample]) -> Html:
    dots = (tag("i", title=name, class_=f"dot {_kind(score)}") for name, score in item.scores.items())
    head = tag("summary", tag("b", item.task), " ", tag("span", *dots, class_="dots"), " ", _first_line(task.prompt))
    asked = [tag("h3", "Task"), _text(task.prompt)]
    asked += [tag("p", tag("b", "Right is: "), _cut(task.reference))] if task.reference else []
    return tag(
        "details",
        head,
        *asked,
        *_both(answers),
        _by_setting(item, answers),
        class_="item",
        data_marks=" ".join(_marks(item, answers)),
    )


def _marks(item: Item, answers: Mapping[str, Sample]) -> list[str]:
    """What the script filters by."""
    scores = [score for score in item.scores.values() if score is not None]
    found = {
        "differs": len(set(scores)) > 1,
        "helped": any(item.helped.values()),
        "failed": any(sample.error for sample in answers.values()),
        "all-wrong": bool(scores) and max(scores) <= 0.5,
    }
    return [name for name, holds in found.items() if holds]


def _both(answers: Mapping[str, Sample]) -> Iterator[Html]:
    """The first answers of the small and the large model side by side; several of one are told apart below."""
    small = next((sample for sample in answers.values() if sample.small_answer), None)
    large = next((sample for sample in answers.values() if sample.large_answer), None)
    if small:
        said = _said("Small model", small.small_score, small.small_answer)
        other = _said("Large model", large.large_score, large.large_answer) if large else ""
        yield tag("div", said, other, class_="both")
    if reason := next(filter(None, (sample.reason for sample in answers.values() if sample.helped)), ""):
        yield tag("p", tag("b", "Why help was asked for: "), reason, class_="reason")


def _said(who: str, score: float | None, answer: str) -> Html:
    return tag("div", tag("h3", who, _scored(score)), _text(answer))


def _by_setting(item: Item, answers: Mapping[str, Sample]) -> Html:
    head = tag(
        "thead", tag("tr", *(tag("th", name) for name in ("setting", "score", "help", "cost", "time", "answer")))
    )
    rows = [_row(item, name, answers.get(name)) for name in item.scores]
    return tag("div", tag("table", head, tag("tbody", *rows)), class_="wide")


def _row(item: Item, name: str, sample: Sample | None) -> Html:
    if sample is None:
        return tag("tr", tag("td", name), tag("td", "not played", colspan=5))
    score = item.scores[name]
    cells = (
        tag("td", NONE if score is None else f"{score:.2f}", class_=_kind(score), title=sample.score.why),
        tag("td", whole(item.helped[name]) if name in item.helped else NONE),
        tag("td", about(estimated=sample.usage.estimated) + dollars(sample.usage.cost_usd)),
        tag("td", seconds(sample.seconds)),
        tag("td", _answer(sample)),
    )
    return tag("tr", tag("td", name), *cells)


def _answer(sample: Sample) -> Html:
    """What was shown above is not shown again."""
    if sample.error:
        return tag("span", f"failed: {_cut(sample.error)}", class_="wrong")
    for who, text in (("small", sample.small_answer), ("large", sample.large_answer)):
        if text and text == sample.answer:
            return tag("em", f"the {who} model's answer")
    return tag("details", tag("summary", _first_line(sample.answer)), _text(sample.answer))


def _scored(score: float | None) -> Html:
    return tag("small", "" if score is None else f" scores {score:.2f}")


def _kind(score: float | None) -> str:
    return "unscored" if score is None else "right" if score > 0.5 else "wrong"


def _text(said: str) -> Html:
    return tag("pre", _cut(said), dir="auto")


def _cut(said: str) -> str:
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}… ({len(said) - LONGEST:,} characters more)"


def _first_line(said: str) -> str:
    line = " ".join(said[:300].split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


def explorer(summary: Summary, store: Store) -> Iterator[Html]:
    """With a place for the controls that a script makes."""
    kinds = (("right", "right"), ("wrong", "wrong"), ("unscored", "not scored"))
    dots = (tag("span", tag("i", class_=f"dot {kind}"), f" {said} ") for kind, said in kinds)
    legend = tag("p", "A dot for each setting, in the order of the table above: ", *dots)
    yield joined(tag("h2", "Tasks and answers"), legend, tag("div", id="controls", hidden="hidden"))
    yield from items(summary, store)
