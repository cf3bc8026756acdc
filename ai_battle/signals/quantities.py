"""The numbers of a text as plain floats, digits and words alike; fast rather than exact."""

import re
from collections.abc import Iterator

LONGEST = 20_000
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_LETTERS = re.compile(r"[a-z]+")
_LONGEST_NUMBER = 30
_WORDS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "hundred": 100,
    "thousand": 1000,
    "dozen": 12,
    "half": 2,
    "third": 3,
    "quarter": 4,
    "twice": 2,
    "double": 2,
    "triple": 3,
    "thrice": 3,
}
_QUOTED_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|`[^`\n]{0,400}`")


def quantities(text: str) -> Iterator[float]:
    """Those in digits in order, then those in words; "25%" is 25, "half" is 2, as people divide by it."""
    text = text[-LONGEST:]
    for digits in _DIGITS.findall(text):
        if len(digits) <= _LONGEST_NUMBER:
            yield float(digits.replace(",", ""))
    for word in _LETTERS.findall(text.lower()):
        if word in _WORDS:
            yield float(_WORDS[word])


def without_samples(prompt: str) -> str:
    """A prompt without its code and without the form that it wants the answer to have."""
    prompt = prompt[-LONGEST:]
    return _QUOTED_CODE.sub(" ", prompt) if "`" in prompt else prompt


def stands_among(value: float, known: set[float]) -> bool:
    """Whether a number is known as it is, as a percentage or as its counterpart to 100 or 1."""
    if round(value, 4) in known:
        return True
    ways = (value / 100, value * 100, 100 - value, 1 - value / 100, 1 + value / 100)
    return any(round(way, 4) in known for way in ways)


def rounded(values: "Iterator[float] | list[float]") -> set[float]:
    return {round(value, 4) for value in values}
