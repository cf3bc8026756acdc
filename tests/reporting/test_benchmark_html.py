"""The report of a benchmark: what it shows, what it does not run, and how it looks in a real browser."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.store import Store
from ai_battle.benchmark.summary import BenchmarkSummary
from ai_battle.benchmark.tasks import Task
from ai_battle.reporting.benchmark_report import render, write_benchmark_reports
from ai_battle.reporting.charts import Scale, fitting, label_boxes

from ..benchmark.results import HELPED, LARGE, SMALL, helped_samples, results, scored_samples
from .hostile import HOSTILE
from .test_browser import CHROMIUM, DARK, browser, serious_findings

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium")
MANY = 60
MEASURING = """<!doctype html><title></title><iframe style="border:0;width:%dpx;height:900px" src="%s"></iframe><script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument;
  for (const each of page.querySelectorAll("details")) each.open = true;
  const boxes = [page.documentElement, ...page.querySelectorAll("section, .wide, td, tbody th, figure, dl")];
  const wide = boxes.filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth);
  const names = wide.map((each) => `${each.tagName}.${each.className}`);
  document.title = `${boxes.length} boxes, too wide: ${names.join(" ")}`;
};
</script>"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A small, a helped and a large setting, and one that is beaten; a hostile prompt, answer, reason and error."""
    right = ["x" if n % 2 else "." for n in range(MANY)]
    after = ["x" if n % 2 or n % 4 == 0 else "." for n in range(MANY)]
    got = ["x" if n % 3 == 0 else "." for n in range(MANY)]
    of_helped = helped_samples("".join(right), "".join(after), "".join(got))
    of_helped[0] = replace(of_helped[0], answer=HOSTILE, small_answer=HOSTILE, large_answer=HOSTILE, reason=HOSTILE)
    samples = [
        *scored_samples("small", [float(each == "x") for each in right], 0.001),
        *of_helped,
        *scored_samples("large", [1.0] * (MANY - 4) + [0.0] * 4, 0.02),
        *scored_samples("silly", [float(n % 5 == 0) for n in range(MANY)], 0.03),
    ]
    samples[1] = replace(samples[1], error=HOSTILE)
    tasks = [Task(f"t{n}", HOSTILE if n == 0 else f"Question {n}?", "42") for n in range(MANY)]
    settings: dict[str, Any] = {"small": SMALL, "helped": HELPED, "large": LARGE, "silly": {"model": "x/silly"}}
    made = results(tmp_path / "<b>results", settings, samples, tasks)
    yield made
    made.close()


@pytest.fixture
def summary(store: Store) -> BenchmarkSummary:
    return write_benchmark_reports(store)


@pytest.fixture
def page(summary: BenchmarkSummary, store: Store) -> str:
    return "".join(render(summary, store))


def test_all_that_is_asked_of_a_report_is_there(page: str) -> None:
    for heading in ("What it comes to", "Settings", "Each against each", "Help", "Tasks and answers"):
        assert f"<h2>{heading}</h2>" in page
    for chart in (
        "Cost and quality",
        "How long answers take",
        "Help by task",
        "What the detector&#39;s word is worth",
    ):
        assert f"<strong>{chart}</strong>" in page
    assert "Settings that were not run" in page


def test_a_beaten_setting_is_grey_and_says_by_which(page: str) -> None:
    assert re.search(r'<g class="point grey" data-of="silly"><title>silly: .*small is no worse and no dearer', page)
    assert '<tr class="dominated">' in page
    assert "silly is beaten by small, which is no worse, no dearer, and shown to be better in one of both." in page


def test_every_pair_is_in_the_matrix_from_both_sides(page: str) -> None:
    assert re.search(r'title="large against small: \+\d+\.\d points[^"]*: better" class="better"', page)
    assert re.search(r'title="small against large: -\d+\.\d points[^"]*: worse" class="worse"', page)


def test_an_item_has_both_answers_and_the_reason_for_help(page: str) -> None:
    item = page[page.index("<b>t3</b>") :]
    item = item[: item.index('<details class="item"')]
    for part in ("Question 3?", "First.", "Of the large one.", "it is doubtful", "In the end.", "Answer 3."):
        assert part in item


def test_nothing_that_others_wrote_is_markup(page: str) -> None:
    assert "<script>document" not in page
    assert "<img" not in page
    assert page.count("<script>") == page.count("<style>") == 1
    assert "<h1>&lt;b&gt;results</h1>" in page


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    assert not re.findall(r"""<[^>]*\s(?:src|href)=|url\(|@import|https?://""", page)
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_the_most_telling_tasks_come_first_and_long_answers_are_cut(store: Store, tmp_path: Path) -> None:
    samples = [*scored_samples("a", [1.0] * 300), *scored_samples("b", [1.0] * 299 + [0.0])]
    samples[0] = replace(samples[0], answer="long " * 3_000)
    many = results(tmp_path / "many", {"a": SMALL, "b": LARGE}, samples)
    page = "".join(render(write_benchmark_reports(many), many))
    many.close()
    assert page.index("<b>t299</b>") < page.index("<b>t0</b>")
    assert "The 200 most telling of 300 tasks" in page
    assert "(11,000 characters more)" in page


