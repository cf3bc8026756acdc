"""`ai-battle judge`: lets models that took no part judge finished runs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import click

from ..arbiter.judging import judge_run
from ..arbiter.transcript import Transcript
from ..arbiter.verdict import FILE, Verdict
from ..config.judge import load_rubric
from ..core.errors import ProviderError
from ..core.events import Event, ModelReplied, ignore
from ..core.files import copy_of
from ..core.ledger import Budget, SpendingLimits, charge_to
from ..core.object_store import shown_path
from ..core.texts import printable
from ..reporting.comparison import ComparedRun, write_comparison
from ..reporting.exports import write_reports
from ..reporting.figures import count_of
from . import DONE, FAILED
from .arguments import MODEL, RunName
from .options import USD, as_json, quiet
from .output import bill, print_json, show_rows, without_secrets

Judge: TypeAlias = Callable[[Path], Awaitable[Verdict]]


@click.command("judge")
@click.argument("runs", type=RunName(), nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m",
    "--model",
    "models",
    type=MODEL,
    multiple=True,
    required=True,
    help="A model that judges; repeat it for several.",
)
@click.option("--rubric", metavar="FILE", default="", help="What is judged: a YAML file; by default a packaged one.")
@click.option("--max-cost", type=USD, metavar="USD", help="The most that judging all runs may cost.")
@quiet
@as_json
def command(
    runs: tuple[Path, ...], models: tuple[str, ...], rubric: str, max_cost: float | None, quiet: bool, as_json: bool
) -> int:
    """Judge each RUN by a rubric. Models score its participants, and a score needs a true quotation.

    Participants are judged under labels, twice, in both orders. The verdict is stored in the run's folder and shown in
    its reports; the run itself stays as it was.
    """
    criteria, limits = load_rubric(rubric), SpendingLimits(max_cost)
    for run_dir in runs:
        Transcript.read(run_dir)  # raises for an unreadable run before anything is spent
    emit = ignore if quiet else _tell
    judge = partial(judge_run, models=models, rubric=criteria, limits=limits, emit=emit)
    found = asyncio.run(judge_all(runs, judge, Budget(limits, payer="--max-cost")))
    verdicts = [(run_dir, verdict) for run_dir, verdict in zip(runs, found, strict=True) if verdict]
    _report(verdicts, as_json=as_json)
    return DONE if all(found) else FAILED


def _report(verdicts: Sequence[tuple[Path, Verdict]], *, as_json: bool) -> None:
    """Shows the verdicts and, for several runs, the path of a comparison."""
    if as_json:
        print_json([{"run": shown_path(run_dir), **verdict.to_json()} for run_dir, verdict in verdicts])
    else:
        for run_dir, verdict in verdicts:
            show_verdict(run_dir, verdict)
    if len(verdicts) > 1:
        click.echo(f"Comparison of all: {_compare([run_dir for run_dir, _ in verdicts])}", err=as_json)


def _compare(run_dirs: Sequence[Path]) -> Path:
    """Writes a page comparing all runs next to the first one, or here if that is in an object store. Returns its path.

    A series has a comparison page of its own there, which must not be overwritten.
    """
    first = run_dirs[0]
    path = (Path() if copy_of(first) else first.parent) / f"{first.name}-judged.html"
    runs = [ComparedRun(run_dir, run_dir.name, run_dir.name) for run_dir in run_dirs]
    write_comparison(path, count_of(len(runs), "run"), runs, ())
    return path


async def _tell(event: Event) -> None:
    if isinstance(event, ModelReplied):
        click.echo(f"{event.speaker} has answered ({bill(event.usage)}).", err=True)


async def judge_all(runs: Sequence[Path], judge: Judge, budget: Budget) -> list[Verdict | None]:
    with charge_to(budget):
        return [await try_to_judge(run_dir, judge) for run_dir in runs]


async def try_to_judge(run_dir: Path, judge: Judge) -> Verdict | None:
    """Judges a run and updates its reports. Returns None, and says so, if no score can be used."""
    try:
        verdict = await judge(run_dir)
    except ProviderError as error:
        click.echo(f"{shown_path(run_dir)} was not judged: {without_secrets(printable(str(error)))}", err=True)
        return None
    write_reports(run_dir)
    return verdict


def show_verdict(run_dir: Path, verdict: Verdict) -> None:
    """Shows the scores of a run, and how far they can be trusted."""
    click.secho(shown_path(run_dir), bold=True)
    head, *rows = [[*map(printable, row)] for row in verdict.rows]
    show_rows(head, rows)
    for words in filter(None, (verdict.outcome, *verdict.remarks)):
        click.echo(printable(words))
    click.echo(f"Judging took {bill(verdict.usage)}; the run has a bill of its own.")
    click.echo(shown_path(run_dir / FILE))
