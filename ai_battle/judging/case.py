"""An answer and its prompt, parsed once for all checks."""

import re
from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from ..core.messages import ToolCall, ToolResult
from ..signals.arithmetic import Calculation, Claim, calculation
from ..signals.cleaning import cleaned_answer, without_fence, without_quote
from ..signals.code import code_blocks
from ..signals.endings import four_word_repetition, is_wanted
from ..signals.final_answers import FinalAnswer, final_answer, options
from ..signals.languages import names_time, sentences
from ..signals.numbers import (
    displayed_numbers,
    quantities,
    readings,
    rounded_values,
    stands_among,
    without_samples,
    without_times,
)
from ..signals.progress import ToolStep
from ..signals.refusals import without_courtesies
from ..wire.dialects.reader import read
from ..wire.dialects.reading import Reading
from .assessment import NO_CONTEXT, Context, steps_of
from .family import FINAL_KIND, Family, asks_for_tools, family_of, is_open

T = TypeVar("T")
LONGEST, PLAIN = 20_000, 2
"""Characters of a text that are judged, half from its beginning and half from its end; sentences of a plain answer."""

_SUM = re.compile(r"\d[^\d\n=]{0,8}=")
_REASONING = re.compile(r'"[a-z_ ]{1,40}"\s{0,8}:\s{0,8}"', re.IGNORECASE)
_FINAL_FIELD = re.compile(r'"?\s{0,20},?\s{0,20}"(?:final[ _]?)?(?:answer|result|solution)"\s{0,8}:', re.IGNORECASE)


class Case:
    """An answer to a prompt. Whatever is derived from them is computed once, at first use.

    `received` is the answer as it came, `whole` the same without thinking, calls and leftovers of the chat template;
    `content` is `whole` without the courtesies around it. Checks read `text`, which is `content`, cut if overlong.
    """

    def __init__(self, response: str, prompt: str, context: Context) -> None:
        self.received = response
        self.answer = cleaned_answer(response)
        self.prompt = head_and_tail(prompt)
        self.context = context
        self._known: dict[Callable[[Case], Any], Any] = {}

    def once(self, derive: Callable[["Case"], T]) -> T:
        """Returns `derive(self)`, computed once and shared by all judgements."""
        if derive not in self._known:
            self._known[derive] = derive(self)
        return self._known[derive]  # type: ignore[no-any-return]

    @cached_property
    def whole(self) -> str:
        if not (self.context.tools and self.reading.spans):
            return self.answer.text
        return cleaned_answer(self.reading.prose).text

    @cached_property
    def content(self) -> str:
        plain = without_quote(without_courtesies(self.whole, self.prompt))
        return plain if self.family == "code" else without_fence(plain)

    @cached_property
    def text(self) -> str:
        return head_and_tail(self.content)

    @cached_property
    def family(self) -> Family:
        """The family of the task. Unused tools that the prompt is not about are ignored."""
        if self.context.tools and not self._is_about_tools:
            return family_of(self.prompt, self.question, NO_CONTEXT)
        return family_of(self.prompt, self.question, self.context)

    @property
    def _is_about_tools(self) -> bool:
        return bool(self.context.steps) or bool(self.reading.spans) or asks_for_tools(self.prompt, self.context.tools)

    @cached_property
    def options(self) -> dict[str, str]:
        return dict(options(self.prompt))

    @cached_property
    def working(self) -> str:
        """The text before the final-answer field of a JSON answer; otherwise the whole text."""
        begun = _REASONING.search(self.text[:400])
        if not begun or not self.text.lstrip("` json\n\t").startswith("{"):
            return self.text
        fields = [field.start() for field in _FINAL_FIELD.finditer(self.text, begun.end())]
        inside = self.text[begun.end() : fields[-1] if fields else len(self.text)]
        return inside.replace("\\\\", "\0").replace("\\n", "\n").replace('\\"', '"').replace("\0", "\\")

    @cached_property
    def lower_text(self) -> str:
        return self.text.lower()

    @cached_property
    def has_working(self) -> bool:
        """Whether there is a sum, even a cut one, or more than a plain answer, so that working can be judged.

        A text about dates and times without a readable sum has none: its arithmetic is of another kind.
        """
        if self.claims or (names_time(self.question) and names_time(self.text)):
            return bool(self.claims)
        return len(sentences(self.text)) > PLAIN or _SUM.search(self.text) is not None

    @cached_property
    def is_program(self) -> bool:
        """Whether the answer computes by a program that it shows."""
        return any(language == "python" or "print(" in code for language, code in code_blocks(self.text))

    @property
    def is_split(self) -> bool:
        """Whether the final answer is separate from the working."""
        return self.working is not self.text

    @cached_property
    def repeated_words(self) -> float:
        """The share of repeated four-word runs, or 0 if the prompt asks for the repetition."""
        last = self.working.rpartition("\n")[2].strip()
        return 0.0 if last and is_wanted(last, self.prompt) else four_word_repetition(self.working)

    @cached_property
    def final(self) -> FinalAnswer | None:
        return final_answer(self.text, self.prompt, "number" if self._is_sum_in_words else FINAL_KIND[self.family])

    @property
    def _is_sum_in_words(self) -> bool:
        """Whether a chat answer computes with two numbers of the prompt."""
        if self.family != "chat" or not self.claims or is_open(self.question):
            return False
        operands = rounded_values(chain.from_iterable(claim.operands for claim in self.claims))
        return sum(stands_among(fact, operands) for fact in self.facts) > 1

    @property
    def states_answer(self) -> bool:
        """Whether the answer states a final answer to a question that has one."""
        return self.family in ("math", "mcq", "code") and self.final is not None and self.final.stated

    @cached_property
    def calculation(self) -> Calculation:
        """The working with plain numbers, and its sums."""
        return calculation(self.working, self.prompt)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The answer's own sums. A wrong sum of the prompt may only be quoted."""
        of_prompt = {(claim.operands, claim.value) for claim in calculation(self.prompt).claims}
        return tuple(claim for claim in self.calculation.claims if (claim.operands, claim.value) not in of_prompt)

    @cached_property
    def numbers(self) -> list[float]:
        return list(quantities(self.calculation.text))

    @cached_property
    def displayed_numbers(self) -> list[tuple[float, float]]:
        """The numbers in digits of the working, each with the worth of its last digit."""
        return list(displayed_numbers(self.calculation.text))

    @cached_property
    def question(self) -> str:
        """The prompt without code, which may only show the form of the answer."""
        return without_samples(self.prompt)

    @cached_property
    def facts(self) -> list[float]:
        return list(dict.fromkeys(chain.from_iterable(map(quantities, readings(without_times(self.question))))))

    @cached_property
    def seen(self) -> str:
        """What a call may have its values from: the messages before the answer, with the results."""
        texts = (*(message.text for message in self.context.history), *(result.text for result in self.results))
        return head_and_tail("\n".join((*texts, self.prompt)))

    @cached_property
    def seen_numbers(self) -> set[float]:
        return rounded_values(chain.from_iterable(map(quantities, readings(self.seen))))

    @cached_property
    def reading(self) -> Reading:
        return read(head_and_tail(self.received), self.context.tools)

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results since the prompt."""
        return self.context.results

    @cached_property
    def steps(self) -> tuple[ToolStep, ...]:
        """The calls since the prompt that have results, with these."""
        return steps_of(self.context.steps)

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the answer itself, native or in its text."""
        return self.context.own_calls or self.reading.calls


def head_and_tail(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
