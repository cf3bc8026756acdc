"""The MCP server's tools, confined to one folder: hold, resume, judge and read discussions, and ask a question."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..arbiter.judging import judge_run
from ..config.discussion import Discussion
from ..config.documents import Source, YamlText
from ..config.environment import with_dotenv
from ..config.judge import load_rubric
from ..config.loading import LoadedDiscussion, load
from ..config.packaged import packaged_config
from ..config.tools import Tools
from ..conversation import asking
from ..conversation.manager import ConversationManager
from ..conversation.reading import CONFIG, progress
from ..conversation.runs import find_run, run_directories
from ..conversation.setup import load_checked
from ..core.errors import ConfigError
from ..core.events import Event, ModelReplied, RunStarted, TurnStarted, Warned
from ..core.exchange import WHOLE_ANSWER
from ..core.ledger import Ledger, SpendingLimits
from ..core.tooling import ToolDecided
from ..reporting.exports import write_reports
from ..reporting.figures import cost
from .mcp_schemas import (
    AskArguments,
    AskResult,
    DiscussArguments,
    JudgeArguments,
    JudgeResult,
    ListArguments,
    ReadArguments,
    RunDocument,
    RunEntry,
    RunList,
    read_messages,
)

ROUNDS, LONGEST_NAME = 3, 40


class ProgressReporter(Protocol):
    """Reports progress of a call to its client: an increasing number, the final one if known, and a message."""

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class FolderTools:
    """The tools of a server working in `folder`, its working directory; clients read nothing outside of it.

    `require_trust` raises `ConfigError` for code that nobody has trusted; with `trust` a YAML given as text may also
    refer to places outside the folder. `approve` applies to all tool calls; `max_cost` bounds each call, in dollars.
    """

    folder: Path
    require_trust: Callable[[LoadedDiscussion], None]
    trust: bool = False
    approve: str | None = None
    allow_unsandboxed: bool = False
    max_cost: float | None = None

    async def discuss(self, arguments: DiscussArguments, tell: ProgressReporter) -> RunDocument:
        """Raises `ConfigError` for what can't run, before anything is spent."""
        arguments.require_one_source()
        run_dir = self.run_dir(arguments.resume) if arguments.resume else None
        loaded = self._discussion(arguments, run_dir)
        manager = ConversationManager.from_config(loaded, allow_unsandboxed=self.allow_unsandboxed)
        listener = _ProgressListener(tell, loaded.file.discussion.turns_in_all, run_dir)
        try:
            if run_dir:
                await manager.resume(run_dir, listener, WHOLE_ANSWER)
            else:
                await manager.run_discussion(listener, WHOLE_ANSWER)
        finally:
            if listener.run_dir:
                await asyncio.to_thread(write_reports, listener.run_dir)
        assert listener.run_dir
        document = RunDocument.read(listener.run_dir, *read_messages(listener.run_dir, 0))
        limits = loaded.file.discussion.limits
        return document.model_copy(update={"max_cost_usd": limits.cost_usd, "warnings": [*listener.warnings]})

    async def ask(self, arguments: AskArguments, tell: ProgressReporter) -> AskResult:
        small, _, big = arguments.pair.partition("+")
        if bool(arguments.model) == bool(arguments.pair) or (arguments.pair and not (small.strip() and big.strip())):
            raise ConfigError("Say who answers: either model, or pair as SMALL+BIG.")
        most = _smallest(arguments.max_cost, self.max_cost)
        how: dict[str, Any] = {"helper": big.strip(), "strategy": arguments.strategy, "max_cost": most}
        how["describe_with"] = arguments.describe_with
        files = [self._inside(file) for file in arguments.files]
        loaded = asking.load_question(arguments.question, arguments.model or small.strip(), files=files, **how)
        self.require_trust(loaded)
        listener = _ProgressListener(tell)
        response = await asking.answer(loaded, listener, WHOLE_ANSWER, arguments.system)
        cost, models = response.usage.cost_usd, [*listener.models]
        return AskResult(answer=response.text, models=models, cost_usd=cost, max_cost_usd=most)

    async def judge(self, arguments: JudgeArguments, tell: ProgressReporter) -> JudgeResult:
        for model in arguments.models:  # a type may name a module, which would be imported
            self.require_trust(asking.load_question("?", model))
        run_dir = self.run_dir(arguments.run)
        packaged = packaged_config(arguments.rubric, "rubric")
        rubric = load_rubric(arguments.rubric if packaged or not arguments.rubric else self._inside(arguments.rubric))
        most = _smallest(arguments.max_cost, self.max_cost)
        limits, listener = SpendingLimits(most), _ProgressListener(tell)
        verdict = await judge_run(run_dir, arguments.models, rubric, limits=limits, emit=listener)
        await asyncio.to_thread(write_reports, run_dir)
        return JudgeResult.of(verdict, most)

    async def list_runs(self, arguments: ListArguments, tell: ProgressReporter) -> RunList:
        places = [place for place in run_directories() if arguments.name.casefold() in place.name.casefold()]
        places = [place for place in places if self._is_inside(place)]
        runs = [RunEntry.read(place) for place in places[: arguments.limit]]
        return RunList(runs=runs, older=len(places) - len(runs))

    async def read_run(self, arguments: ReadArguments, tell: ProgressReporter) -> RunDocument:
        run_dir = self.run_dir(arguments.run)
        if arguments.part == "summary":
            return RunDocument.read(run_dir, [], None)
        messages, next_turn = read_messages(run_dir, arguments.turn)
        if arguments.part == "turn":
            messages, next_turn = [message for message in messages if message.turn == arguments.turn], None
        if not messages and arguments.turn:
            raise ConfigError(f"{run_dir} has no turn {arguments.turn} that was answered.")
        return RunDocument.read(run_dir, messages, next_turn)

    def run_dir(self, named: str) -> Path:
        """Returns the directory of a run in the folder. Raises `ConfigError` if none or several match."""
        self._inside(named)
        return self._inside(str(find_run(named))).relative_to(self.folder)

    def _discussion(self, arguments: DiscussArguments, run_dir: Path | None) -> LoadedDiscussion:
        """Returns the discussion to run, with its limit. Raises `ConfigError` for any mistake in it."""
        source, name = self._source(arguments, run_dir)
        changes = [f"discussion.turns={arguments.turns}"] if arguments.turns else []
        environment = with_dotenv(os.environ, self.folder) if isinstance(source, Mapping) else None
        first = load(source, environment, changes)
        self._require_inside(first)  # before any file that it names is opened
        most = _smallest(arguments.max_cost, self.max_cost, first.file.discussion.limits.cost_usd)
        changes += [] if most is None else [f"discussion.limits.cost_usd={most}"]
        loaded = load_checked(source, changes, environment=environment)
        self.require_trust(loaded)
        if self.approve and loaded.file.discussion.tools:
            loaded = loaded.with_overrides(f"discussion.tools.approval.default={self.approve}")
        return replace(loaded, name=name or loaded.name)

    def _source(self, arguments: DiscussArguments, run_dir: Path | None) -> tuple[Source, str]:
        """Returns what the discussion is loaded from, and its name if that does not contain one."""
        if run_dir:
            started = progress(run_dir).started
            return str(run_dir / CONFIG), started.name if started else ""
        if arguments.topic:
            return self._talk_file(arguments), " ".join(arguments.topic.split())[:LONGEST_NAME]
        if "\n" in arguments.config or "{" in arguments.config:
            return self._text(arguments.config), ""
        return arguments.config if packaged_config(arguments.config) else str(self._inside(arguments.config)), ""

    def _talk_file(self, arguments: DiscussArguments) -> dict[str, Any]:
        types = asking.named_types(arguments.models)
        if len(types) < 2:
            raise ConfigError("A topic needs two models or more: models=['ollama/gemma3:4b', 'gpt-4o'].")
        discussion = asking.participants(types, arguments.helper, arguments.strategy)
        discussion |= {"goal": asking.literal(arguments.topic), "turns": ROUNDS, "mode": "ai-ai"}
        discussion |= {"describe_with": arguments.describe_with} if arguments.describe_with else {}
        return {"discussion": discussion | ({"input_files": [*arguments.files]} if arguments.files else {})}

    def _text(self, text: str) -> YamlText:
        """Returns YAML that a client wrote, which may neither refer outside the folder nor send keys elsewhere."""
        written = YamlText(text, self.folder / "config")
        if not self.trust and (found := [*_reaching_out(written)]):
            away = "put it into a file of the folder, or start the server with --trust."
            raise ConfigError(f"A configuration that is given as text may not have {', '.join(found)}: {away}")
        return written

    def _require_inside(self, loaded: LoadedDiscussion) -> None:
        """Raises `ConfigError` for files outside, and for people: nobody sits at a server's keyboard."""
        discussion = loaded.file.discussion
        if people := [name for name, spec in discussion.models.items() if spec.role == "user"]:
            raise ConfigError(f"{people[0]} is a person, and nobody sits at this server: use ai-battle run.")
        for path in filter(None, _named_paths(discussion)):
            self._inside(str(loaded.base / os.path.expanduser(path)), shown=path)

    def _inside(self, named: str, shown: str = "") -> Path:
        """Returns the path that a client names. Raises `ConfigError` for one outside, also through a link."""
        try:
            place = Path(os.path.realpath(self.folder / os.path.expanduser(named)))
        except ValueError as error:
            raise ConfigError(f"{named!r} is not a path: {error}.") from None
        packaged = packaged_config("quickstart")
        if not self._is_inside(place) and not (packaged and place.is_relative_to(packaged.parent)):
            away = "name something in it, or start the server with another --folder."
            raise ConfigError(f"{shown or named!r} is outside of {self.folder}, where this server works: {away}")
        return place

    def _is_inside(self, place: Path) -> bool:
        return Path(os.path.realpath(place)).is_relative_to(self.folder)


