"""Presents a calibration: as sentences, as YAML for a pair, as a text curve, and as a page."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import stdev
from textwrap import fill
from typing import NamedTuple

from ..judging.calibrate import Z_95, Report, Target, surpluses
from ..judging.calibration import Point
from ..judging.measures import curve, interval, mean
from ..judging.promise import Promise
from .charts import Axes, Points, Scale
from .figures import dollars
from .pages import page as page_of

LINE_WIDTH = 78
TIED = "\u00a0"
SHARE_STEPS = 20
SHARES_OF_HELP = [n / SHARE_STEPS for n in range(SHARE_STEPS + 1)]
LABEL_HEIGHT = 14
LEFT, RIGHT, TOP, BOTTOM = 60, 640, 32, 322
BAR_WIDTH = 24
RIVALS = ("random", "length", "oracle")
_PLAIN = re.compile(r"[\w./~-]+")


def data(report: Report, answers: int) -> str:
    """Returns a sentence about the answers that the calibration is based on."""
    if not report.labels:
        return f"{answers} answers, without labels."
    if promise := report.calibration.promise:
        others = "count as helped"
        if promise.labels == report.labels:
            others = "are left out, which is sound only where chance has decided which have labels"
        rest = "" if report.labels == answers else f"; those without {others}"
        return (
            f"{answers} answers, {report.labels} with labels{rest}. The weights are as shipped, so no label is seen "
            "twice."
        )
    fitted = "weights fitted to them" if report.refit else "too few to fit weights to, so only the cut is theirs"
    return f"{answers} answers, {report.labels} with labels, {fitted}."


def recommendation(report: Report, target: Target) -> Iterator[str]:
    """Yields sentences on how much help to use, its likely effect, and what to know before relying on it."""
    if not report.helps:
        yield report.note
        return
    share = report.calibration
    yield f"For {target_text(target)}: {share.help_rate:.1%} of the answers get help (± {share.error:.1%})."
    if point := likely(report):
        small, large = mean(report.small), mean(report.large)
        low, high = _advantage_interval(report)
        yield (
            f"The quality is then about {point.quality:.3f} (95 % interval {point.low:.3f} … {point.high:.3f}), "
            f"with {(point.quality - small) / (large - small):.0%} of the helper's advantage ({low:.0%} … {high:.0%})."
        )
    if promise := share.promise:
        yield (
            f"Of {promise.labels} answers {promise.lost:g} are then worse than the helper's and get no help. A pair "
            f"that loses more than {promise.loss:.1%} would pass this test with a probability of at most "
            f"{1 - promise.confidence:.0%}; it says nothing of requests that are unlike these."
        )
        if report.labels < promise.labels and round((1 - share.help_rate) * promise.labels) >= report.labels:
            yield "All that have labels would go out without help: with more labels fewer answers get help."
        if promise.families:
            yield f"The same was tested for {' and '.join(promise.families)} alone, and for all others together."
    if target.helper_price:
        yield f"An answer costs about {dollars(target.own_price + share.help_rate * target.helper_price)} on average."
    yield from _cautions(report, target)


def target_text(target: Target) -> str:
    match target.kind:
        case "max_cost":
            return f"at most {dollars(target.value)} an answer"
        case "pgr":
            return f"{target.value:.0%} of the helper's advantage"
        case "promise":
            return f"a loss of at most {target.value:.1%} of the answers, with {target.confidence:.0%} confidence"
        case "quality" | "help_rate":
            return f"a {target.kind.replace('_', ' ')} of {target.value:g}"


def likely(report: Report) -> Point | None:
    """Returns the quality at the recommended share, interpolated between its neighbours; None without labels."""
    share = report.calibration.help_rate
    after = next((point for point in report.curve if point.help_rate >= share - 1e-9), None)
    if not after:
        return None
    before = next((point for point in reversed(report.curve) if point.help_rate <= share), after)
    part = (share - before.help_rate) / (after.help_rate - before.help_rate or 1)
    low, high = (a + part * (b - a) for a, b in ((before.low, after.low), (before.high, after.high)))
    quality = _quality_curve(report)[round(share * len(report.small))]
    return Point(share, quality, min(low, quality), max(high, quality))


def fragment(report: Report, path: str | None = None) -> str:
    """Returns the YAML for a pair: the path of the calibration, or all of it in lines of `LINE_WIDTH`."""
    if path:
        named = f"calibration: {path if _PLAIN.fullmatch(path) else json.dumps(path)}"
        return f"{named}\n{_promise_key(report.calibration.promise)}".rstrip()
    kept = report.calibration.as_json()
    needed = {key: value for key, value in kept.items() if value or key == "cut"}
    mapping = json.dumps(needed, separators=(", ", f":{TIED}"))  # no-break spaces, so that no line breaks after a key
    lines = fill(
        f"calibration: {mapping}", LINE_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(TIED, " ")


def _promise_key(promise: Promise | None) -> str:
    return f"promise: {{loss: {promise.loss:g}, confidence: {promise.confidence:g}}}" if promise else ""


def _cautions(report: Report, target: Target) -> Iterator[str]:
    if report.calibration.agreement:
        yield "That is where several models answer (peer, council, vote); elsewhere the detector decides alone."
    if (best := _best_reachable(report, target)) is not None:
        yield f"No share of help reaches {target_text(target)}: the most is {best:.3f}."
    elif not _is_sure(report, target):
        yield f"No share of help is sure to reach {target_text(target)}; this one is the nearest to it."
    yield from _share_cautions(report, target)
    low, high = _advantage(report)
    if low <= 0 < high:
        yield f"Whether the helper is better at all is not certain: by {low:+.3f} to {high:+.3f} (95 % interval)."


def _share_cautions(report: Report, target: Target) -> Iterator[str]:
    share, wanted = report.calibration.help_rate, _share(report, target)
    if wanted is None:
        return
    if wanted < 0:
        yield f"The small model alone costs {dollars(target.own_price)} an answer, so nothing is left for help."
    elif abs(share - min(wanted, 1)) > report.calibration.error / 2:
        nearest = f"{share:.1%} is as near to {wanted:.1%} as can be"
        yield f"Many answers repeat each other, and get help all or none: {nearest}."


def _share(report: Report, target: Target) -> float | None:
    """Returns the share of help that is wanted or affordable, or None if the target is a quality."""
    match target.kind:
        case "help_rate":
            return target.value
        case "max_cost":
            return (target.value - target.own_price) / target.helper_price
    return None


def _is_sure(report: Report, target: Target) -> bool:
    if target.kind not in ("quality", "pgr") or not report.curve:
        return True
    ranks = [(score,) for score in report.scores]
    return max(surpluses(target, ranks, report.small, report.large).values()) >= 0


def _best_reachable(report: Report, target: Target) -> float | None:
    """Returns the most that any share of help reaches, if that is below the target."""
    if target.kind not in ("quality", "pgr") or not report.curve:
        return None
    small, large = mean(report.small), mean(report.large)
    most = max(_quality_curve(report))
    reached = most if target.kind == "quality" else (most - small) / (large - small)
    return reached if reached < target.value - 1e-9 else None


def _advantage_interval(report: Report) -> tuple[float, float]:
    """Returns the 95 % interval of the part of the helper's advantage that the recommended share brings."""
    share = report.calibration.help_rate

    def part(scores: Sequence[float], small: Sequence[float], large: Sequence[float]) -> float:
        reached = curve(scores, small, large)
        advantage = reached[-1] - reached[0]
        return (reached[round(share * len(small))] - reached[0]) / advantage if advantage > 0 else 0.0

    return interval(part, report.scores, report.small, report.large)


