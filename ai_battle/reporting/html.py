"""The report of a run: one HTML file that needs nothing else, runs nothing, and shows what models wrote as text."""

from collections.abc import Iterator
from pathlib import Path

from . import charts
from .account import account, timeline
from .pages import page
from .sentences import HELP_HEADS

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def render(run_dir: Path) -> Iterator[str]:
    """The page in pieces, so that the length of a run does not matter."""
    run = account(run_dir)
    return page(
        "report.html",
        title=run.name,
        styles=("report.css",),
        run=run,
        colours={name: charts.colour(n) for n, name in enumerate(run.participants)},
        charts=(charts.tokens(run), charts.cost(run), charts.growth(run.sizes)),
        events=timeline(run_dir),
        help_heads=HELP_HEADS,
        pictures=_PICTURES,
    )
