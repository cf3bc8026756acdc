"""`ai-battle council`: models answer a question, rank each other's answers, and merge them into one."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..conversation import asking
from ..core.events import Event
from ..core.exchange import NOTHING_USED
from ..core.helping import AnswersMerged, AnswersRanked
from ..core.texts import one_line, printable
from ..reporting.figures import dollars
from .arguments import MODEL
from .ask import TITLE_CHARACTERS, AnsweredQuestion, request_answer, show_answer, with_input
from .options import USD, as_json, attached, quiet, require_files, verbose
from .output import print_json
from .tables import show_rows

COLUMN_HEADS = ("rank", "answer", "member", "points", "first for", "cost", "seconds")


@click.command("council")
@click.argument("question", required=False, default="")
@click.option("-m", "--model", "members", type=MODEL, multiple=True, help="A member; repeat it for two or more.")
@click.option("--chair", type=MODEL, default="", help="The model that merges the answers; by default the first member.")
@click.option("--system", metavar="TEXT", default="", help="A system prompt.")
@attached
@click.option("--max-cost", type=USD, metavar="USD", help="The most that it may cost.")
@quiet
@verbose
@as_json
def command(question: str, members: Sequence[str], chair: str, **how: Any) -> None:
    """Let models answer QUESTION, and merge their answers into one. They rank each other's answers without names."""
    if len(members) < 2:
        raise click.UsageError("A council has two members or more: -m TYPE -m TYPE. One model answers with ask.")
    require_files(how["files"])
    text = with_input(question, "council")
    loaded = asking.load_council(text, members, chair=chair, files=how["files"], max_cost=how["max_cost"])
    answer = request_answer(loaded, how, one_line(question or text, TITLE_CHARACTERS))
    if how["as_json"]:
        print_json({**answer.document, **_ranking(answer.events)})
        return
    show_answer(answer, quiet=how["quiet"])
    for event in answer.events if not how["quiet"] else ():
        if isinstance(event, AnswersRanked):
            show_rows(COLUMN_HEADS, [*_rows(event, members), *_chair_rows(answer)], err=True, padding=(0, 1))
            click.echo("\n".join(map(printable, event.left_out)), nl=bool(event.left_out), err=True)


def _rows(ranked: AnswersRanked, members: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields the members that answered, best first."""
    for row in ranked.rows:
        points = "not ranked" if row["points"] is None else f"{row['points']:.2f}"
        rank = "" if row["points"] is None else str(row["rank"])
        firsts = f"{row['firsts']} of {row['judges']}"
        spent = (dollars(row["cost_usd"]), f"{row['seconds']:.1f}")
        yield (rank, row["label"], f"{row['member']}: {printable(members[row['member'] - 1])}", points, firsts, *spent)


def _chair_rows(answer: AnsweredQuestion) -> Iterator[tuple[str, ...]]:
    """Yields the model that merged the answers: the chair, or the first member that answered."""
    replies = [reply for reply in answer.replies if reply.role == "chair"]
    if replies:
        usage = sum((reply.usage for reply in replies), NOTHING_USED)
        spent = (dollars(usage.cost_usd), f"{sum(reply.seconds for reply in replies):.1f}")
        yield ("", "", f"{printable(replies[-1].model)} (chair)", "", "", *spent)


def _ranking(events: Sequence[Event]) -> dict[str, Any]:
    """Returns the ranking and the fate of each answer as JSON."""
    found: dict[str, Any] = {"ranking": [], "rankings": [], "missing": [], "used": [], "left_out": {}}
    for event in events:
        match event:
            case AnswersRanked():
                found |= {"ranking": event.rows, "rankings": event.rankings, "missing": event.left_out}
                found |= {"seed": event.seed}
            case AnswersMerged():
                found |= {"used": event.used, "left_out": event.left_out, "unmentioned": event.unmentioned}
    return found
