"""Plays a sample: a setting answers a task, and the answer is scored."""

import json
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

from .. import assembly
from ..assembly import strategies
from ..assembly.models import BuildContext, Model
from ..config.benchmark import ScorerSettings
from ..config.collaboration import HelperSettings
from ..config.loading import LoadedDiscussion
from ..config.tree import Node
from ..conversation.asking import literal
from ..core.client import ClientWrapper, ModelClient
from ..core.errors import AIBattleError, EmptyAnswer, Refused
from ..core.events import Emit, Event, ModelReplied, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.helping import AnswerChecked, DraftDropped, HelpAsked, HelpDeclined, HelpFailed, StuckFound
from ..core.ledger import Budget, Ledger, charge_to
from ..core.messages import ToolCall, user
from ..core.plugins import translate_errors
from ..core.telemetry import Telemetry, span, use_telemetry
from .clients import (
    ROLE_WITHOUT_HELP,
    AnswerStore,
    BuiltSetting,
    Cache,
    CachedClient,
    CallTimes,
    ClientPool,
    ConcurrencyLimit,
    LimitedClient,
    Wrapper,
    build_setting,
    has_memory,
)
from .sample import AnswerScore, HelpRecord, Sample, SampleKey
from .scorers import ScoredAnswer, Scorer, ScorerFactory, score_answer
from .suite import DATASET_KEY, Setting, load_discussion
from .tasks import Task


class SampleListener:
    """Collects the events of one sample. `small` is the helped model's first answer, `large` the helper's last.

    `budget` is charged with the usage of the answer, `paid` with everything that is paid, scoring included. `own_tools`
    are answered by the setting itself. `has_begun` tells that the helped model was asked.
    """

    def __init__(self) -> None:
        self.small: ModelResponse | None = None
        self.has_begun = False
        self.large: ModelResponse | None = None
        self.quality: float | None = None
        self.signals: Mapping[str, float] = {}
        self.times = CallTimes()
        self.seconds = 0.0
        self.budget = Budget()
        self.paid = Budget(ledger=Ledger(paid_only=True))
        self.own_tools: frozenset[str] = frozenset()
        self._checks: dict[str, Mapping[str, float]] = {}
        self._wasted = NOTHING_USED
        self._help_usage = NOTHING_USED
        self._asked = 0
        self._declined = 0
        self._failures: list[str] = []
        self._asked_first = False
        self._reason = ""

    async def __call__(self, event: Event) -> None:
        match event:
            case TextDelta():  # the most frequent by far, so it is matched first
                return
            case ModelReplied():
                self._note_reply(event)
            case DraftDropped():
                self._wasted += event.usage
            case AnswerChecked():
                self._checks.setdefault(event.by, event.signals)
            case StuckFound() if self.quality is None:
                self.quality, self.signals, self._reason = event.quality, event.signals, event.reason
            case HelpAsked() | HelpDeclined() | HelpFailed():
                self._note_question(event)

    def _note_reply(self, reply: ModelReplied) -> None:
        if reply.failed:
            self._wasted += reply.usage
        if reply.role != "own":
            self._help_usage += reply.usage

    def _note_question(self, event: HelpAsked | HelpDeclined | HelpFailed) -> None:
        if isinstance(event, HelpDeclined):
            self._declined += 1
        elif isinstance(event, HelpFailed):
            self._failures.append(event.reason)
        elif event.is_help:
            self._asked += 1
            self._asked_first = self._asked_first or not self.has_begun
            self._reason = self._reason or event.reason

    def note_small(self, response: ModelResponse) -> None:
        """Notes the first answer of the helped model. A question to its advisor does not count."""
        if self.small is None and response.tool_calls and not _calls(response, self.own_tools):
            self._asked_first = True
        elif self.small is None:
            self.small = response

    def sample(self, key: SampleKey, seconds: float, **rest: Any) -> Sample:
        signals = dict(self.signals)
        for check in self._checks.values():
            signals |= check
        return Sample(
            *key,
            usage=self.budget.ledger.usage,
            wasted=self._wasted,
            seconds=seconds,
            helped=bool(self._asked),
            quality=self.quality,
            signals=signals,
            reason=self._reason,
            small_answer=self.small.text if self.small else "",
            large_answer=self.large.text if self.large else "",
            spent_usd=self.paid.ledger.known_cost,
            help=self._help_record,
            **rest,
        )

    @property
    def _help_record(self) -> HelpRecord:
        failed, last = len(self._failures), self._failures[-1] if self._failures else ""
        return HelpRecord(self._asked, self._declined, self._help_usage.cost_usd, self._asked_first, failed, last)


