"""Where the points of a benchmark's pictures lie: its settings by cost and quality, and how long they took."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..benchmark.summary import BenchmarkSummary, Item, Latency, SettingRow
from .charts import BOTTOM, LEFT, RIGHT, TOP, Box, Plane, Points, Scale, fitting, label_boxes, shares
from .figures import effort, seconds, short

WIDTH, HEIGHT = 760, 400
LETTER, LINE = 7.2, 14
MOST_LABELLED, MOST_HILLS, MOST_MAPPED = 14, 14, 400
NAMES, HILL = 200, 34


class FrontPicture(NamedTuple):
    """Cost and quality of each setting; `line` goes through those that no other beats, `labels` are what has room."""

    plane: Plane
    rows: Sequence[SettingRow]
    line: Points
    labels: Sequence[tuple[SettingRow, float, float]]


def front(summary: BenchmarkSummary) -> FrontPicture | None:
    """None where no setting has both a cost and a quality."""
    rows = [row for row in summary.settings if row.quality is not None and row.effort is not None]
    if not rows:
        return None
    across = fitting([row.effort or 0.0 for row in rows], LEFT, WIDTH - RIGHT, logs=True)
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    plane = Plane(across, shares(ends, HEIGHT - BOTTOM, TOP), lambda value: effort(value, summary.axis))
    line = [_at(row, plane) for row in summary.front if row in rows]
    return FrontPicture(plane, rows, line, [*_labels(rows, plane)])


def _at(row: SettingRow, plane: Plane) -> tuple[float, float]:
    return plane.at(row.effort or 0.0, row.quality or 0.0)


def _labels(rows: Sequence[SettingRow], plane: Plane) -> Iterator[tuple[SettingRow, float, float]]:
    """Of all, or of the front where there are many; a label that finds no room is left to the table."""
    named = [row for row in rows if len(rows) <= MOST_LABELLED or not row.dominated]
    wanted = [(*_at(row, plane), LETTER * len(short(row.name))) for row in named]
    for row, box in zip(named, label_boxes(wanted, LINE, _is_inside), strict=True):
        if box:
            yield row, round(box[0], 1), round(box[3] - 3, 1)


def _is_inside(box: Box) -> bool:
    return box[0] > LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT - BOTTOM


class Hills(NamedTuple):
    """Counts of samples by their time: the outline of each setting's hill, in heights above its base."""

    across: Scale
    rows: Sequence[tuple[SettingRow, Points]]
    left_out: str

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        return self.across.labelled(seconds)


def latency(summary: BenchmarkSummary) -> Hills | None:
    """How long answers took, by setting; None where nobody knows. Of many settings those that no other beats."""
    found, timed = summary.latency, [row for row in summary.settings if row.seconds_p50 is not None]
    if not found.edges or not timed:
        return None
    few = timed if len(timed) <= MOST_HILLS else [row for row in timed if not row.dominated][:MOST_HILLS]
    across = Scale(found.edges[0], found.edges[-1], NAMES, WIDTH - RIGHT, is_log=True)
    left_out = "" if len(few) == len(timed) else "; settings that no other beats"
    return Hills(across, [(row, _outline(found.counts.get(row.name, ()), found, across)) for row in few], left_out)


def _outline(counts: Sequence[int], found: Latency, across: Scale) -> Points:
    most = max(counts, default=0) or 1
    tops = [
        (across(edge), HILL * count / most)
        for start, end, count in zip(found.edges, found.edges[1:], counts, strict=False)
        for edge in (start, end)
    ]
    return [(across(found.edges[0]), 0.0), *tops, (across(found.edges[-1]), 0.0)]


def most_helped(items: Sequence[Item]) -> list[Item]:
    """Tasks in the order of their help."""
    return sorted(items, key=lambda item: -sum(item.helped.values()))[:MOST_MAPPED]
