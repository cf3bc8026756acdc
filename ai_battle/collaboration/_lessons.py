"""Shows a model lessons from earlier help: similar requests with their accepted answers, as examples."""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ProviderError, StoreError
from ..core.events import Emit, Warned, as_role, ignore
from ..core.exchange import WHOLE_ANSWER, ModelRequest, ModelResponse
from ..core.helping import LessonKept, LessonsShown
from ..core.ledger import RUN, open_budgets
from ..core.messages import Message, Text, user
from ..evidence.lessons import (
    NOWHERE,
    Lesson,
    TextPlace,
    find_lessons,
    keep_lesson,
    lessons_near,
    record_use,
    without_lessons,
)
from ..evidence.store import EvidenceStore
from ..judging.assessment import prompt_place
from ._prompts import data_section, excerpt, packaged_prompt
from ._shadow import Learn
from ._wrappers import HelpListener

CONTROL_SHARE, SELDOM, KNOWN = 0.1, 0.02, 10
"""The share of requests without lessons, a control group to measure their worth, and the share once it has so many."""
LESSON_LENGTH = 4_000
"""The longest request, and the longest answer, in characters, that become a lesson."""
EMBEDDING_SECONDS = 2.0
"""Seconds that the embedding model has to answer, because the request waits for it."""
UNUSED = "Lessons can't be used"
T = TypeVar("T")
EXAMPLE_LENGTH = 1_500
"""How many characters of a request, and of an answer, an example shows."""

# A context variable carries the examples to the model, because the strategy in between knows nothing of lessons.
_examples: ContextVar[str] = ContextVar("examples", default="")


@dataclass(frozen=True, slots=True)
class LessonTerms:
    """The settings of a pair's lessons. `pair` is its name in the store at `place`, `most` the lessons per request.

    `redact` is applied to each text that is kept. If `learns`, lessons come from helped requests, else only from the
    shadow. `embeds` is an embedding model (`wire.openai.decode_embedding`) with the name `placed_by`.
    """

    pair: str
    place: Path | str
    most: int
    redact: Callable[[str], str] = str
    learns: bool = True
    seed: int | None = None
    embeds: ModelClient | None = None
    placed_by: str = ""
    near: float = 0.0


class Lessons:
    """The lessons of one pair. Each key of a server has its own, so that nobody is shown others' requests."""

    def __init__(self, terms: LessonTerms) -> None:
        self.terms = terms
        self._store: EvidenceStore | None = None
        self._opening = asyncio.Lock()
        self._random = Random(terms.seed)  # noqa: S311 - draws a sample
        self._has_warned = False

    def student(self, model: ModelClient) -> ModelClient:
        """Wraps the model so that it sees the examples for its pair's request."""
        return _PrimaryWithExamples(model)

    def follow(self, pair: ModelClient) -> ModelClient:
        """Wraps the pair so that lessons are found for its model, and learned from its help."""
        return _PairWithLessons(pair, self)

    async def find(self, prompt: str, place: TextPlace) -> Sequence[Lesson]:
        """Returns the lessons for a request, by its vector if it has one, else by its words. Raises `StoreError`."""
        if place.vector:
            return await self._in_store(lessons_near, prompt, self.terms.most, place)
        return await self._in_store(find_lessons, prompt, self.terms.most)

    async def draw(self) -> bool:
        """Decides at random whether lessons are left out this time. Raises `StoreError`."""
        known = await self._in_store(without_lessons)
        return self._random.random() < (CONTROL_SHARE if known.requests < KNOWN else SELDOM)

    async def record(self, lessons: Sequence[Lesson], *, shown: bool, asked: bool) -> None:
        """Records whether help was asked for with, or without, these lessons. Raises `StoreError`."""
        if lessons:
            await self._in_store(record_use, [lesson.key for lesson in lessons], shown=shown, asked=asked)

    async def learn(self, prompt: str, answer: str, wrong: str, place: TextPlace | None = None) -> str:
        """Keeps a lesson and returns its key; empty if there is nothing new to learn. Raises `StoreError`."""
        question, accepted, lacking = (self.terms.redact(text.strip()) for text in (prompt, answer, wrong))
        if not (question and accepted) or max(len(question), len(accepted)) > LESSON_LENGTH:
            return ""
        place = await self.place(prompt, ignore) if place is None else place
        return await self._in_store(keep_lesson, question, accepted, lacking, place)

    async def place(self, prompt: str, emit: Emit) -> TextPlace:
        """Returns a request's embedding, or `NOWHERE`.

        That is so without an embedding model and, with a warning, if it fails or is late.
        """
        terms = self.terms
        if not (terms.embeds and prompt.strip()):
            return NOWHERE
        embedding_request = ModelRequest(
            (user(excerpt(terms.redact(prompt.strip()), LESSON_LENGTH)),), wants=WHOLE_ANSWER
        )
        try:
            async with asyncio.timeout(EMBEDDING_SECONDS):
                answer = await terms.embeds.complete(embedding_request, as_role(emit, "helper"))
        except (ProviderError, TimeoutError) as error:
            words = "Lessons are found by their words alone"
            await self.warn(emit, f"{words}: {error or f'{terms.placed_by} took more than {EMBEDDING_SECONDS:g} s'}")
            return NOWHERE
        return TextPlace(answer.text, terms.placed_by, terms.near)

    @property
    def teacher(self) -> Learn | None:
        """The function that the shadow calls with its losses; None if helped answers are the lessons."""
        return None if self.terms.learns else self.learn

    async def warn(self, emit: Emit, words: str) -> None:
        """Warns once; answers continue without lessons."""
        if not self._has_warned:
            self._has_warned = True
            await emit(Warned(words))

    async def aclose(self) -> None:
        """Closes the embedding model and the store; the store is opened again on the next use."""
        if self.terms.embeds:
            await self.terms.embeds.aclose()
        store, self._store = self._store, None
        if store:
            store.close()

    async def _in_store(self, work: Callable[..., T], *values: Any, **more: Any) -> T:
        """Calls `work` in a thread, with the store and the pair's name; each key of a server has a name of its own."""
        who = next((budget.payer for budget in open_budgets()), "")
        name = self.terms.pair if who in ("", RUN) else f"{self.terms.pair} / {who}"
        async with self._opening:
            self._store = store = self._store or await asyncio.to_thread(EvidenceStore, self.terms.place)
        return await asyncio.to_thread(work, store, name, *values, **more)


