"""Finds in a text what is private: what a user lists, and what has the form of an address, an account or a key.

Most texts hold nothing of a kind, so each rule has signs: in every text in which it finds anything is one of them. What
hangs on a number is looked for where numbers are.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from unicodedata import normalize

from ..core.errors import ConfigError
from ..core.redaction import KEYS

KINDS = ("PERSON", "EMAIL", "PHONE", "IBAN", "CARD", "KEY", "ADDRESS", "TERM")
KNOWN_TEXTS = 2_000
LONGEST_PIECE = 1_000
"""Characters that a user's pattern is given at once: as many as it was tried with."""
BEFORE = 80
"""Characters before a number that may be the name of its street."""
Signs = tuple[str, ...]
_NAME = r"[A-ZÀ-ÖØ-ÞŠŽĆČŁŚŻ][\w'\u2019-]{0,30}"
_SHORT = "Mr|Mrs|Ms|Dr|Prof|Mme|Sr|Sra"
_TITLES = "Miss|Mister|Professor|Doctor|Sir|Madam|Herr|Herrn|Frau|Madame|Monsieur|Señor|Señora"
_TITLE = (
    "(?:"
    + "|".join(
        rf"(?:{short})(?!\w)\.?|(?:{words})(?!\w)"
        for short, words in ((_SHORT, _TITLES), (_SHORT.lower(), _TITLES.lower()), (_SHORT.upper(), _TITLES.upper()))
    )
    + ")"
)
_SECRET = r"(?:password|passwd|pwd|passphrase|secret|token|api[ _-]?key)"  # noqa: S105 - the word alone
_KEYS = (
    r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[oprsu]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{20,64}"
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
_EMAIL = rf"(?<!\w)[\w.+-]{{1,200}}+{_AT}[\w-]{{1,63}}(?:{_DOT}[\w-]{{1,63}}){{1,8}}"
_BOX = r"(?<!\w)(?i:p\.? ?o\.? box|postfach) \d[\d ]{0,9}"
_PERSON = rf"(?<!\w){_TITLE}\s(?:{_TITLE}\s)?({_NAME}(?:[ \xa0]{_NAME}){{0,2}})"
_ROAD = (
    "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Square|Sq|Terrace|Close|Crescent|Grove|"
    "Gardens|Hill|Place|Pl|Highway|Hwy|Parkway|Pkwy|Circle|Cir|Mews|Row|Quay|Walk|Rise|Green|Alley|Broadway"
)
_RUE = "rue|avenue|av\\.|boulevard|bd\\.?|place|chemin|allée|impasse|quai|cours|route|square|passage|faubourg"
_TOWN = (
    rf"(?:,?\s(?:[A-Z]{{1,2}}[- ])?\d{{4,5}}\s{_NAME}(?:[ -]{_NAME})?|,\s{_NAME}(?:\s{_NAME})?,\s[A-Z]{{2}}\s\d{{5}})?"
)
_CUES = ("phone", "tel", "tél", "telephone", "mobile", "cell", "fax", "call", "dial", "telefon", "handy")
_DIALLED = "|".join(f"(?<={cue}{sign} )" for cue in _CUES for sign in ("", ":", r"\."))
_GAP = r"[ .\xa0-]"
_NUMBERS: Mapping[str, str] = {
    # The names of groups are kinds; a number behind them tells rules of one kind apart.
    "PHONE1": r"(?<![\w.])(?:\+|00)[1-9]\d{0,2}(?:[ ./()\xa0-]{0,3}\d){6,13}(?!\w)",
    "CARD1": r"(?<![\w.])(?:3[0689]\d{12}|3[47]\d{13}|(?:2[2-7]|[456]\d)\d{14}|[46]\d{18})(?!\w|\.\d)",
    "CARD2": rf"(?<![\w.])(?:[2456]\d{{3}}(?P<gap1>{_GAP})\d{{4}}(?P=gap1)\d{{4}}(?P=gap1)\d{{4}}"
    rf"|3\d{{3}}(?P<gap2>{_GAP})\d{{6}}(?P=gap2)\d{{4,5}})(?!\w)",
    "PHONE2": r"(?<![\w.,/-])(?!\d\d[./-](?:\d\d[./-])?\d{4}\b)"
    r"\(?0\d{1,5}\)?[ /.\xa0-]{1,3}\d{2,8}(?:[ .\xa0-]?\d{2,5}){0,3}(?![\w.,]\d|\w)",
    "PHONE3": r"(?<![\w.,/-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])",
    "PHONE4": rf"(?i:{_DIALLED})\d(?:[ ./-]?\d){{5,14}}(?!\w)",
    "ADDRESS1": rf"(?<![\w.])\d{{1,5}}[a-zA-Z]?,?\s(?:{_NAME}\s){{1,3}}(?:{_ROAD})\b\.?(?:\s(?:[NS][EW]?|[EW])\b)?"
    rf"{_TOWN}",
    "ADDRESS2": rf"(?<![\w.])\d{{1,4}}(?:\s?(?:bis|ter))?,?\s(?i:{_RUE})\s(?:[\w'\u2019]{{1,12}}\s){{0,3}}"
    rf"(?:[dl]['\u2019])?{_NAME}{_TOWN}",
}
_NUMBER = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _NUMBERS.items()))
_IBANS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
    "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 "
    "IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 "
    "MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 "
    "SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
