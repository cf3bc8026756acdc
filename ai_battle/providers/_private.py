"""Finds in a text what is private: what a user lists, and what has the form of an address, an account or a key.

Most of a text is nothing of a kind, so each rule has signs: whatever it finds begins at a known distance from one of
them, and is looked for there alone. A sign is looked for where its rarest character is in the text, which Python finds
much sooner than two characters. What hangs on a number is looked for where numbers are.
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
from ._private_numbers import ASCII, END, NAME, near_numbers

KINDS = ("PERSON", "EMAIL", "PHONE", "IBAN", "CARD", "KEY", "ADDRESS", "TERM")
KNOWN_TEXTS = 2_000
LONGEST_PIECE = 1_000
"""Characters that a user's pattern is given at once: as many as it was tried with."""
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_COMMON = "jqxzvkbpygfwmucldrhsnioate "
"""From the rarest to the most common, in English; any other character is rarer."""
Signs: TypeAlias = Sequence[tuple[str, str]]
"""Each behind its rarest character."""
Starts: TypeAlias = Callable[[str, int], Iterable[int]]
LONGEST_NAME = 200
"""Of an address of e-mail, before its "@"."""
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_BEGIN, _STOP = rf"(?:(?<!\w)|(?<={_UNSPACED})|(?={_UNSPACED}))", rf"(?:(?!\w)|(?={_UNSPACED})|(?<={_UNSPACED}))"
"""Of words, in a text that may be in one of those languages."""
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
    rf"(?<![{ASCII}])(?:(?:AKIA|ASIA)[0-9A-Z]{{16}}{END}|gh[oprsu]_\w{{20,255}}|github_pat_\w{{20,255}}|glpat-[\w-]{{20,64}}"
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
    """What is veiled beside what the rules find: `names`, and `terms` of any other kind, each in full.

    What one of the `patterns` finds is called by its name. Files can't be veiled: they are refused, unless
    `sends_files`, which warns.
    """

    names: Sequence[str] = ()
    terms: Sequence[str] = ()
    sends_files: bool = False
    patterns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class PrivateSpan:
    """A place in a text that is private, and of which kind; the first of two rules has its way."""

    start: int
    rule: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class PrivacyRule:
    """Finds `pattern`, or its group if it has one, near one of the `signs`, which are in small letters.

    `starts` are the places at which it may begin, for a sign at a place of a text.
    """

    kind: str
    signs: Signs
    starts: Starts
    pattern: "re.Pattern[str]"


def _from(first: int, last: int) -> Starts:
    """Returns where it may begin, counted from the sign."""
    return lambda text, at: range(max(0, at + first), at + last + 1)


def _in_name(text: str, at: int) -> Iterable[int]:
    """The name before an "@", from which "(at)" may stand apart."""
    before = text[max(0, at - 4) : at]
    begin = end = at - len(before) + len(before.rstrip("\t\n [("))
    while begin > max(0, end - LONGEST_NAME) and (text[begin - 1].isalnum() or text[begin - 1] in "_.+-"):
        begin -= 1
    return range(begin, end)


_AT_SIGN = _from(0, 0)


def _rule(kind: str, signs: str, pattern: str, starts: Starts = _AT_SIGN) -> PrivacyRule:
    """A sign that has another one in it tells nothing more."""
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
    """Returns what placeholders of these kinds look like; Markdown may escape the underscore."""
    return rf"(?i:{'|'.join(kinds)})\\?_\d{{1,9}}(?!\d)"


class PrivateTexts:
    """Finds what is private in texts; what was found in a text once is known the next time."""

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
    """Raises `ConfigError` for one that matches everything or takes for ever; what has passed is not tried again.

    Each is tried on texts in which one sign or two come again and again, which patterns that match in very many ways do
    not survive, by a process of its own, which can be ended.
    """
    if not patterns:
        return
    command = [sys.executable, "-I", "-c", _TRIAL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as trial:  # noqa: S603
        words = "matches nearly every text, or an empty one; write what only the private ones have"
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
    """Returns the text in small letters, each in its place: the capital I with a dot would become two."""
    return text.replace("\u0130", "i").lower()


def _pattern_matches(kind: str, pattern: "re.Pattern[str]", text: str) -> Iterator[PrivateSpan]:
    """A long text is taken in pieces, so that it takes no longer than what the pattern was tried with."""
    for piece in range(0, len(text), LONGEST_PIECE // 2):
        for found in pattern.finditer(text, piece, piece + LONGEST_PIECE):
            if found.end() > found.start():
                yield PrivateSpan(found.start(), 0, found.end(), kind)


def union(spans: Iterable[PrivateSpan]) -> tuple[PrivateSpan, ...]:
    """Returns them in order; those that overlap become one, of the kind of the longest."""
    whole: list[PrivateSpan] = []
    for span in sorted(spans):
        if whole and span.start < (last := whole[-1]).end:
            longer = max((last, span), key=lambda each: each.end - each.start)
            whole[-1] = PrivateSpan(last.start, last.rule, max(last.end, span.end), longer.kind)
        else:
            whole.append(span)
    return tuple(whole)


def whole_words(patterns: Iterable[str]) -> str:
    """Returns a pattern for any of them where it is no part of a longer word, as far as that can be seen."""
    return f"{_BEGIN}(?:{'|'.join(patterns)}){_STOP}"


def _spellings(values: Sequence[str]) -> list[str]:
    """Returns the values in both spellings of accents, and with ss for ß, the longest first."""
    spelled = (
        normalize(form, each) for value in values for each in (value, value.replace("ß", "ss")) for form in FORMS
    )
    return sorted({*spelled}, key=len, reverse=True)


def _words(values: Sequence[str]) -> Iterable[str]:
    """A text has any of a name only with one of its words."""
    return dict.fromkeys(_in_small_letters(word) for value in _spellings(values) for word in value.split())


def _any_of(values: Sequence[str]) -> str:
    """Returns a pattern for the values in any case and with any white space."""
    words = ("\\s+".join(map(re.escape, each.split())) for each in _spellings(values))
    return f"(?i:{whole_words(words)})"


def _parts(names: Sequence[str]) -> str:
    """Returns a pattern for single words of the names as they are written, or in capitals: some are words as well."""
    parts = {part for name in _spellings(names) for part in name.split() if len(part) > 2}
    words = sorted({each for part in parts for each in (part, part.upper())}, key=len, reverse=True)
    return whole_words(map(re.escape, words)) if words else "(?!)"
