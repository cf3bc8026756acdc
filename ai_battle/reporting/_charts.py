"""Charts as inline SVG: no script, no style attributes, readable with the page's colours."""

from collections.abc import Sequence

from ..core.texts import about
from ._figures import count, dollars
from ._markup import Html, tag
from .account import Account, Sizes, Voice

WIDTH = 640
ROW = 26
LABEL = 150
FIGURE = 120
HEIGHT = 80
LONGEST_NAME = 24


def colour(position: int) -> str:
    """The class that colours a participant, everywhere on the page."""
    return f"c{position % 8}"


def tokens(found: Account) -> Html:
    """What each participant's model read and wrote."""
    voices = list(found.voices.values())
    most = max((voice.usage.total_tokens for voice in voices), default=0) or 1
    rows = (_tokens_row(n, voice, most) for n, voice in enumerate(voices))
    return _figure("Tokens", "read (pale) and written (full)", len(voices) * ROW, *rows)


def cost(found: Account) -> Html:
    """Only where there is something to compare: a known cost above nothing."""
    voices = list(found.voices.values())
    most = max((voice.usage.cost_usd or 0.0 for voice in voices), default=0.0)
    if not most:
        return Html("")
    rows = (_cost_row(n, voice, most) for n, voice in enumerate(voices))
    return _figure("Cost", "by participant", len(voices) * ROW, *rows)


def growth(sizes: Sizes) -> Html:
    """How large the turns were, from the first to the last."""
    bars = sizes.all
    if len(bars) < 2:
        return Html("")
    most, step = max(bars) or 1, WIDTH / len(bars)
    drawn = (_column(n, HEIGHT * size / most, step) for n, size in enumerate(bars))
    each = f"each bar is the mean of {sizes.width} turns" if sizes.width > 1 else "each bar is a turn"
    return _figure("Tokens per turn", f"{each}; the highest: {count(round(max(bars)))}", HEIGHT, *drawn)


def _tokens_row(n: int, voice: Voice, most: int) -> Html:
    read, written = (_scaled(t, most) for t in (voice.usage.input_tokens, voice.usage.output_tokens))
    mark = about(estimated=voice.usage.estimated)
    figure = f"{mark}{count(voice.usage.input_tokens)} + {count(voice.usage.output_tokens)}"
    return _row(n, voice.name, figure, (_bar(n, 0, read, "pale"), _bar(n, read, written, "full")))


def _cost_row(n: int, voice: Voice, most: float) -> Html:
    return _row(
        n, voice.name, dollars(voice.usage.cost_usd), (_bar(n, 0, _scaled(voice.usage.cost_usd or 0, most), "full"),)
    )


def _scaled(amount: float, most: float) -> float:
    return round((WIDTH - LABEL - FIGURE) * amount / most, 1)


def _row(n: int, name: str, figure: str, bars: Sequence[Html]) -> Html:
    middle = n * ROW + ROW / 2 + 4
    shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return tag(
        "g",
        tag("text", shown, x=LABEL - 10, y=middle, text_anchor="end"),
        *bars,
        tag("text", figure, x=WIDTH, y=middle, text_anchor="end", class_="figure"),
    )


def _bar(n: int, start: float, width: float, kind: str) -> Html:
    return tag("rect", x=LABEL + start, y=n * ROW + 6, width=width, height=ROW - 12, class_=f"{colour(n)} {kind}")


def _column(n: int, height: float, step: float) -> Html:
    gap = min(2.0, step / 4)
    return tag(
        "rect",
        x=round(n * step, 2),
        y=round(HEIGHT - height, 1),
        width=round(step - gap, 2),
        height=round(height, 1),
        class_="column",
    )


def _figure(title: str, legend: str, height: float, *drawn: Html) -> Html:
    caption = tag("figcaption", tag("strong", title), " ", tag("span", legend))
    picture = tag("svg", tag("title", title), *drawn, viewBox=f"0 0 {WIDTH} {height:g}", role="img")
    return tag("figure", caption, picture)
