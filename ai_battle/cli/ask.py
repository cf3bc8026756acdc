"""`ai-battle ask`, `council` and `talk`: a question or a discussion from one line, without a file."""

import asyncio
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ..assembly.models import NO_RECORDING
from ..config.collaboration import USUAL_STRATEGY
from ..config.loading import LoadedDiscussion
from ..conversation import asking
from ..conversation.asking import ASKER_NAME, literal, load_composed, named_types, participants
from ..core.errors import ConfigError
from ..core.events import DELTAS, AttemptFailed, Event, ModelReplied, RunStarted, TurnFinished, TurnStarted, ignore
from ..core.exchange import EVERYTHING, NOTHING_USED, WHOLE_ANSWER, ModelResponse
from ..core.helping import AnswersMerged, AnswersRanked
from ..core.texts import one_line, printable
from ..files.reading import LARGEST_TEXT, MIB
from ..reporting.figures import dollars
from ..reporting.sentences import STOPS
from ..wire.genai import usage_to_json
from .arguments import MODEL, describe_with
from .live import LiveView, PlainLines, ViewOptions, view
from .options import (
    FOLDER,
    USD,
    WithStrategies,
    as_json,
    attached,
    changes,
    dry_run,
    for_tools,
    quiet,
    shortcuts,
    turns,
    verbose,
)
from .output import bill, print_json, show_rows, write_file
from .remarks import Remarks
from .run import run_once
from .terminal import with_approval

TITLE_CHARACTERS = 70


@click.command("ask", cls=WithStrategies)
@click.argument("question", required=False, default="")
@click.option("-m", "--model", type=MODEL, default="", help="The model that answers.")
@click.option("--pair", metavar="SMALL+BIG", default="", help="A small model, and the one that helps it.")
@click.option("--strategy", metavar="NAME", default=USUAL_STRATEGY, help="How the big one helps.")
@click.option("--system", metavar="TEXT", default="", help="A system prompt.")
@attached
@describe_with
@click.option("--max-cost", type=USD, metavar="USD", help="The most that it may cost.")
@quiet
@verbose
@as_json
def command(question: str, model: str, pair: str, **how: Any) -> None:
    """Answer QUESTION once. Standard input is added to it, or is the question if none is given."""
    small, big = _pair(model, pair)
    text = with_input(question)
    loaded = asking.load_question(
        text, small, helper=big, **{key: how[key] for key in ("strategy", "files", "describe_with", "max_cost")}
    )
    answer = request_answer(loaded, how, one_line(question or text, TITLE_CHARACTERS))
    if how["as_json"]:
        print_json(answer.document)
    else:
        show_answer(answer, quiet=how["quiet"])


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """An answer with the events that led to it. If `streamed`, the terminal has shown it already."""

    response: ModelResponse
    events: Sequence[Event]
    seconds: float
    streamed: bool

    @property
    def replies(self) -> Iterable[ModelReplied]:
        """The replies of all models that were called."""
        return (event for event in self.events if isinstance(event, ModelReplied))

    @property
    def document(self) -> dict[str, Any]:
        called = [
            {"model": reply.model, "role": reply.role, "seconds": reply.seconds, "usage": usage_to_json(reply.usage)}
            for reply in self.replies
        ]
        return {
            "answer": self.response.text,
            "model": self.response.model,
            "stop": self.response.stop,
            "seconds": round(self.seconds, 3),
            "usage": usage_to_json(self.response.usage),
            "calls": called,
        }


def request_answer(loaded: LoadedDiscussion, how: Mapping[str, Any], title: str) -> AnsweredQuestion:
    """Asks once, and shows progress as the command's options in `how` require."""
    shown = None if how["quiet"] or how["as_json"] else view(sys.stdout, ViewOptions(turns=1, verbose=how["verbose"]))
    begun, events = time.monotonic(), list[Event]()
    try:
        response = asyncio.run(_ask(loaded, shown, how["system"], title, events))
    finally:
        if shown:
            shown.close()
    return AnsweredQuestion(response, events, time.monotonic() - begun, isinstance(shown, LiveView))


async def _ask(
    loaded: LoadedDiscussion, shown: LiveView | PlainLines | None, system: str, title: str, events: list[Event]
) -> ModelResponse:
    """Returns the answer. `events` collects everything but text deltas.

    A failed attempt is shown when something follows it: the last one is what the error says.
    """
    held = list[Event]()
    tell = _tell_remarks if isinstance(shown, PlainLines) else shown or ignore

    async def listen(event: Event) -> None:
        if not isinstance(event, DELTAS):
            events.append(event)
        shown_now, held[:] = ([*held], [event]) if isinstance(event, AttemptFailed) else ([*held, event], [])
        for each in shown_now:
            await tell(each)

    if not isinstance(shown, LiveView):
        return await asking.answer(loaded, listen, WHOLE_ANSWER, system)
    speaker = next(iter(loaded.file.discussion.models))
    await shown(RunStarted(title, "", {speaker: ""}))
    await shown(TurnStarted(1, 1, speaker))
    response = await asking.answer(loaded, listen, EVERYTHING, system)
    ended = TurnFinished(1, 1, speaker, response.message, response.usage, response.model, 0.0, stop=response.stop)
    await shown(ended)
    return response


async def _tell_remarks(event: Event) -> None:
    """Prints remarks to standard error, as standard output is for the answer."""
    if line := Remarks().line(event):
        click.echo(printable(line), err=True)


