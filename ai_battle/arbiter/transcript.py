"""Shows a run to a judge: turns have labels instead of names, inside fences that their text can't close."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from operator import ne
from pathlib import Path
from typing import Any

import yaml

from ..conversation.reading import read
from ..core.errors import ConfigError
from ..core.events import PromptGiven, RunStarted, TurnFinished
from ..core.exchange import estimate_text
from ..core.texts import printable

UNJUDGED = ("moderator", "observer")
LARGEST_SHARE = 4
"""A turn may take at most a fourth of the transcript; of a longer one, the beginning and the end are kept."""
HEAD_SHARE = 3
"""If a run is too long, its beginning takes a third of the transcript, and its end the rest."""
TURN_TAG_TOKENS = 40
"""Tokens of the tags around a turn."""
SHORTEST, LONGEST = 10, 1_000
"""Characters of a quotation. A shorter one would occur in any text, so it counts only if it is the whole turn."""
_DOUBLE = '"\u201c\u201d\u201e\u201f\u00ab\u00bb'
_SINGLE = "'`\u2018\u2019\u201a\u201b\u00b4"
_TOKEN = re.compile(
    rf"(?P<label>(?:Participant [A-Z]\d*|Speaker \d+)(?!\w))|(?P<space>\s+)|[{_DOUBLE}]|[{_SINGLE}]|.", re.DOTALL
)

Labels = Mapping[str, str]
"""Labels by participant name."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    number: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a run as a judge reads them. `participants` are judged; moderators and observers are only read."""

    prompt: str
    participants: tuple[str, ...]
    turns: tuple[SpokenTurn, ...]
    note: str = ""

    @classmethod
    def read(cls, run_dir: Path) -> "Transcript":
        """Reads a run. Raises `JournalError`, and `ConfigError` if nobody has said anything."""
        prompt, names = "", list[str]()
        turns: dict[int, SpokenTurn] = {}
        for _, event in read(run_dir):
            match event:
                case RunStarted():
                    names = _participants(event)
                case PromptGiven(message=message):
                    prompt = message.text
                case TurnFinished(turn=number, speaker=speaker, message=message):
                    turns[number] = SpokenTurn(number, speaker, printable(message.text).strip())
        speakers = {turn.speaker for turn in turns.values()}
        judged = tuple(name for name in names if name in speakers)
        if not judged:
            raise ConfigError(f"{run_dir}: nobody has said anything yet, so there is nothing to judge.")
        return cls(printable(prompt).strip(), judged, tuple(turns.values()))

    def within(self, most: int) -> "Transcript":
        """Shortens the transcript to an estimated `most` tokens; `note` says what is left out."""
        prompt = _excerpt(self.prompt, most // LARGEST_SHARE)
        turns = [replace(turn, text=_excerpt(turn.text, most // LARGEST_SHARE)) for turn in self.turns]
        cut = sum(map(ne, (prompt, *turns), (self.prompt, *self.turns)))
        room = most - estimate_text(prompt)
        head = turns if _fit_count(turns, room) == len(turns) else turns[: _fit_count(turns, room // HEAD_SHARE)]
        tail = turns[max(len(head), len(turns) - _fit_count(reversed(turns), room - room // HEAD_SHARE)) :]
        left = turns[len(head) : len(turns) - len(tail)]
        notes = [f"Texts that were shortened: {cut}."] if cut else []
        notes += [f"Left out: turns {left[0].number} to {left[-1].number}."] if left else []
        note = " ".join((f"A judge reads about {most:,} tokens.", *notes)) if notes else ""
        return replace(self, prompt=prompt, turns=(*head, *tail), note=note)

    def labels(self, *, swapped: bool) -> Labels:
        """Returns the labels. If `swapped`, the last participant gets the first label, and so on."""
        order = self.participants[::-1] if swapped else self.participants
        marks = [chr(ord("A") + place % 26) + str(place // 26 or "") for place in range(len(order))]
        others = dict.fromkeys(turn.speaker for turn in self.turns if turn.speaker not in order)
        return {name: f"Participant {mark}" for name, mark in zip(order, marks, strict=True)} | {
            name: f"Speaker {place}" for place, name in enumerate(others, 1)
        }

    def fenced_text(self, labels: Labels) -> str:
        """Returns the transcript in fences whose tags contain a word that does not occur in the text."""
        spelled = {spelling: label for name, label in labels.items() for spelling in _spellings(name)}
        named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(spelled, key=len, reverse=True)))})(?!\w)")
        texts_of_run = (self.prompt, *(turn.text for turn in self.turns))
        texts = [named.sub(lambda found: spelled[found[0]], text) for text in texts_of_run]
        fence = _unknown_word("".join(texts))
        blocks = [f"<goal-{fence}>\n{texts[0]}\n</goal-{fence}>"]
        for turn, text in zip(self.turns, texts[1:], strict=True):
            head = f'<turn-{fence} number="{turn.number}" by="{labels[turn.speaker]}">'
            blocks.append(f"{head}\n{text}\n</turn-{fence}>")
        return "\n\n".join(blocks)

    def with_names(self, text: str, labels: Labels) -> str:
        """Replaces labels with names in a judge's words."""
        names = {label: name for name, label in labels.items()}
        return _TOKEN.sub(lambda found: names.get(found[0], found[0]), text)

    def find(self, quotation: str, participant: str, labels: Labels) -> tuple[int, str] | None:
        """Returns the turn in which the participant said exactly this, and the words as they are written there.

        White space and the shape of quotation marks don't matter. All other characters do, and no word may be cut.
        """
        wanted = quotation.strip().strip(_DOUBLE + _SINGLE).strip()
        if not wanted or len(wanted) > LONGEST:
            return None
        pattern = _pattern(wanted, labels)
        for turn in self.turns:
            found = pattern.search(turn.text) if turn.speaker == participant else None
            if found and (len(found[0]) >= SHORTEST or found[0] == turn.text.strip(_DOUBLE + _SINGLE)):
                return turn.number, found[0]
        return None


def _participants(run: RunStarted) -> list[str]:
    """Returns all participants but moderators and observers, as far as the run's configuration is readable."""
    try:
        config: Any = yaml.safe_load(str(run.settings.get("config", "")))
    except yaml.YAMLError:
        config = None
    match config:
        case {"discussion": {"models": dict() as models}}:
            specs = {str(name): spec for name, spec in models.items() if isinstance(spec, dict)}
            return [name for name in {**run.participants, **specs} if specs.get(name, {}).get("role") not in UNJUDGED]
    return [*run.participants]


def _excerpt(text: str, most: int) -> str:
    if (tokens := estimate_text(text)) <= most:
        return text
    half = len(text) * most // tokens // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"


def _fit_count(turns: Iterable[SpokenTurn], most: int) -> int:
    """Returns how many of the first turns fit."""
    sizes = accumulate(estimate_text(turn.text) + TURN_TAG_TOKENS for turn in turns)
    return sum(1 for _ in takewhile(lambda size: size <= most, sizes))


def _spellings(name: str) -> Sequence[str]:
    """Returns spellings of a name: Ann as ANN, ann as Ann. Lower case is left out, since "will" may be no name."""
    return list(dict.fromkeys((name, name.upper(), name[:1].upper() + name[1:])))


def _unknown_word(text: str) -> str:
    word = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
    while word in text:
        word = hashlib.sha256(word.encode()).hexdigest()[:12]
    return word


def _pattern(quotation: str, labels: Labels) -> re.Pattern[str]:
    """Compiles a pattern that finds the quotation, with names in place of labels."""
    names = {label: name for name, label in labels.items()}
    body = "".join(_piece(found, names) for found in _TOKEN.finditer(quotation))
    before = r"(?<!\w)" if _is_cased(quotation[0]) else ""
    after = rf"(?!\w|[{_SINGLE}]\w)" if _is_cased(quotation[-1]) else ""
    return re.compile(before + body + after)


def _piece(found: re.Match[str], names: Mapping[str, str]) -> str:
    token = found[0]
    if token in names:
        return f"(?:{'|'.join(map(re.escape, (token, *_spellings(names[token]))))})"
    if found["space"]:
        return r"\s+"
    alike = next((marks for marks in (_DOUBLE, _SINGLE) if token in marks), "")
    return f"[{alike}]" if alike else re.escape(token)


def _is_cased(character: str) -> bool:
    """Checks whether a character belongs to a script that separates words by spaces."""
    return character.isdigit() or character.upper() != character.lower()