def _named_paths(discussion: Discussion) -> Iterator[str]:
    """Yields the files and folders of a discussion. Reading a folder of files skips links that lead outside."""
    yield from (discussion.templates, discussion.judge.rubric if discussion.judge else "")
    yield discussion.input_file.path if discussion.input_file else ""
    if discussion.input_files:
        yield from (discussion.input_files.directory, *(file.path for file in discussion.input_files.files))
    for pair in discussion.pairs:
        yield pair.calibration if isinstance(pair.calibration, str) else ""


def _reaching_out(written: YamlText) -> Iterator[str]:
    """Yields the keys by which a YAML reads the environment, leaves the folder, or sends keys elsewhere."""
    if "${" in written.text.replace("$${", ""):
        yield "${"
        return
    file = load(written, {}).file
    tools = file.discussion.tools or Tools()
    reaching = {
        "providers": file.providers,
        "base_directory": file.base_directory,
        "discussion.tools.mcp": tools.mcp.servers,
        "discussion.tools.workspace": tools.workspace,
        "discussion.tools.registry.parameters": any(entry.parameters for entry in tools.registry),
    }
    yield from (name for name, value in reaching.items() if value)


def _smallest(*amounts: float | None) -> float | None:
    return min((amount for amount in amounts if amount is not None), default=None)