def test_a_report_of_nothing_is_a_page_all_the_same(tmp_path: Path) -> None:
    empty = results(tmp_path / "empty", {"a": SMALL}, [], [Task("t", "Prompt.")])
    page = "".join(render(write_benchmark_reports(empty), empty))
    empty.close()
    assert page.endswith("</html>\n")
    assert "the run is not finished: 1 sample is missing" in page


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0, 1, 0, 100), [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (Scale(47, 91, 0, 100), [50, 60, 70, 80, 90]),
        (Scale(0.03, 3, 0, 100, is_log=True), [0.05, 0.1, 0.2, 0.5, 1, 2]),
        (Scale(0.5, 20_000, 0, 100, is_log=True), [1, 10, 100, 1_000, 10_000]),
    ],
)
def test_ticks_are_round_numbers(scale: Scale, ticks: list[float]) -> None:
    assert scale.ticks() == pytest.approx(ticks)


def test_a_scale_holds_its_values_and_is_by_powers_where_they_are_far_apart() -> None:
    wide = fitting([0.001, 1.0], 0, 100, logs=True)
    assert wide.is_log
    assert 0 < wide(0.001) < wide(0.03) < wide(1.0) < 100
    assert not fitting([1.0, 3.0], 0, 100, logs=True).is_log
    assert fitting([2.0, 2.0], 0, 100)(2.0) == 50


def test_labels_never_lie_on_one_another() -> None:
    points = [(50.0 + n, 50.0, 40.0) for n in range(12)]
    boxes = [box for box in label_boxes(points, 12, lambda box: True) if box]
    assert 2 <= len(boxes) < 12, "there is no room for all"
    for n, a in enumerate(boxes):
        assert all(a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for b in boxes[n + 1 :])


@in_browser
def test_in_a_browser_the_script_runs_and_what_models_wrote_does_not(
    summary: BenchmarkSummary, store: Store, tmp_path: Path
) -> None:
    shown = browser(tmp_path, store.folder / "report.html", "--dump-dom")
    assert "owned</title>" not in shown
    assert 'class="sortable cards sorting"' in shown, "tables can be sorted"
    assert "60 of 60</output>" in shown, "tasks can be searched"
    assert shown.count("<script") == 1


@pytest.mark.slow
@in_browser
def test_in_a_browser_it_reads_without_its_script(page: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.html"
    bare.write_text(page[: page.index("<script>")], encoding="utf-8")
    shown = browser(tmp_path, bare, "--dump-dom")
    assert shown.count('<details class="item"') == MANY
    assert shown.count("<svg") == page.count("<svg") >= 5
    assert re.search(r'<div id="controls" hidden="hidden"></div>', shown), "nothing is shown that would not work"


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("width", [390, 700, 1000, 1200])
def test_in_a_browser_nothing_is_cut_however_narrow_it_is(
    width: int, summary: BenchmarkSummary, store: Store, tmp_path: Path
) -> None:
    """Tables whose rows are wider than the page would scroll, with columns out of sight."""
    frame = tmp_path / "frame.html"
    report = (store.folder / "report.html").as_uri()
    frame.write_text(MEASURING % (width, escape(report)), encoding="utf-8")
    shown = browser(tmp_path, frame, "--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom")

    said = re.search(r"<title>(\d+) boxes, too wide: (.*)</title>", shown)
    assert said
    assert int(said[1]) > 100
    assert said[2] == ""


@in_browser
@pytest.mark.slow
@pytest.mark.parametrize("wish", [(), (DARK,), ("--window-size=600,2000",)], ids=["light", "dark", "narrow"])
@pytest.mark.usefixtures("summary")
def test_axe_finds_nothing_serious(
    wish: tuple[str, ...], store: Store, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert serious_findings(store.folder / "report.html", tmp_path, tmp_path_factory, *wish) == []


def test_the_heads_of_tables_are_explained_below_them(page: str) -> None:
    heads = set(re.findall(r'<th scope="col">([^<]+)</th>', page[: page.index('class="matrix')]))
    heads |= set(re.findall(r'<td data-head="((?!against)[^"]+)"', page[: page.index("<h2>Tasks and answers")]))
    explained = set(re.findall(r"<dt>([^<]+)</dt><dd>[^<]{10,}</dd>", page))

    assert {"quality", "asked", "before", "APGR", "rescued"} <= heads
    assert heads - explained == {"setting"}


@pytest.mark.slow
@in_browser
def test_in_a_browser_it_can_be_looked_at(summary: BenchmarkSummary, store: Store, tmp_path: Path) -> None:
    picture = tmp_path / "report.png"
    browser(tmp_path, store.folder / "report.html", f"--screenshot={picture}", "--window-size=1100,2400")
    assert picture.stat().st_size > 100_000, "a page without its charts makes a smaller picture"