def _quality_curve(report: Report) -> list[float]:
    return curve(report.scores, report.small, report.large)


def _advantage(report: Report) -> tuple[float, float]:
    """Returns the lowest and highest likely advantage of the helper over the small model."""
    better = [large - small for small, large in zip(report.small, report.large, strict=True)]
    if len(better) < 2:
        return 0.0, 0.0
    error = Z_95 * stdev(better) / len(better) ** 0.5
    return mean(better) - error, mean(better) + error


@dataclass(frozen=True, slots=True)
class CurveLine:
    """The mean quality at 0, 5, 10 ... 100 % of help."""

    name: str
    quality: tuple[float, ...]

    @property
    def points(self) -> Points:
        return [*zip(SHARES_OF_HELP, self.quality, strict=True)]


def lines(report: Report) -> tuple[CurveLine, ...]:
    """Returns the detector's curve and those of its baselines, or nothing without labels."""
    small, large = report.small, report.large
    if not small:
        return ()
    better = [b - a for a, b in zip(small, large, strict=True)]
    rivals = {"detector": report.scores, "length": report.lengths, "oracle": better}
    ranked = [CurveLine(name, tuple(_samples(curve(list(scores), small, large)))) for name, scores in rivals.items()]
    low, high = mean(small), mean(large)
    random = tuple(low + (high - low) * share / SHARE_STEPS for share in range(SHARE_STEPS + 1))
    return (*ranked, CurveLine("random", random), _level("never", low), _level("always", high))