def show_answer(answer: AnsweredQuestion, *, quiet: bool) -> None:
    """Prints an answer that was not streamed, and on standard error how it ended and its cost."""
    response = answer.response
    if not answer.streamed:
        click.echo(printable(response.text))
        if response.stop in STOPS:
            click.echo(f"! {STOPS[response.stop]}", err=True)
    if not quiet:
        models = ", ".join(dict.fromkeys(printable(reply.model) for reply in answer.replies))
        spent = bill(response.usage)
        click.secho(f"{models}: {spent}, {answer.seconds:.1f} s", dim=True, err=True)


def with_input(question: str, command: str = "ask") -> str:
    """Returns the question with the text piped to the command. Raises `click.UsageError` if both are empty."""
    piped = "" if sys.stdin is None or sys.stdin.isatty() else _decode(sys.stdin.buffer.read(LARGEST_TEXT + 1))
    if not (question.strip() or piped.strip()):
        raise click.UsageError(f"Ask something: ai-battle {command} QUESTION, or pipe the question to it.")
    return "\n\n".join(filter(None, (question.strip(), piped.strip())))


def _decode(piped: bytes) -> str:
    """Returns the piped text. Raises `ConfigError` if it is too long or not UTF-8."""
    if len(piped) > LARGEST_TEXT:
        raise ConfigError(f"Standard input has more than {LARGEST_TEXT // MIB} MiB of text, which is the most.")
    try:
        return piped.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("Standard input is not UTF-8 text; attach a picture with -f FILE.") from None


def _pair(model: str, pair: str) -> tuple[str, str]:
    """Returns the model that answers and the one that helps it. Raises `click.UsageError`."""
    if model and pair:
        raise click.UsageError("-m TYPE asks one model, --pair SMALL+BIG asks two: leave one of them out.")
    if model:
        return model, ""
    if not pair:
        raise click.UsageError(
            "Say who answers: -m TYPE, or --pair SMALL+BIG, for example --pair ollama/gemma3:4b+gpt-4o. "
            "`ai-battle models list` shows the models that you can reach."
        )
    small, big = map(str.strip, pair.partition("+")[::2])
    if not (small and big):
        raise click.BadParameter("write it as SMALL+BIG, for example ollama/gemma3:4b+gpt-4o", param_hint="--pair")
    return small, big


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
def council(question: str, members: Sequence[str], chair: str, **how: Any) -> None:
    """Let models answer QUESTION, and merge their answers into one. They rank each other's answers without names."""
    if len(members) < 2:
        raise click.UsageError("A council has two members or more: -m TYPE -m TYPE. One model answers with ask.")
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


ROUNDS, ROUNDS_WITH_YOU = 3, 100
"""With a person the talk lasts until that person ends it."""
NAME_WIDTH = 40


@click.command("talk", cls=WithStrategies)
@click.argument("topic")
@click.option(
    "-m", "--model", "models", type=MODEL, multiple=True, metavar="[NAME=]TYPE", help="A model that takes part."
)
@click.option("--me", is_flag=True, help="Take part yourself, at the keyboard.")
@click.option("--helper", type=MODEL, default="", help="A larger model, asked where an answer looks poor.")
@click.option("--strategy", metavar="NAME", default=USUAL_STRATEGY, help="How the helper helps.")
@click.option("--tools", metavar="A,B", default="", help="Tools for the models: calculator,web_search.")
@attached
@describe_with
@changes
@turns
@click.option("--max-cost", type=USD, metavar="USD", help="The most that it may cost.")
@click.option("--out", type=FOLDER, help="The run directory, by default one under runs/.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the talk as a YAML file too, for `run`.")
@quiet
@verbose
@dry_run
@for_tools
def talk(topic: str, models: tuple[str, ...], me: bool, **how: Any) -> int:
    """Let models talk about TOPIC, also with you (--me). No file is needed."""
    if how["save"] and how["save"].exists():
        raise ConfigError(f"{how['save']} exists; name another file with --save.")
    config = recipe(topic, named_types(models), me, how)
    settings = (*how["changes"], *shortcuts(how, "turns", "max_cost"))
    loaded = load_composed(config, settings)
    loaded = with_approval(replace(loaded, name=one_line(topic, NAME_WIDTH)), how["approve"])
    if how["save"]:
        _save(loaded, how["save"])
    return run_once(loaded, NO_RECORDING, how)


def recipe(topic: str, types: Mapping[str, str], me: bool, how: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the talk as the section of a discussion. Raises `click.UsageError` if nobody could answer."""
    _require_two(types, me)
    discussion = participants(types, how["helper"], how["strategy"])
    if me:
        discussion["models"] = {ASKER_NAME: {"role": "user"}, **discussion["models"]}
    rounds, mode = (ROUNDS_WITH_YOU, "human-ai") if me else (ROUNDS, "ai-ai")
    discussion |= {"turns": rounds, "mode": mode, "goal": literal(topic)}
    if how["files"]:
        discussion["input_files"] = [str(file) for file in how["files"]]
    if how["describe_with"]:
        discussion["describe_with"] = how["describe_with"]
    if how["tools"]:
        discussion["tools"] = {"registry": how["tools"].replace(",", " ").split()}
    return discussion


def _require_two(types: Mapping[str, str], me: bool) -> None:
    if not types:
        raise click.UsageError(
            "A talk needs models: name them with -m, for example -m ollama/gemma3:4b -m gpt-4o. "
            "`ai-battle models list` shows those that you can reach."
        )
    if len(types) == 1 and not me:
        (only,) = types.values()
        raise click.UsageError(f"{only} is alone: name another model with -m, or take part yourself with --me.")


def _save(loaded: LoadedDiscussion, path: Path) -> None:
    write_file(path, [loaded.as_yaml(), "\n"], "--save")
    click.echo(f"{path} written; to talk again: ai-battle run {path}", err=True)
