"""Measures a conversation without a model. A turn costs the same however long the conversation is."""

import re
import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from importlib.resources import files
from statistics import median

from .languages import FILLERS, STEM_LENGTH, plain_words, sentences, words, words_everywhere

WINDOW, RECENT = 12, 3
"""Earlier turns that each turn is compared with; last turns over which faults and coherence are measured."""
LEAST_WORDS, LEAST_STEMS = 12, 6
"""Turns with fewer words, or fewer stems for their subject, are not judged: short turns are alike by chance."""
_MAX_CHARACTERS = 20_000
_SEGMENT_WORDS = 50
_LONG_WORD = 6
_MIN_COMPOUND_STEM = 5
_NAMED, _TOPIC = 40, 400
"""Stems kept of the opening, and of the rest of the conversation's subject."""
_TOPIC_SHARE, _TOPIC_EVIDENCE, _UNSPACED_EVIDENCE = 0.25, 60, 180
"""The share of stems on topic at which the drift is 0, and the least stems from which a drift is measured.

Pairs of characters give about three stems a word in scripts without spaces.
"""
_DRIFT_LIMIT = 0.7
"""Turns that drift farther add nothing to the subject, or a conversation off topic would become its own topic."""
_OUTSIDE = re.compile(r"^```.*?(?:^```|\Z)|^>.*?$", re.MULTILINE | re.DOTALL)
"""Code and quotations: text that occurs there again is not repeated by its speaker."""
_UNSPACED = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_SMALL_UNSPACED = r"[\u3040-\u309f\u7684\u4e86\u662f\u5728\u6211\u4f60\u4ed6\u5979\u5b83\u4eec\u548c\u6709\u4e0d]"
_UNSPACED_END = r"[\u3002\uff01\uff1f]"
_QUESTION = re.compile(r"[?\uff1f]+")
_LINE_MARK = re.compile(r"^[ \t]*(#{1,6} |[-*+\u2022] |\d+[.)] |\*\*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TurnSignals:
    """What one turn makes of the conversation. All but `words` and `readability` are shares from 0 to 1.

    `coherence`: the share of the turn's subject that the last three turns share. `drift`: how far the last three turns
    are from the opening. `repetition`, `agreement` and `formulaic` are medians over the last three judged turns: what
    anyone had said before; agreement and praise without reservation; stock phrases and repeated patterns. `vocabulary`:
    different words per 50 (Johnson 1944). `readability`: LIX, about 25 for easy and 60 for hard texts (Björnsson 1968),
    None for scripts without spaces. `questions`: the share of sentences that are questions. `balance`: how evenly the
    words are shared, 1 is evenly. `phase`: the share of the planned turns that are done.
    """

    words: int
    coherence: float
    drift: float
    repetition: float
    agreement: float
    formulaic: float
    vocabulary: float
    readability: float | None
    questions: float
    balance: float
    phase: float

    def figures(self) -> Mapping[str, float]:
        """Returns the measures by name, without those that could not be taken."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: round(value, 3) for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _TextProfile:
    """A text prepared for the measures."""

    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    shingles: frozenset[int]
    sentences: tuple[str, ...]
    marks: tuple[str, ...]
    phrases: tuple[tuple[str, int], ...]
    is_spaced: bool

    @property
    def is_judged(self) -> bool:
        return len(self.words) >= LEAST_WORDS


@lru_cache(maxsize=8)
def _profile(text: str) -> _TextProfile:
    """Reads the words outside of code and quotations, at most `_MAX_CHARACTERS` characters."""
    plain = _OUTSIDE.sub("\n", text[:_MAX_CHARACTERS]).casefold().replace("\u061f", "?")
    is_spaced = plain.isascii() or not re.search(_UNSPACED, plain)
    if not is_spaced:
        plain = re.sub(_UNSPACED_END, r"\g<0> ", plain)
    tokens = tuple(plain_words(plain) if is_spaced else words(plain))
    small = _small_words()
    stems = frozenset([word[:STEM_LENGTH] for word in set(tokens) - small if len(word) > 2 or not word.isascii()])
    if not is_spaced:
        stems = frozenset(stem for stem in stems if not re.search(_SMALL_UNSPACED, stem))
    # Hashes are compared instead of tuples of words, as each is looked up in up to 12 earlier turns.
    shingles = frozenset(map(hash, zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)))
    marks = tuple(_LINE_MARK.findall(plain))
    phrases = tuple(_phrases(plain, tokens, is_spaced=is_spaced))
    return _TextProfile(plain, tokens, stems, shingles, tuple(sentences(plain)), marks, phrases, is_spaced)


@cache
def _small_words() -> frozenset[str]:
    return FILLERS.union(*map(words_everywhere, ("function", "common", "numerals")))


class ConversationSignals:
    """Measures each turn against the earlier ones: `measure` previews a turn, `add` makes it part of the conversation.

    `open` takes the subject; `planned` is the number of turns that the conversation will have.
    """

    def __init__(self, planned: int = 0) -> None:
        self._planned = planned
        self._turns = 0
        self._earlier: deque[tuple[str, _TextProfile]] = deque(maxlen=WINDOW)
        self._opening: frozenset[str] = frozenset()
        self._topic: dict[str, None] = {}
        self._words: Counter[str] = Counter()
        self._judged: deque[_TurnValues] = deque(maxlen=RECENT - 1)
        self._measured: tuple[tuple[str, str], tuple[TurnSignals, _TurnValues | None]] | None = None

    def open(self, text: str) -> None:
        """Sets the subject of the conversation."""
        self._opening = frozenset(sorted(_profile(text).stems, key=lambda stem: (len(stem), stem))[-_NAMED:])

    def add(self, speaker: str, text: str) -> TurnSignals:
        """Adds a turn and returns its measures."""
        found, values = self._measure(speaker, text)
        profile = _profile(text)
        self._turns += 1
        self._words[speaker] += len(profile.words)
        if values:
            self._judged.append(values)
        self._earlier.append((speaker, profile))
        self._keep_topic(found.drift)
        self._measured = None
        return found

    def measure(self, speaker: str, text: str) -> TurnSignals:
        """Returns the measures that a turn would have."""
        return self._measure(speaker, text)[0]

    def _measure(self, speaker: str, text: str) -> "tuple[TurnSignals, _TurnValues | None]":
        """Returns the measures of a turn; the last ones are kept, as `measure` usually precedes `add`."""
        if self._measured is None or self._measured[0] != (speaker, text):
            profile = _profile(text)
            values = self._values(speaker, profile) if profile.is_judged else None
            self._measured = (speaker, text), (self._signals(speaker, profile, values), values)
        return self._measured[1]

    def _signals(self, speaker: str, profile: _TextProfile, values: "_TurnValues | None") -> TurnSignals:
        judged = [*self._judged, *filter(None, [values])][-RECENT:]
        return TurnSignals(
            words=len(profile.words),
            coherence=self._coherence(profile),
            drift=self._drift(profile),
            repetition=_recent_median([each.repetition for each in judged]),
            agreement=_recent_median([each.agreement for each in judged]),
            formulaic=_recent_median([each.formulaic for each in judged]),
            vocabulary=_vocabulary(profile.words),
            readability=_lix(profile),
            questions=_questions(profile),
            balance=_evenness({**self._words, speaker: self._words[speaker] + len(profile.words)}),
            phase=min(1.0, (self._turns + 1) / self._planned) if self._planned else 0.0,
        )

    def _keep_topic(self, drift: float) -> None:
        """Adds the oldest of the last turns to the subject, unless the last turns drift."""
        if len(self._earlier) >= RECENT and drift <= _DRIFT_LIMIT:
            # Sets have another order in each process; sorting makes a resumed run forget the same stems.
            for stem in sorted(self._earlier[-RECENT][1].stems - self._opening):
                self._topic.pop(stem, None)
                self._topic[stem] = None
            while len(self._topic) > _TOPIC:
                del self._topic[next(iter(self._topic))]

    def _values(self, speaker: str, profile: _TextProfile) -> "_TurnValues":
        repetition = self._repetition(speaker, profile)
        return _TurnValues(repetition, _agreement(profile), self._formulaic_share(profile, 1 - repetition))

    def _last_turns(self, turns: int) -> list[_TextProfile]:
        return [each for _, each in [*self._earlier][-turns:]]

    def _coherence(self, profile: _TextProfile) -> float:
        return len(profile.stems & _all_stems(self._last_turns(RECENT))) / max(1, len(profile.stems))

    def _drift(self, profile: _TextProfile) -> float:
        """Returns how little of the last turns occurs in the opening or the subject so far.

        Words of the opening count twice and are found inside compounds too.
        """
        last = [profile, *self._last_turns(RECENT - 1)]
        stems = _all_stems(last)
        if len(stems) < (_TOPIC_EVIDENCE if profile.is_spaced else _UNSPACED_EVIDENCE) or len(self._earlier) <= RECENT:
            return 0.0
        text = "\n".join(each.text for each in last)
        named = sum(stem in stems or (len(stem) >= _MIN_COMPOUND_STEM and stem in text) for stem in self._opening)
        kept = 2 * named + len(stems & self._topic.keys())
        return 1 - min(1.0, kept / len(stems) / _TOPIC_SHARE)

    def _repetition(self, speaker: str, profile: _TextProfile) -> float:
        """Returns how much one earlier turn had already: any part of an own turn, most of another's, or its wording."""
        return max((_overlap(profile, each, own=who == speaker) for who, each in self._earlier), default=0.0)

    def _formulaic_share(self, profile: _TextProfile, novelty: float) -> float:
        """Returns the stock phrases per sentence, plus repeated openings, endings and line marks around new content."""
        # At least four sentences, so that one stock phrase in a short turn is not a fault.
        stock = 2.5 * sum(1 for kind, _ in profile.phrases if kind == "stock") / max(4, len(profile.sentences))
        last = self._last_turns(RECENT + 1)
        opens = any(each.words[:2] == profile.words[:2] for each in last)
        ends = any(_ending(each) == _ending(profile) for each in last)
        lines = len(profile.marks) >= RECENT and any(each.marks == profile.marks for each in last)
        return min(1.0, stock + novelty * (0.5 * opens + 0.3 * ends + 0.3 * lines))


@dataclass(frozen=True, slots=True)
class _TurnValues:
    """The values of one turn whose median over several turns is reported."""

    repetition: float
    agreement: float
    formulaic: float


def _all_stems(texts: Iterable[_TextProfile]) -> frozenset[str]:
    return frozenset().union(*(each.stems for each in texts))


def _overlap(profile: _TextProfile, earlier: _TextProfile, *, own: bool) -> float:
    size = len(profile.stems) if own else max(len(profile.stems), len(earlier.stems))
    # A short reply to a long turn shares its words by nature, so most of another's turn has to be repeated.
    same = len(profile.stems & earlier.stems) / size if len(profile.stems) >= LEAST_STEMS else 0.0
    wording = len(profile.shingles & earlier.shingles) / max(1, len(profile.shingles))
    return min(1.0, max(same, 1.3 * wording))


def _agreement(profile: _TextProfile) -> float:
    """Returns praise and agreement, which count most at the beginning, less reservations and questions."""
    score = 0.0
    for kind, place in profile.phrases:
        score += _WEIGHTS.get(kind, 0.0) * (1.0 if place < 2 * LEAST_WORDS or kind == "reserve" else 0.5)
    return min(1.0, max(0.0, score - 0.3 * len(_QUESTION.findall(profile.text))))


# A plain yes is half of praise, and one reservation outweighs it: agreeing with a reservation is not flattery.
_WEIGHTS = {"praise": 1.0, "yes": 0.5, "reserve": -0.6}


def _ending(profile: _TextProfile) -> tuple[str, ...]:
    return tuple(profile.sentences[-1].split()[:3]) if profile.sentences else ()


def _recent_median(values: list[float]) -> float:
    """Returns the median of `RECENT` values. Missing ones are 0, so a fault has to show in two turns."""
    return median([*values, *[0.0] * (RECENT - len(values))])


def _vocabulary(tokens: tuple[str, ...]) -> float:
    """Returns the mean share of different words per whole segment, or that of the only segment."""
    starts = range(0, max(1, len(tokens) - _SEGMENT_WORDS + 1), _SEGMENT_WORDS)
    parts = [tokens[start : start + _SEGMENT_WORDS] for start in starts]
    return sum(len(set(part)) / max(1, len(part)) for part in parts) / len(parts)


def _lix(profile: _TextProfile) -> float | None:
    if not profile.is_spaced or not profile.words:
        return None
    long_words = sum(len(word) > _LONG_WORD for word in profile.words)
    return len(profile.words) / max(1, len(profile.sentences)) + 100 * long_words / len(profile.words)


def _questions(profile: _TextProfile) -> float:
    return min(1.0, len(_QUESTION.findall(profile.text)) / max(1, len(profile.sentences)))


def _evenness(by_speaker: Mapping[str, int]) -> float:
    return min(by_speaker.values()) * len(by_speaker) / max(1, sum(by_speaker.values()))


@dataclass(frozen=True, slots=True)
class _PhraseTable:
    """Phrases and their kinds, by first word, and separately those in scripts without spaces."""

    by_word: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = field(default_factory=dict)
    unspaced: tuple[tuple[str, str], ...] = ()


@cache
def _phrase_table() -> _PhraseTable:
    by_word: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {}
    unspaced = []
    listed = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text(encoding="utf-8"))
    for kind, languages in listed.items():
        for phrase in (phrase for text in languages.values() for phrase in text.split("|")):
            if re.search(_UNSPACED, phrase):
                unspaced.append((phrase.strip(), kind))
            else:
                tokens = tuple(plain_words(phrase))
                by_word[tokens[0]] = (*by_word.get(tokens[0], ()), (tokens, kind))
    return _PhraseTable(by_word, tuple(unspaced))


def _phrases(text: str, tokens: tuple[str, ...], *, is_spaced: bool) -> Iterator[tuple[str, int]]:
    """Yields the kind of each phrase in a text, with the number of words (or characters) before it."""
    table = _phrase_table()
    for place, word in enumerate(tokens):
        for phrase, kind in table.by_word.get(word, ()):
            if tokens[place : place + len(phrase)] == phrase:
                yield kind, place
    if not is_spaced:
        yield from ((kind, text.index(phrase)) for phrase, kind in table.unspaced if phrase in text)