"""The length by country (ISO 13616, registry of the IBAN)."""
_LENGTHS = {each[:2]: int(each[2:]) for each in _IBANS.split()}
_IBAN_SIGN = re.compile(rf"{_GAP}?[A-Za-z0-9]")
_HOUSE = re.compile(rf"\d{{1,4}}\s?[a-zA-Z]?\b(?![.,:]\d|%){_TOWN}")
_STREETS = (
    "straße", "strasse", "str.", "weg", "platz", "allee", "gasse", "ufer", "damm", "markt", "graben", "straat", "laan",
    "plein", "gracht", "kade", "singel", "gatan", "vägen", "gränden", "torget", "gade", "vej", "plads", "katu", "tie",
)  # fmt: skip
"""Ends of a street's name that has its number behind it."""
_STREET_FIRST = (
    "calle", "c/", "avenida", "avda", "avda.", "plaza", "paseo", "carrera", "via", "viale", "piazza", "corso", "largo",
    "vicolo", "rua", "travessa", "praça", "rue", "ul.", "ulica", "al.", "aleja", "pl.", "plac", "os.", "avenue",
)  # fmt: skip
"""Words before such a name."""
_ALONG = ("am", "an der", "an den", "auf der", "auf dem", "unter den", "im", "in der", "zum", "zur", "beim", "vor dem")
_PLACES = (
    "markt", "platz", "park", "see", "bach", "berg", "hang", "wald", "feld", "tor", "linden", "eichen", "birken", "hof",
    "kirche", "mühle", "brücke", "schloss", "ufer", "hafen", "bahnhof", "anger", "dorf", "garten", "wiese", "heide",
    "kamp", "winkel", "weiher", "teich", "wall", "deich", "burg", "turm", "brunnen", "quelle", "alster", "elbe",
)  # fmt: skip
"""Names of German places, which are streets behind words such as "Am"."""


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
    """Finds `pattern`, or its group if it has one, in texts that have one of the `signs` in small letters."""

    kind: str
    signs: Signs
    pattern: "re.Pattern[str]"


def _rule(kind: str, signs: str, pattern: str) -> PrivacyRule:
    return PrivacyRule(kind, tuple(signs.split("|")), re.compile(pattern))


_RULES = (
    _rule("KEY", "-----begin", _PEM),
    _rule("KEY", "akia|asia|ghp_|gho_|ghr_|ghs_|ghu_|github_pat_|glpat-|xox|eyj", _KEYS),
    _rule("KEY", "sk-|sk_|pk-|pk_|rk-|rk_|xai-|xai_|hf-|hf_|r8-|r8_|pplx|nvapi|aiza|bearer|key", KEYS.pattern),
    _rule("KEY", "pass|pwd|secret|token|api", _CUED_KEY),
    _rule("KEY", "://", _LOGIN),
    _rule("KEY", "basic ", _BASIC),
    _rule("EMAIL", "@|%40|&#64;|at)|at]|at )|at ]", _EMAIL),
    _rule("ADDRESS", "box |fach ", _BOX),
    _rule("PERSON", f"{_SHORT}|{_TITLES}".lower(), _PERSON),
)


def placeholder_pattern(kinds: Sequence[str]) -> str:
    """Returns what placeholders of these kinds look like; Markdown may escape the underscore."""
    return rf"(?i:{'|'.join(kinds)})\\?_\d{{1,9}}(?!\d)"


class PrivateTexts:
    """Finds what is private in texts; what was found in a text once is known the next time."""

    def __init__(self, rules: VeilRules) -> None:
        taken = re.compile(rf"(?<!\w){placeholder_pattern((*KINDS, *rules.patterns))}")
        listed = (
            PrivacyRule("PERSON", _signs(rules.names), _any_of(rules.names)),
            PrivacyRule("PERSON", _signs(rules.names), _parts(rules.names)),
            PrivacyRule("TERM", _signs(rules.terms), _any_of(rules.terms)),
            PrivacyRule("TERM", ("_",), taken),
        )
        self._rules = (*(rule for rule in listed if rule.signs), *_RULES)
        self._patterns = {kind: re.compile(pattern) for kind, pattern in rules.patterns.items()}
        self.find: Callable[[str], tuple[PrivateSpan, ...]] = lru_cache(KNOWN_TEXTS)(self._find)

    def _find(self, text: str) -> tuple[PrivateSpan, ...]:
        lowered = text.lower()
        found = [span for number, rule in enumerate(self._rules) for span in _matches(number, rule, text, lowered)]
        found += _near_numbers(text, len(self._rules))
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
    if any(sign in lowered for sign in rule.signs):
        group = rule.pattern.groups
        for found in rule.pattern.finditer(text):
            yield PrivateSpan(found.start(group), number, found.end(group), rule.kind)


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


