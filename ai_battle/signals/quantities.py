"""The numbers of a text as plain floats, digits and words alike; fast rather than exact."""

import re
from collections.abc import Iterable, Iterator

LONGEST = 20_000
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SHOWN = re.compile(r"(\d+)(?:\.(\d+))?")
_LETTERS = re.compile(r"[a-z]+")
_LONGEST_NUMBER = 30
_WORDS = {
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "seven": 7.0,
    "eight": 8.0,
    "nine": 9.0,
    "ten": 10.0,
    "eleven": 11.0,
    "twelve": 12.0,
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "sixty": 60.0,
    "hundred": 100.0,
    "thousand": 1000.0,
    "dozen": 12.0,
    "half": 2.0,
    "third": 3.0,
    "quarter": 4.0,
    "twice": 2.0,
    "double": 2.0,
    "triple": 3.0,
    "thrice": 3.0,
}
_QUOTED_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|`[^`\n]{0,400}`")


def quantities(text: str) -> Iterator[float]:
    """Those in digits in order, then those in words; "25%" is 25, "half" is 2, as people divide by it."""
    text = text[-LONGEST:]
    for digits in _DIGITS.findall(text):
        if len(digits) <= _LONGEST_NUMBER:
            yield float(digits.replace(",", ""))
    yield from [_WORDS[word] for word in _LETTERS.findall(text.lower()) if word in _WORDS]


def shown(text: str) -> Iterator[tuple[float, float]]:
    """Each number in digits, and what its last digit is worth."""
    for match in _SHOWN.finditer(text[-LONGEST:]):
        whole, decimals = match.groups()
        if len(whole) <= _LONGEST_NUMBER:
            yield float(f"{whole}.{decimals or 0}"), 10.0 ** -len(decimals or "")


def is_shown(value: float, among: Iterable[tuple[float, float]]) -> bool:
    """Whether a number stands there to the digits that are shown, rounded or cut; its sign is no matter."""
    value = abs(value)
    return any(abs(value - number) <= max(unit * 0.9999 - 1e-9, value * 1e-9) for number, unit in among)


def without_samples(prompt: str) -> str:
    """A prompt without its code and without the form that it wants the answer to have."""
    prompt = prompt[-LONGEST:]
    return _QUOTED_CODE.sub(" ", prompt) if "`" in prompt else prompt


def stands_among(value: float, known: set[float]) -> bool:
    """Whether a number is known as it is, as a percentage or as its counterpart to 100 or 1."""
    if round(value, 4) in known:
        return True
    share = value / 100
    ways = (share, value * 100, 100 - value, 1 - share, 1 + share, (value - 1) * 100, (1 - value) * 100)
    return any(round(way, 4) in known for way in ways)


def rounded(values: Iterable[float]) -> set[float]:
    return {round(value, 4) for value in values}
