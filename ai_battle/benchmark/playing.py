"""Plays one sample: a setting answers a task, with models made anew, and the answer is scored."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from time import perf_counter
from typing import Any

from .. import collaboration
from ..assembly import strategies
from ..assembly.models import BuildContext, Model
from ..config.benchmark import ScorerSettings
from ..config.collaboration import HelperSettings
from ..core.borders import foreign_code
from ..core.client import ModelClient
from ..core.errors import AIBattleError
from ..core.events import Emit
from ..core.exchange import ModelRequest, ModelResponse
from ..core.ledger import charged_to
from ..core.messages import user
from .cache import Cache, Cached, Keeper
from .drawing import OF
from .hearing import Heard, Part
from .lanes import InLane, Lane
from .making import ALONE, WITH_MEMORY, Made, Shelf, made
from .sample import Key, Sample, Score
from .scorers import Answer, Scorer
from .scoring import Means, scored
from .settings import Setting
from .tasks import Task


@dataclass(frozen=True, slots=True)
class Talk:
    """What a whole discussion came to; `error` says why it came to nothing."""

    text: str
    error: str = ""


Discuss = Callable[[str, Task, Emit], Awaitable[Talk]]
"""Runs the discussion of a file with a task as its goal."""


@dataclass(frozen=True, slots=True)
class Kit:
    """All that is needed to play samples, wherever: values and names, nothing that lives.

    `scorers` are those of each dataset. `discuss` is what runs whole discussions.
    """

    settings: Mapping[str, Setting]
    scorers: Mapping[str, tuple[ScorerSettings, ...]]
    around: BuildContext = field(repr=False)
    means: Means = field(repr=False)
    at_once: int = 16
    discuss: Discuss | None = None
    base: str = ""


class Player:
    """Holds what samples share: scorers, the cache, and how many calls each provider gets at once."""

    def __init__(self, kit: Kit, keeper: Keeper | None = None) -> None:
        self._kit = kit
        self._cache = Cache(keeper) if keeper else None
        self._lanes: dict[str, Lane] = {}
        self._shelf = Shelf(kit.around)

    async def aclose(self) -> None:
        await self._shelf.aclose()

    async def play(self, key: Key, task: Task) -> Sample:
        """The sample, also where the call failed.

        Raises `BudgetExceeded` where a limit of the whole run kept a call from being made: that is no sample.
        """
        heard = Heard()
        with charged_to(heard.paid):
            sample = await self._played(key, task, heard)
        if heard.paid.refused:
            raise heard.paid.refused
        return sample

    async def _played(self, key: Key, task: Task, heard: Heard) -> Sample:
        begun = perf_counter()
        try:
            with foreign_code(f"{key.setting}, task {key.task}", AIBattleError):
                with charged_to(heard.budget):
                    answer = await self._answer(self._kit.settings[key.setting], task, heard)
                heard.seconds = perf_counter() - begun
                return await self._scored(key, task, answer, heard)
        except AIBattleError as error:
            seconds = heard.seconds or perf_counter() - begun
            return heard.sample(key, seconds, error=str(error) or type(error).__name__)

    async def _answer(self, setting: Setting, task: Task, heard: Heard) -> Answer:
        if setting.discussion:
            return await self._discussed(setting, task, heard)
        made_ = made(setting, task, self._shelf, self._around(heard))
        try:
            response = await made_.client.complete(_request(setting, task, made_), heard)
        finally:
            await made_.aclose()
        if setting.help:
            self._judge(setting, task, heard)
        return _of(response)

    async def _discussed(self, setting: Setting, task: Task, heard: Heard) -> Answer:
        if self._kit.discuss is None:
            raise AIBattleError(f"{setting.name!r} is a discussion, and here is nothing that runs one.")
        talk = await self._kit.discuss(f"{self._kit.base}/{setting.discussion}", task, heard)
        if talk.error:
            raise AIBattleError(talk.error)
        return Answer(talk.text)

    def _around(self, heard: Heard) -> Callable[[ModelClient, Model, HelperSettings, str], ModelClient]:
        def around(client: ModelClient, model: Model, settings: HelperSettings, part: str) -> ModelClient:
            provider = model.name.provider
            if provider not in WITH_MEMORY:
                client = heard.lane(InLane(client, self._lane(model.endpoint or provider), str(model.name)))
                if self._cache:
                    identity = f"{model.name} {model.endpoint} {settings.model_dump_json(exclude_unset=True)}"
                    client = heard.cached(Cached(client, self._cache, identity))
            return client if part == ALONE else Part(client, heard, part)

        return around

    def _lane(self, name: str) -> Lane:
        if name not in self._lanes:
            self._lanes[name] = Lane(self._kit.at_once)
        return self._lanes[name]

    def _judge(self, setting: Setting, task: Task, heard: Heard) -> None:
        """What the detector thinks of the small model's answer, where nobody has said so because it was not stuck."""
        if heard.quality is None and heard.small and _uses_detector(setting):
            found = collaboration.StuckDetector().assess(
                heard.small.text, task.prompt, ModelRequest((), tools=task.tools)
            )
            heard.quality, heard.signals = found.quality, found.signals

    async def _scored(self, key: Key, task: Task, answer: Answer, heard: Heard) -> Sample:
        score = await scored(self._scorers[task.extra[OF]], task, answer)
        scores = {
            f"{part}_score": (await self._part_score(task, said, answer, score)).value
            for part, said in (("small", heard.small), ("large", heard.large))
            if said
        }
        return heard.sample(key, heard.seconds, answer=_shown(answer), score=score, **scores)

    async def _part_score(self, task: Task, part: ModelResponse, answer: Answer, score: Score) -> Score:
        """Answers that were not the last word are not worth the money of a judge."""
        if (own := _of(part)) == answer:
            return score
        free = [each for each in self._scorers[task.extra[OF]] if not getattr(each, "costs", False)]
        return await scored(free, task, own) if free else Score(None)

    @cached_property
    def _scorers(self) -> Mapping[str, tuple[Scorer, ...]]:
        means = self._kit.means
        return {name: tuple(map(means.scorer, written)) for name, written in self._kit.scorers.items()}


def _request(setting: Setting, task: Task, made_: Made) -> ModelRequest:
    system = "\n\n".join(filter(None, (setting.system, task.system)))
    return ModelRequest((user(task.prompt),), system, task.tools, options=made_.options)


def _of(response: ModelResponse) -> Answer:
    return Answer(
        response.text, tuple(call for said in (*response.steps, response.message) for call in said.tool_calls)
    )


def _shown(answer: Answer) -> str:
    """Calls are part of what was said."""
    if not answer.calls:
        return answer.text
    calls = "\n".join(f"{call.name}({dict(call.arguments)})" for call in answer.calls)
    return "\n".join(filter(None, (answer.text, calls)))


def _uses_detector(setting: Setting) -> bool:
    help_: Any = setting.help
    return "stuck_detector" in signature(strategies.factory(help_.strategy)).parameters
