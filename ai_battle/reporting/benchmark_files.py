"""What a folder of results holds beside the results: summary.json, results.csv and report.html."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..benchmark.sample import Sample
from ..benchmark.store import Store
from ..benchmark.summary import Summary
from ..benchmark.summing import summarised
from ..core.errors import JournalError
from ..core.private import write_private
from .benchmark_html import render
from .exports import no_formula

SUMMARY, TABLE, REPORT = "summary.json", "results.csv", "report.html"
COLUMNS = (
    "setting",
    "task",
    "repeat",
    "score",
    "why",
    "helped",
    "quality",
    "reason",
    "small_score",
    "large_score",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "wasted_usd",
    "seconds",
    "error",
)


def write_benchmark_reports(store: Store) -> Summary:
    """Each file whole or not at all; raises `JournalError` where one can't be written."""
    summary = summarised(store)
    _write(store.folder / SUMMARY, [summary.text()])
    _write(store.folder / TABLE, table(store))
    _write(store.folder / REPORT, render(summary, store))
    return summary


def table(store: Store) -> Iterator[str]:
    """A sample a row, without the answers. What a spreadsheet would run as a formula gets an apostrophe before it."""
    yield _row(COLUMNS)
    for sample in store.samples():
        yield _row(_cells(sample))


def _cells(sample: Sample) -> Iterator[object]:
    score, usage = sample.score, sample.usage
    values = (
        *(sample.setting, sample.task, sample.repeat, score.value, score.why, int(sample.helped), sample.quality),
        *(sample.reason, sample.small_score, sample.large_score, usage.input_tokens, usage.output_tokens),
        *(usage.cost_usd, sample.wasted.cost_usd, round(sample.seconds, 6), sample.error),
    )
    return (no_formula(each) if isinstance(each, str) else each for each in values)


def _row(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _write(path: Path, pieces: Iterable[str]) -> None:
    try:
        write_private(path, pieces)
    except OSError as error:
        raise JournalError(
            f"{path} can't be written: {error.strerror}. The results themselves are kept; when that is mended, "
            f"write it with: ai-battle bench report {path.parent}"
        ) from error
