"""Charts of a run: what each participant's model read, wrote and cost, and how the turns grew."""

from collections.abc import Sequence

from markupsafe import Markup

from ..core.texts import about
from .account import ParticipantStats, RunAccount, TurnSizes
from .figures import count, dollars
from .svg import figure, tag

WIDTH = 640
ROW = 26
LABEL = 150
FIGURE = 120
HEIGHT = 80
LONGEST_NAME = 24


def colour(position: int) -> str:
    """The class that colours a participant, everywhere on the page."""
    return f"c{position % 8}"


def tokens(run: RunAccount) -> Markup:
    """What each participant's model read and wrote."""
    participants = list(run.participants.values())
    most = max((each.usage.total_tokens for each in participants), default=0) or 1
    rows = (_tokens_row(n, each, most) for n, each in enumerate(participants))
    return figure("Tokens", "read (pale) and written (full)", WIDTH, len(participants) * ROW, *rows)


def cost(run: RunAccount) -> Markup:
    """Only where there is something to compare: a known cost above nothing."""
    participants = list(run.participants.values())
    most = max((each.usage.cost_usd or 0.0 for each in participants), default=0.0)
    if not most:
        return Markup("")
    rows = (_cost_row(n, each, most) for n, each in enumerate(participants))
    return figure("Cost", "by participant", WIDTH, len(participants) * ROW, *rows)


def growth(sizes: TurnSizes) -> Markup:
    """How large the turns were, from the first to the last."""
    bars = sizes.all
    if len(bars) < 2:
        return Markup("")
    most, step = max(bars) or 1, WIDTH / len(bars)
    drawn = (_column(n, HEIGHT * size / most, step) for n, size in enumerate(bars))
    each = f"each bar is the mean of {sizes.width} turns" if sizes.width > 1 else "each bar is a turn"
    return figure("Tokens per turn", f"{each}; the highest: {count(round(max(bars)))}", WIDTH, HEIGHT, *drawn)


def _tokens_row(n: int, each: ParticipantStats, most: int) -> Markup:
    read, written = (_width(t, most) for t in (each.usage.input_tokens, each.usage.output_tokens))
    mark = about(estimated=each.usage.estimated)
    figure = f"{mark}{count(each.usage.input_tokens)} + {count(each.usage.output_tokens)}"
    return _row(n, each.name, figure, (_bar(n, 0, read, "pale"), _bar(n, read, written, "full")))


def _cost_row(n: int, each: ParticipantStats, most: float) -> Markup:
    return _row(
        n, each.name, dollars(each.usage.cost_usd), (_bar(n, 0, _width(each.usage.cost_usd or 0, most), "full"),)
    )


def _width(amount: float, most: float) -> float:
    return round((WIDTH - LABEL - FIGURE) * amount / most, 1)


def _row(n: int, name: str, figure: str, bars: Sequence[Markup]) -> Markup:
    middle = n * ROW + ROW / 2 + 4
    shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return tag(
        "g",
        tag("text", shown, x=LABEL - 10, y=middle, text_anchor="end"),
        *bars,
        tag("text", figure, x=WIDTH, y=middle, text_anchor="end", class_="figure"),
    )


def _bar(n: int, start: float, width: float, kind: str) -> Markup:
    return tag("rect", x=LABEL + start, y=n * ROW + 6, width=width, height=ROW - 12, class_=f"{colour(n)} {kind}")


def _column(n: int, height: float, step: float) -> Markup:
    gap = min(2.0, step / 4)
    return tag(
        "rect",
        x=round(n * step, 2),
        y=round(HEIGHT - height, 1),
        width=round(step - gap, 2),
        height=round(height, 1),
        class_="column",
    )