class RoleRecorder(ClientWrapper):
    """A model of a setting whose answers are noted as those of the small or the large model."""

    def __init__(self, client: ModelClient, listener: SampleListener, part: str) -> None:
        super().__init__(client)
        self._listener = listener
        self._part = part

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self._listener.has_begun = self._listener.has_begun or self._part == "small"
        response = await self.client.complete(request, emit)
        if self._part == "small":
            self._listener.note_small(response)
        elif self._part == "large":
            self._listener.large = response
        return response


Discuss = Callable[[LoadedDiscussion, Emit], Awaitable[str]]
"""Runs a discussion and returns what it comes to. Raises `EmptyAnswer` if its models said nothing."""


@dataclass(frozen=True, slots=True)
class SampleContext:
    """What is needed to play samples in any process: plain values, no open resources.

    `scorers` are by dataset; `discuss` runs whole discussions, with the shared sections of the suite's `tree`.
    """

    settings: Mapping[str, Setting]
    scorers: Mapping[str, tuple[ScorerSettings, ...]]
    around: BuildContext = field(repr=False)
    scorer_factory: ScorerFactory = field(repr=False)
    tree: Node = field(repr=False)
    at_once: int = 16
    discuss: Discuss | None = None


class Player:
    """Plays samples, which share scorers, the cache, and each provider's concurrency limit."""

    def __init__(self, context: SampleContext, keeper: AnswerStore | None = None) -> None:
        self._context = context
        self._cache = Cache(keeper) if keeper else None
        self._limits: dict[str, ConcurrencyLimit] = {}
        self._telemetry = Telemetry.of(os.environ)
        self._clients = ClientPool(context.around)
        self._discussions: dict[str, LoadedDiscussion] = {}

    async def aclose(self) -> None:
        await self._clients.aclose()

    async def play(self, key: SampleKey, task: Task) -> Sample:
        """Returns the sample, even if a call failed.

        Raises `BudgetExceeded` if the limit of the whole run prevented a call, since that is not a sample.
        """
        listener = SampleListener()
        with charge_to(listener.paid):
            sample = await self._play(key, task, listener)
        if listener.paid.refused:
            raise listener.paid.refused
        return sample

    async def _play(self, key: SampleKey, task: Task, listener: SampleListener) -> Sample:
        try:
            # A scorer or a strategy may be foreign code and raise anything, which must not end the other samples.
            with translate_errors(key.setting, AIBattleError):
                with (
                    charge_to(listener.budget),
                    use_telemetry(self._telemetry),
                    span("invoke_agent", key.setting, agent=key.setting, task=key.task),
                ):
                    answer = await self._answer(self._context.settings[key.setting], task, listener)
                listener.seconds = listener.times.seconds()
                return await self._score(key, task, answer, listener)
        except AIBattleError as error:
            seconds = listener.seconds or listener.times.seconds()
            if isinstance(error, EmptyAnswer | Refused) and not listener.seconds:
                # Left out, a model that says nothing where it knows nothing would win.
                return listener.sample(key, seconds, answer=error.partial, score=AnswerScore(None, str(error)))
            return listener.sample(key, seconds, error=str(error) or type(error).__name__)

    async def _answer(self, setting: Setting, task: Task, listener: SampleListener) -> ScoredAnswer:
        if setting.discussion:
            return await self._discuss(setting, task, listener)
        built = build_setting(setting, task, self._clients, self._wrapper(listener))
        listener.own_tools = frozenset(tool.name for tool in built.client.added_tools(task.tools))
        listener.times.begun = perf_counter()  # what is loaded for the first sample is no time of its models
        try:
            response = await built.client.complete(_request(setting, task, built), listener)
        finally:
            await built.aclose()
        if setting.help:
            self._judge(setting, task, listener)
        return _answer_of(response, listener)

    async def _discuss(self, setting: Setting, task: Task, listener: SampleListener) -> ScoredAnswer:
        if self._context.discuss is None:
            raise AIBattleError(f"{setting.name!r} is a discussion, which can't be run here.")
        discussion = _with_goal(self._discussion(setting), task)
        return ScoredAnswer(await self._context.discuss(discussion, listener))

    def _discussion(self, setting: Setting) -> LoadedDiscussion:
        if (file := setting.discussion) not in self._discussions:
            self._discussions[file] = load_discussion(setting, self._context.around, self._context.tree)
        return self._discussions[file]

    def _wrapper(self, listener: SampleListener) -> Wrapper:
        def wrap(client: ModelClient, model: Model, settings: HelperSettings, part: str) -> ModelClient:
            provider = model.name.provider
            if not has_memory(provider):
                limit = self._limit_of(model.endpoint or provider)
                client = limited = LimitedClient(client, limit, listener.times)
                if self._cache:
                    # All settings belong to the identity, since another temperature gives another answer.
                    identity = f"{model.name} {model.endpoint} {settings.model_dump_json(exclude_unset=True)}"
                    client = CachedClient(limited, self._cache, identity, listener.times)
            return client if part == ROLE_WITHOUT_HELP else RoleRecorder(client, listener, part)

        return wrap

    def _limit_of(self, name: str) -> ConcurrencyLimit:
        if name not in self._limits:
            self._limits[name] = ConcurrencyLimit(self._context.at_once)
        return self._limits[name]

    def _judge(self, setting: Setting, task: Task, listener: SampleListener) -> None:
        """Notes the detector's assessment of the small model's answer if it was not stuck."""
        if listener.quality is None and listener.small and _uses_detector(setting):
            request = ModelRequest((user(task.prompt),), tools=task.tools)
            found = assembly.recipes.assess(request, listener.small)
            listener.quality, listener.signals = found.quality, found.signals

    async def _score(self, key: SampleKey, task: Task, answer: ScoredAnswer, listener: SampleListener) -> Sample:
        score = await score_answer(self._scorers[task.extra[DATASET_KEY]], task, answer)
        scores = {
            f"{part}_score": (await self._part_score(task, _answer_of(response, listener), answer, score)).value
            for part, response in (("small", listener.small), ("large", listener.large))
            if response
        }
        return listener.sample(key, listener.seconds, answer=_answer_text(answer), score=score, **scores)

    async def _part_score(self, task: Task, own: ScoredAnswer, answer: ScoredAnswer, score: AnswerScore) -> AnswerScore:
        """Scores an answer that was not final, but not by a paid judge."""
        if own == answer:
            return score
        free = [each for each in self._scorers[task.extra[DATASET_KEY]] if not getattr(each, "costs", False)]
        return await score_answer(free, task, own) if free else AnswerScore(None)

    @cached_property
    def _scorers(self) -> Mapping[str, tuple[Scorer, ...]]:
        made = self._context.scorer_factory.scorer
        return {name: tuple(map(made, settings)) for name, settings in self._context.scorers.items()}