def _level(name: str, quality: float) -> CurveLine:
    return CurveLine(name, (quality,) * (SHARE_STEPS + 1))


def _samples(quality: Sequence[float]) -> Iterator[float]:
    last = len(quality) - 1
    return (quality[round(share * last / SHARE_STEPS)] for share in range(SHARE_STEPS + 1))


def rows(report: Report) -> Iterator[str]:
    """Yields a terminal line for each tenth of help, marking the one nearest to the recommendation."""
    qualities = {line.name: line.quality for line in lines(report)}
    nearest = round(report.calibration.help_rate * 10) if report.helps else -1
    yield f"  help  quality  95 % interval   {' '.join(f'{name:>6}' for name in RIVALS)}"
    for tenth, point in enumerate(report.curve[::2]):
        yield f"{'▸' if tenth == nearest else ' '}{_row(point, qualities)}"
    marked = "; ▸ is nearest to what is recommended" if report.helps else ""
    yield f"  never {qualities['never'][0]:.3f}, always {qualities['always'][0]:.3f}{marked}"


def _row(point: Point, qualities: Mapping[str, Sequence[float]]) -> str:
    share = round(point.help_rate * SHARE_STEPS)
    others = " ".join(f"{qualities[name][share]:6.3f}" for name in RIVALS)
    span = f"{point.low:.3f} … {point.high:.3f}"
    low, high = min(map(min, qualities.values())), max(map(max, qualities.values()))
    bar = "█" * round(BAR_WIDTH * (point.quality - low) / ((high - low) or 1))
    return f"{point.help_rate:5.0%}   {point.quality:.3f}  {span}   {others}  {bar}".rstrip()


def page(report: Report, target: Target, answers: int, path: str | None = None) -> str:
    """Returns a self-contained page; `path` is the calibration's, which a pair then refers to."""
    pieces = page_of(
        "calibration.html",
        title="Calibration",
        styles=("report.css", "calibration.css"),
        sentences=(data(report, answers), *recommendation(report, target)),
        fragment=fragment(report, path) if report.helps else "",
        curve=report.curve,
        share=report.calibration.help_rate,
        picture=picture(report) if report.curve else None,
    )
    return "".join(pieces)


class CurvePicture(NamedTuple):
    """The lines with the places of their names, the interval of the first, and the recommended share of help."""

    axes: Axes
    lines: Sequence[CurveLine]
    names: Sequence[tuple[str, float]]
    band: Points
    mark: float | None


def picture(report: Report) -> CurvePicture:
    found = lines(report)
    band = [(point.help_rate, point.high) for point in report.curve]
    band += [(point.help_rate, point.low) for point in reversed(report.curve)]
    values = [*chain(*(line.quality for line in found)), *(quality for _, quality in band)]
    up = Scale(min(values), max(*values, min(values) + 0.01), BOTTOM, TOP)
    axes = Axes(Scale(0, 1, LEFT, RIGHT), up)
    mark = axes.across(report.calibration.help_rate) if report.helps else None
    return CurvePicture(axes, found, [*_names(found, up)], axes.line(band), mark)


def _names(curves: Sequence[CurveLine], up: Scale) -> Iterator[tuple[str, float]]:
    """Places the name of each line near its end and below the one above it."""
    free = 0.0
    for line in sorted(curves, key=lambda line: line.quality[-3], reverse=True):
        free = max(up(line.quality[-3]), free + LABEL_HEIGHT)
        yield line.name, free
