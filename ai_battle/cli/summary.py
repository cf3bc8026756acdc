"""The table after a run: how often each participant spoke, at what cost, with a small chart."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ai_battle.core.exchange import Usage
from ai_battle.core.texts import one_line
from ai_battle.reporting.account import ParticipantStats, account

from .output import count, dollars
from .tables import show_rows

BAR = 12
LEVELS = "▁▂▃▄▅▆▇█"
LONGEST_NAME, MOST_BARS = 28, 60


def show_participants(run_dir: Path) -> None:
    """Shows a line for each participant, and the tokens of each turn as a row of bars."""
    run = account(run_dir)
    most = max((each.usage.total_tokens for each in run.participants.values()), default=0)
    heads = ("", "model", "turns", "in", "out", "cost", "seconds", "tokens")
    show_rows(heads, (_cells(each, most) for each in run.participants.values()))
    sizes = [sum(took[0] for took in bar.values()) for bar in run.bars.bars]
    if len(sizes) > 2:
        each = "turn" if run.bars.width == 1 else f"{run.bars.width} turns"
        click.echo(f"tokens per {each}  {''.join(_bars(sizes[-MOST_BARS:]))}")


def _cells(each: ParticipantStats, most: int) -> tuple[str, ...]:
    usage = each.usage
    return (
        one_line(each.name, LONGEST_NAME),
        one_line(each.model, LONGEST_NAME),
        str(each.turns),
        count(usage.input_tokens),
        count(usage.output_tokens),
        dollars(usage.cost_usd) if usage != Usage() else "",
        f"{each.seconds:.1f}",
        "▇" * max(round(BAR * usage.total_tokens / most), usage.total_tokens > 0) if most else "",
    )


def _bars(sizes: Sequence[int]) -> Iterator[str]:
    highest = max(sizes)
    for size in sizes:
        yield LEVELS[min(int(size / highest * len(LEVELS)), len(LEVELS) - 1)] if highest else LEVELS[0]