def _with_goal(discussion: LoadedDiscussion, task: Task) -> LoadedDiscussion:
    """Returns the discussion of a task, whose own keys override those of the file. Raises `ConfigError`."""
    goal = {"goal": task.prompt, "initial_prompt": "", **(task.goal or {})}
    written = {key: literal(json.dumps(value, ensure_ascii=False)) for key, value in goal.items()}
    return discussion.with_overrides(*(f"discussion.{key}={value}" for key, value in written.items()))


def _request(setting: Setting, task: Task, built: BuiltSetting) -> ModelRequest:
    system = "\n\n".join(filter(None, (setting.system, task.system)))
    return ModelRequest((user(task.prompt),), system, task.tools, options=built.options)


def _answer_of(response: ModelResponse, listener: SampleListener) -> ScoredAnswer:
    return ScoredAnswer(response.text, _calls(response, listener.own_tools))


def _calls(response: ModelResponse, own_tools: Collection[str]) -> tuple[ToolCall, ...]:
    """Returns the calls that belong to the answer, without those that the setting answers itself."""
    messages = (*response.steps, response.message)
    return tuple(call for each in messages for call in each.tool_calls if call.name not in own_tools)


def _answer_text(answer: ScoredAnswer) -> str:
    """Returns the text of the answer with its calls."""
    if not answer.calls:
        return answer.text
    calls = "\n".join(f"{call.name}({dict(call.arguments)})" for call in answer.calls)
    return "\n".join(filter(None, (answer.text, calls)))


def _uses_detector(setting: Setting) -> bool:
    help_: Any = setting.help
    return "stuck_detector" in strategies.parameters(strategies.factory(help_.strategy))