class _ProgressListener:
    """Reports each turn as it begins, each reply to a question, and the cost so far."""

    def __init__(self, tell: ProgressReporter, turns: int = 0, run_dir: Path | None = None) -> None:
        self.run_dir = run_dir
        self.models: dict[str, None] = {}
        self.warnings: dict[str, None] = {}
        self._tell = tell
        self._turns = turns
        self._ledger = Ledger()

    async def __call__(self, event: Event) -> None:
        match event:
            case RunStarted(run_dir=run_dir):
                self.run_dir = Path(run_dir)
            case ModelReplied():
                await self._book(event)
            case TurnStarted(turn=turn, speaker=speaker):
                total = max(self._turns, turn)
                await self._tell(turn - 1, total, f"{self.run_dir}: turn {turn} of {total}, {speaker}, {self._spent}")
            case Warned(message=message):
                self.warnings[message] = None
            case ToolDecided(decision="denied", by="no terminal"):
                self.warnings[_denial(event)] = None

    async def _book(self, reply: ModelReplied) -> None:
        self._ledger.book(reply)
        self.models[reply.model] = None
        if not self._turns:
            await self._tell(self._ledger.calls, None, f"{reply.model} has replied, {self._spent}")

    @property
    def _spent(self) -> str:
        return f"{cost(self._ledger.usage.cost_usd)} so far"


def _denial(decided: ToolDecided) -> str:
    return (
        f"{decided.speaker} was refused {decided.call.name}: a person has to allow it, and nobody can be asked here; "
        "start the server with --approve allow where tools may do what they like."
    )