class _PairWithLessons(ClientWrapper):
    def __init__(self, pair: ModelClient, lessons: Lessons) -> None:
        super().__init__(pair)
        self._lessons = lessons

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        """Answers with lessons. Failures of the store only cost the lessons, never the answer."""
        prompt = request.messages[prompt_place(request.messages)].text if request.messages else ""
        place = await self._lessons.place(prompt, emit)
        (found, are_left_out), listener = await self._find(prompt, place, emit), HelpListener(emit)
        if found:
            await emit(LessonsShown([lesson.key for lesson in found], are_left_out))
        token = _examples.set("" if are_left_out else examples_text(found))
        try:
            response = await self.client.complete(request, listener)
        finally:
            _examples.reset(token)
        try:
            await self._lessons.record(found, shown=not are_left_out, asked=listener.helped)
            await self._learn(prompt, place, response, listener)
        except StoreError as error:
            await self._lessons.warn(emit, f"{UNUSED}: {error}")
        return response

    async def _learn(self, prompt: str, place: TextPlace, response: ModelResponse, listener: HelpListener) -> None:
        """Learns from a changed answer, unless tools were used: its text alone would not explain it."""
        if not (self._lessons.terms.learns and listener.has_changed) or response.steps or response.tool_calls:
            return
        if response.text.strip() in listener.dropped:  # the helper has said what the model had said itself
            return
        if key := await self._lessons.learn(prompt, response.text, listener.reason, place):
            await listener(LessonKept(key))

    async def _find(self, prompt: str, place: TextPlace, emit: Emit) -> tuple[Sequence[Lesson], bool]:
        try:
            found = await self._lessons.find(prompt, place)
            return found, bool(found) and await self._lessons.draw()
        except StoreError as error:
            await self._lessons.warn(emit, f"{UNUSED}: {error}")
            return (), False

    async def aclose(self) -> None:
        await super().aclose()
        await self._lessons.aclose()


class _PrimaryWithExamples(ClientWrapper):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self.client.complete(with_examples(request, _examples.get()), emit)


def examples_text(lessons: Sequence[Lesson]) -> str:
    """Renders lessons as data sections that their own text can't close."""
    sections = (
        data_section("request", excerpt(lesson.prompt, EXAMPLE_LENGTH))
        + "\n"
        + data_section("answer", excerpt(lesson.answer, EXAMPLE_LENGTH))
        for lesson in lessons
    )
    examples = "\n\n".join(data_section("example", section) for section in sections)
    return packaged_prompt("examples", examples=examples) if lessons else ""


def with_examples(request: ModelRequest, examples: str) -> ModelRequest:
    """Inserts the examples right before the prompt, so that a provider's cache of everything earlier stays valid."""
    if not examples or not request.messages:
        return request
    place = prompt_place(request.messages)
    message = request.messages[place]
    shown: Message = replace(message, parts=(Text(f"{examples}\n\n"), *message.parts))
    return replace(request, messages=(*request.messages[:place], shown, *request.messages[place + 1 :]))
