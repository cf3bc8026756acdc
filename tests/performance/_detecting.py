"""Measures the CPU of judging ordinary and hostile answers."""

import gc
import time
from collections.abc import Mapping

from ai_battle import StuckDetector
from ai_battle.core.exchange import ToolSpec
from ai_battle.judging.assessment import Context

PROMPT = (
    "A farm has 24 cows and 3 barns. Each cow gives 12 liters a day and 5% are lost. How many liters are sold a day?"
)
CHOICE = "Which planet is the largest?\n(A) Mars\n(B) Jupiter\n(C) Venus\n(D) Earth"
_STEP = "In step {0} we take {0} * 12 = {1} liters and add 7 to get {1} + 7 = {2} liters. "
_TALK = "The {0}th point is about what farmers of region {0} think, who have said so in many letters to us. "
TIMES = 30


def _long(pattern: str, characters: int) -> str:
    lines = (pattern.format(n, n * 12, n * 12 + 7) for n in range(3, 3 + characters // 40))
    return "".join(lines)[:characters]


ORDINARY: Mapping[str, tuple[str, str, Context]] = {
    "a conversation": (_long(_TALK, 2_000), "What do you think about farming?", Context()),
    "a calculation": (f"{_long(_TALK + _STEP, 1_980)}\n#### 283", PROMPT, Context()),
    "a calculation of sums alone": (f"{_long(_STEP, 1_980)}\n#### 283", PROMPT, Context()),
    "a choice": (f"{_long(_TALK, 1_970)}The answer is (B).", CHOICE, Context()),
    "a tool call": (
        '[get_weather(city="Oslo", days=3)]',
        "The weather in Oslo for 3 days?",
        Context((ToolSpec("get_weather"),)),
    ),
}
HOSTILE: Mapping[str, str] = {
    "a loop": "We add 1 + 1 = 2 and go on. ",
    "open brackets": "(",
    "equals signs": "1 = ",
    "JSON that never ends": '{"answer": ',
    "fences": "```python\n",
    "LaTeX": "\\frac{1}{",
    "doubts": "wait, let me correct that: i am not sure ",
    "letters": "a",
}


def ordinary(name: str) -> float:
    """Returns the milliseconds for an answer of 2,000 characters, or a call."""
    response, prompt, context = ORDINARY[name]
    return _milliseconds(response, prompt, context)


def hostile(name: str, characters: int) -> float:
    piece = HOSTILE[name]
    return _milliseconds(piece * (characters // len(piece)), PROMPT, Context(), times=1)


def add_up() -> float:
    """Returns the milliseconds to add up 100,000 numbers, which show the speed of the machine now."""
    started = time.process_time()
    total = 0
    for number in range(100_000):
        total += number
    return (time.process_time() - started) * 1e3


def _milliseconds(response: str, prompt: str, context: Context, times: int = TIMES) -> float:
    detector = StuckDetector()
    gc.collect()
    started = time.process_time()
    for _ in range(times):
        detector.assess(response, prompt, context)
    return (time.process_time() - started) * 1e3 / times