def _near_numbers(text: str, rule: int) -> Iterator[PrivateSpan]:
    """Yields telephone numbers, accounts, cards and addresses."""
    until = 0
    for digits in re.finditer(r"\d+", text):
        at = digits.start()
        if at < until:
            continue
        for start, end, kind in (*_iban_at(text, at), *_number_at(text, at), *_house_at(text, at)):
            until = max(until, end)
            yield PrivateSpan(start, rule, end, kind)


def _number_at(text: str, digits: int) -> Iterator[tuple[int, int, str]]:
    """Before its digits there may be a plus and parentheses, which are its own or not."""
    first = digits
    while first and text[first - 1] in "+(":
        first -= 1
    for at in range(first, digits + 1):
        if found := _NUMBER.match(text, at):
            kind = next(name for name in _NUMBERS if found[name]).rstrip("0123456789")
            if kind != "CARD" or _is_card(found[0]):
                yield at, found.end(), kind
                return


def _iban_at(text: str, digits: int) -> Iterator[tuple[int, int, str]]:
    """Its country stands before its digits."""
    for start in (digits - 2, digits - 3):
        is_begun = start >= 0 and text[start : start + 2].isalpha() and text[digits : digits + 2].isdigit()
        if is_begun and not (start and text[start - 1].isalnum()):
            end = _iban_end(text, start)
            if end and _is_iban(text[start:end]):
                yield start, end, "IBAN"


def _iban_end(text: str, start: int) -> int:
    """Returns where one ends that begins here, by the length of its country; 0 where none can."""
    at = start
    for _ in range(_LENGTHS.get(text[start : start + 2].upper(), 0)):
        if not (found := _IBAN_SIGN.match(text, at)):
            return 0
        at = found.end()
    return 0 if text[at : at + 1].isalnum() else at


def _house_at(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """A street before its number; most numbers have no such word before them, so that is looked at first."""
    if at < 4 or text[at - 1] not in " \xa0\n":
        return
    before = text[max(0, at - BEFORE) : at]
    if not (last := before.rsplit(None, 1)[-1:]) or not _plain_word(last[0])[:1].isupper():
        return
    house, start = _HOUSE.match(text, at), _street_start([*re.finditer(r"\S+", before)])
    if house and start is not None:
        yield at - len(before) + start, house.end(), "ADDRESS"


def _plain_word(word: str) -> str:
    return word.strip("\"'([{|,;:")


def _street_start(words: "Sequence[re.Match[str]]") -> int | None:
    """Returns where the name of a street begins that ends with these words, None where they are none."""
    plain = [_plain_word(word[0]) for word in words]
    last = plain[-1]
    befores = range(len(words) - 2, max(-1, len(words) - 6), -1)
    first = next((place for place in befores if _begins_street(plain[place:])), None)
    if first is None and len(last) > 5 and last.lower().endswith(_STREETS):
        first = len(words) - 1
    return None if first is None else words[first].start() + words[first][0].index(plain[first])


def _begins_street(words: Sequence[str]) -> bool:
    """Says whether the first of them are what stands before the name of a street, and the last is such a name."""
    if words[0].lower() in _STREET_FIRST:
        return True
    along = " ".join(words[:2] if words[1].islower() else words[:1]).lower()
    return along in _ALONG and words[-1].lower().endswith(_PLACES)


def _is_iban(text: str) -> bool:
    plain = re.sub(_GAP, "", text).upper()
    return int("".join(str(int(each, 36)) for each in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    digits = [int(each) for each in text if each.isdigit()][::-1]
    return (sum(digits[::2]) + sum(sum(divmod(2 * each, 10)) for each in digits[1::2])) % 10 == 0


def _spellings(values: Sequence[str]) -> list[str]:
    """Returns the values in both spellings of accents, the longest first."""
    return sorted({normalize(form, value) for value in values for form in ("NFC", "NFD")}, key=len, reverse=True)


def _signs(values: Sequence[str]) -> Signs:
    """Words of the values: a text has any of a name only with one of them."""
    return tuple(dict.fromkeys(word.lower() for value in _spellings(values) for word in value.split()))


def _any_of(values: Sequence[str]) -> "re.Pattern[str]":
    """Returns a pattern for the values in any case and with any white space."""
    words = ("\\s+".join(map(re.escape, each.split())) for each in _spellings(values))
    return re.compile(rf"(?i:(?<!\w)(?:{'|'.join(words)})(?!\w))")


def _parts(names: Sequence[str]) -> "re.Pattern[str]":
    """Returns a pattern for single words of the names as they are written, or in capitals: some are words as well."""
    parts = {part for name in _spellings(names) for part in name.split() if len(part) > 2}
    words = sorted({each for part in parts for each in (part, part.upper())}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)" if words else "(?!)")
