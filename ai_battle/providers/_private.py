"""Finds private values in a text: those that a user lists, and those with the form of an address, account or key.

Most text is not private, so each rule has signs: a match begins at a known distance from a sign and is tried only
there. A sign is searched only if its rarest character occurs in the text, which Python checks much faster. Rules for
numbers are tried only at numbers (`_private_numbers`).
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias
from unicodedata import normalize

from ..core.errors import ConfigError
from ..core.redaction import KEYS
from ._private_numbers import ASCII, NAME, NUMBER_END, near_numbers

KINDS = ("PERSON", "EMAIL", "PHONE", "IBAN", "CARD", "KEY", "ADDRESS", "TERM")
KNOWN_TEXTS = 2_000  # texts whose private spans are cached, as each request repeats the conversation
LONGEST_PIECE = 1_000
"""Characters on which a user's pattern is run at once: as many as in its trial, so that it takes no longer."""
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_COMMON = "jqxzvkbpygfwmucldrhsnioate "
"""Characters from the rarest to the most common in English; any other character is rarer."""
Signs: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of a sign's rarest character and the sign."""
Starts: TypeAlias = Callable[[str, int], Iterable[int]]
LONGEST_NAME = 200
"""Characters of an e-mail address before its "@"."""
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_BEGIN, _STOP = rf"(?:(?<!\w)|(?<={_UNSPACED})|(?={_UNSPACED}))", rf"(?:(?!\w)|(?={_UNSPACED})|(?<={_UNSPACED}))"
"""Boundaries of words, also in languages that write no spaces."""
_SHORT = "Mr|Mrs|Ms|Dr|Prof|Mme|Sr|Sra"
_TITLES = (
    "Miss|Mister|Professor|Doctor|Sir|Madam|Herr|Herrn|Frau|Madame|Monsieur|Mademoiselle|Mlle|Señor|Señora|Señorita|Doña|"
    "Signor|Signora|Signorina|Sig|Dott|Senhor|Senhora|Meneer|Mevrouw|Dhr|Pani"
)
_TITLE = (
    "(?:"
    + "|".join(
        rf"(?:{short})(?!\w)\.?|(?:{words})(?!\w)"
        for short, words in ((_SHORT, _TITLES), (_SHORT.lower(), _TITLES.lower()), (_SHORT.upper(), _TITLES.upper()))
    )
    + ")"
)
_SECRET = (
    r"(?:password|passwd|pwd|passphrase|secret|token"  # noqa: S105 - the words alone
    r"|(?:api|secret|access|private|account|auth|signing|encryption)(?:[ _-]?access)?[ _-]?key)"
)
_KEYS = (
    rf"(?<![{ASCII}])(?:(?:AKIA|ASIA)[0-9A-Z]{{16}}{NUMBER_END}|gh[oprsu]_\w{{20,255}}|github_pat_\w{{20,255}}|glpat-[\w-]{{20,64}}"
    r"|xox[abprs]-[\w-]{10,200}|eyJ[\w-]{8,4000}\.[\w-]{8,4000}\.[\w-]{4,4000})"
)
_PEM = r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{1,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----"
_CUED_KEY = (
    rf"(?<![a-zA-Z])(?i:{_SECRET}\b[\"']?(?:\s?[:=]\s?|\sis\s(?=\S{{0,200}}\d))[\"']?)"
    r"(?!\$\{|<|\.\.)([^\s\"',;]{6,200})"
)
_LOGIN = r"(?<=://)[^\s:/@]{0,200}:([^\s/@]{3,200})(?=@)"
_BASIC = r"(?i:authorization[\"']?\s?[:=]\s?[\"']?basic )([\w+/=-]{8,4000})"
_AT, _DOT = r"(?:@|%40|&#64;|\s?[\[(]\s?(?i:at)\s?[\])]\s?)", r"(?:\.|\s?[\[(]\s?(?i:dot)\s?[\])]\s?)"
_EMAIL = rf"(?<!\w)[\w.+-]{{1,{LONGEST_NAME}}}+{_AT}[\w-]{{1,63}}(?:{_DOT}[\w-]{{1,63}}){{1,8}}"
_BOX = r"(?<!\w)(?i:p\.? ?o\.? box|postfach) \d[\d ]{0,9}"
_PARTICLES = r"(?:(?:van|von|vom|zu|der|den|de|da|do|dos|das|del|della|di|du|la|le|al|bin|ter|ten|af|y) ){0,3}"
_PERSON = rf"(?<!\w){_TITLE}\s(?:{_TITLE}\s)?({_PARTICLES}{NAME}(?:[ \xa0]{_PARTICLES}{NAME}){{0,2}})"


@dataclass(frozen=True, slots=True)
class VeilRules:
    """Additional private values: `names` of people, other `terms`, and `patterns` by the name of their kind.

    Files can't be veiled. They are rejected unless `sends_files`, which sends them with a warning.
    """

    names: Sequence[str] = ()
    terms: Sequence[str] = ()
    sends_files: bool = False
    patterns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class PrivateSpan:
    """A private place in a text and its kind. Of two matches of the same text, the earlier rule's kind counts."""

    start: int
    rule: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class PrivacyRule:
    """Finds `pattern` (or its group, if it has one) near one of the lower-case `signs`.

    `starts` returns the positions where a match may begin, given a text and the position of a sign.
    """

    kind: str
    signs: Signs
    starts: Starts
    pattern: "re.Pattern[str]"


def _from(first: int, last: int) -> Starts:
    """Returns a `Starts` for a range of distances from the sign."""
    return lambda text, at: range(max(0, at + first), at + last + 1)


def _in_name(text: str, at: int) -> Iterable[int]:
    """Returns the positions in the name before an "@" or "(at)", which may have a space before it."""
    before = text[max(0, at - 4) : at]
    begin = end = at - len(before) + len(before.rstrip("\t\n [("))
    while begin > max(0, end - LONGEST_NAME) and (text[begin - 1].isalnum() or text[begin - 1] in "_.+-"):
        begin -= 1
    return range(begin, end)


_AT_SIGN = _from(0, 0)


def _rule(kind: str, signs: str, pattern: str, starts: Starts = _AT_SIGN) -> PrivacyRule:
    """Makes a rule, dropping signs that contain another sign and so can't find more."""
    words = signs.split("|")
    alone = (word for word in words if not any(other in word and other != word for other in words))
    return PrivacyRule(kind, _signs(alone), starts, re.compile(pattern))


def _signs(words: Iterable[str]) -> Signs:
    return [(min(word, key=_COMMON.find), word) for word in words]


_RULES = (
    _rule("KEY", "-----begin", _PEM),
    _rule("KEY", "akia|asia|ghp_|gho_|ghr_|ghs_|ghu_|github_pat_|glpat-|xox|eyj", _KEYS),
    _rule("KEY", "sk-|sk_|pk-|pk_|rk-|rk_|xai-|xai_|hf-|hf_|r8-|r8_|pplx|nvapi|aiza", KEYS.pattern, _from(-1, 0)),
    _rule("KEY", "bearer |key=|key: |key provided: ", KEYS.pattern, _from(4, 14)),
    _rule("KEY", "pass|pwd|secret|token|api|access|private|account|auth|signing|encryption", _CUED_KEY),
    _rule("KEY", "://", _LOGIN, _from(3, 3)),
    _rule("KEY", "authorization", _BASIC),
    _rule("EMAIL", "@|%40|&#64;|at)|at]|at )|at ]", _EMAIL, _in_name),
    _rule("ADDRESS", "box |fach ", _BOX, _from(-7, -1)),
    _rule("PERSON", f"{_SHORT}|{_TITLES}".lower(), _PERSON),
)


def placeholder_pattern(kinds: Sequence[str]) -> str:
    """Returns a pattern for placeholders of these kinds, whose underscore Markdown may have escaped."""
    return rf"(?i:{'|'.join(kinds)})\\?_\d{{1,9}}(?!\d)"


class PrivateTexts:
    """Finds private spans in texts, and caches them for the last `KNOWN_TEXTS` texts."""

    def __init__(self, rules: VeilRules) -> None:
        taken = re.compile(rf"(?<!\w){placeholder_pattern((*KINDS, *rules.patterns))}")
        before = _from(-1 - max(map(len, (*KINDS, *rules.patterns))), -1)
        listed = (
            PrivacyRule(
                "PERSON",
                _signs(_words(rules.names)),
                _AT_SIGN,
                re.compile(f"{_any_of(rules.names)}|{_parts(rules.names)}"),
            ),
            PrivacyRule("TERM", _signs(_words(rules.terms)), _AT_SIGN, re.compile(_any_of(rules.terms))),
            PrivacyRule("TERM", _signs(f"_{each}" for each in range(10)), before, taken),
        )
        self._rules = (*(rule for rule in listed if rule.signs), *_RULES)
        self._patterns = {kind: re.compile(pattern) for kind, pattern in rules.patterns.items()}
        self.find: Callable[[str], tuple[PrivateSpan, ...]] = lru_cache(KNOWN_TEXTS)(self._find)

    def _find(self, text: str) -> tuple[PrivateSpan, ...]:
        lowered = _in_small_letters(text)
        found = [span for number, rule in enumerate(self._rules) for span in _matches(number, rule, text, lowered)]
        found += (PrivateSpan(start, len(self._rules), end, kind) for start, end, kind in near_numbers(text))
        for kind, pattern in self._patterns.items():
            found += _pattern_matches(kind, pattern, text)
        return union(found)


_TRIAL = """
import json, re, sys
patterns, prose, length = json.load(sys.stdin)
for kind, pattern in patterns.items():
    print(kind, end=" ", flush=True)
    found = re.compile(pattern)
    if found.search("") or 2 * sum(len(each[0]) for each in found.finditer(prose)) > len(prose):
        sys.exit(1)
    signs = list(dict.fromkeys("aA0 -._@" + "".join(filter(str.isalnum, pattern))))[:14]
    for text in (a * (length // 2) + b * (length // 2) for a in signs for b in (*signs, a + "-")):
        all(found.finditer(text + "\\0"))
    for text in ((a + b) * (length // 2) for a in signs for b in signs):
        all(found.finditer(text + "\\0"))
"""
TRIAL_SECONDS = 5.0
_PROSE = (
    "The old mill by the river has been closed since 1987, when its owner moved to the coast. On Sundays, from 10:00 "
    "to 12:30, a club shows how flour was made; adults pay $4.50, children nothing. Bring a friend, and ask for bread!"
)


@lru_cache
def check_patterns(patterns: tuple[tuple[str, str], ...]) -> None:
    """Raises `ConfigError` for a pattern that matches nearly everything or backtracks without end.

    Tries each pattern on texts that repeat one or two characters, on which bad patterns take exponential time. It does
    so in a separate process, as Python can't interrupt a search. Patterns that passed are not tried again.
    """
    if not patterns:
        return
    command = [sys.executable, "-I", "-c", _TRIAL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as trial:  # noqa: S603
        words = "matches nearly every text, or an empty one; make it match only private values"
        try:
            tried, _ = trial.communicate(json.dumps([dict(patterns), _PROSE, LONGEST_PIECE]), TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            trial.kill()
            tried, _ = trial.communicate()
            words = f"takes longer than {TRIAL_SECONDS:g} s on some texts; write it without repetitions in repetitions"
        if trial.returncode:
            raise ConfigError(f"veil.patterns.{tried.split()[-1].lower()} {words}.")


def _matches(number: int, rule: PrivacyRule, text: str, lowered: str) -> Iterator[PrivateSpan]:
    group, until = rule.pattern.groups, 0
    for at in sorted(_places(rule.signs, lowered)):
        for start in rule.starts(text, at):
            if start >= until and (found := rule.pattern.match(text, start)):
                yield PrivateSpan(found.start(group), number, found.end(group), rule.kind)
                until = found.end()
                break


def _places(signs: Signs, lowered: str) -> Iterator[int]:
    for rarest, sign in signs:
        at = lowered.find(sign) if rarest in lowered else -1
        while at >= 0:
            yield at
            at = lowered.find(sign, at + 1)


def _in_small_letters(text: str) -> str:
    """Lowers a text without changing positions; the capital I with a dot would become two characters."""
    return text.replace("\u0130", "i").lower()


def _pattern_matches(kind: str, pattern: "re.Pattern[str]", text: str) -> Iterator[PrivateSpan]:
    """Yields the matches of a user's pattern in overlapping pieces of `LONGEST_PIECE`, the length of its trial."""
    for piece in range(0, len(text), LONGEST_PIECE // 2):
        for found in pattern.finditer(text, piece, piece + LONGEST_PIECE):
            if found.end() > found.start():
                yield PrivateSpan(found.start(), 0, found.end(), kind)


def union(spans: Iterable[PrivateSpan]) -> tuple[PrivateSpan, ...]:
    """Returns spans in order, merging those that overlap to one of the kind of the longest."""
    whole: list[PrivateSpan] = []
    for span in sorted(spans):
        if whole and span.start < (last := whole[-1]).end:
            longer = max((last, span), key=lambda each: each.end - each.start)
            whole[-1] = PrivateSpan(last.start, last.rule, max(last.end, span.end), longer.kind)
        else:
            whole.append(span)
    return tuple(whole)


def whole_words(patterns: Iterable[str]) -> str:
    """Returns a pattern for any of the patterns as whole words, as far as the language shows their boundaries."""
    return f"{_BEGIN}(?:{'|'.join(patterns)}){_STOP}"


def _spellings(values: Sequence[str]) -> list[str]:
    """Returns the values with composed and decomposed accents, and with ss for ß, the longest first."""
    spelled = (
        normalize(form, each) for value in values for each in (value, value.replace("ß", "ss")) for form in FORMS
    )
    return sorted({*spelled}, key=len, reverse=True)


def _words(values: Sequence[str]) -> Iterable[str]:
    """Returns the words of the values in lower case, one of which every match contains."""
    return dict.fromkeys(_in_small_letters(word) for value in _spellings(values) for word in value.split())


def _any_of(values: Sequence[str]) -> str:
    """Returns a pattern for the values in any case and with any white space."""
    words = ("\\s+".join(map(re.escape, each.split())) for each in _spellings(values))
    return f"(?i:{whole_words(words)})"


def _parts(names: Sequence[str]) -> str:
    """Returns a pattern for single words of names, as written or in capitals; in lower case some are common words."""
    parts = {part for name in _spellings(names) for part in name.split() if len(part) > 2}
    words = sorted({each for part in parts for each in (part, part.upper())}, key=len, reverse=True)
    return whole_words(map(re.escape, words)) if words else "(?!)"
