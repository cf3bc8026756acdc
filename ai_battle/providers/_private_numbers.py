"""Finds phone numbers, bank accounts, cards and addresses by looking at the text around numbers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

STREET_CHARACTERS = 80
"""Characters before a number in which the name of its street may be."""
ASCII = "0-9A-Za-z_"
NUMBER_END = rf"(?![{ASCII}])"
"""The end of numbers and keys. Only ASCII counts, as Chinese, Japanese and Thai have no space after them."""
NAME = r"[A-ZÀ-ÖØ-ÞŠŽĆČŁŚŻ][\w'\u2019-]{0,30}"
_ROAD = (
    "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Square|Sq|Terrace|Close|Crescent|Grove|"
    "Gardens|Hill|Place|Pl|Highway|Hwy|Parkway|Pkwy|Circle|Cir|Mews|Row|Quay|Walk|Rise|Green|Alley|Broadway"
)
_RUE = "rue|avenue|av\\.|boulevard|bd\\.?|place|chemin|allée|impasse|quai|cours|route|square|passage|faubourg"
_TOWN = (
    rf"(?:,?\s(?:[A-Z]{{1,2}}[- ])?(?:\d{{4,5}}|\d\d-\d{{3}}|\d{{4}}-\d{{3}})\s{NAME}(?:[ -]{NAME})?"
    rf"|,\s{NAME}(?:\s{NAME})?,\s[A-Z]{{2}}\s\d{{5}}|,\s{NAME}(?:\s{NAME})?,?\s[A-Z]{{1,2}}\d[A-Z\d]?\s\d[A-Z]{{2}})?"
)
_PHONE_CUE = re.compile(
    r"(?i:(?<![^\W\d_])(?:(?:tele?|mobil|handy|ruf|fax)(?:ph?one|fon|foon|fax)?(?:nummer)?|t[ée]l[ée]?(?:ph?on[eo]|fon[eo])?"
    r"|(?:cell|i)?phone|mobile|m[óo]vil|celular|cell(?:ulare)?|call|dial|whatsapp|телефон|тел)"
    r"(?:[ .:]{1,3}(?:number|numero|número|numéro|no|nr|is|at|on|me|us|ist|lautet|unter|est|es|è|номер)\b){0,3}"
    r"|(?:电话|電話|手机|手機|携帯)(?:号码|號碼|番号)?)\Z"
)
_BETWEEN = " .:=\uff1a\u662f\u306f"
"""Characters between such words and a number, including the Chinese and the Japanese "is"."""
_LOCAL = re.compile(rf"\d(?:[ ./-]?\d){{5,14}}(?![{ASCII}]|-\d)")
_DIGITS = re.compile(r"\D*+(\d*)")
"""Digits and the text before them; matching that text is twice as fast as searching for digits."""
CUE_CHARACTERS = 40
"""Characters before a number in which words may say what it is."""
_GAP = r"[ .\xa0-]"
_NUMBERS: Mapping[str, str] = {
    # Group names are kinds, with a number to distinguish patterns of the same kind.
    "PHONE1": rf"(?<![{ASCII}.])(?:\+|00)[1-9]\d{{0,2}}(?:[ ./()\xa0-]{{0,3}}\d){{6,13}}{NUMBER_END}",
    "CARD1": rf"(?<![{ASCII}.])(?:3[0689]\d{{12}}|3[47]\d{{13}}|(?:2[2-7]|[456]\d)\d{{14}}|[46]\d{{18}})"
    rf"(?![{ASCII}]|\.\d)",
    "CARD2": rf"(?<![{ASCII}.])(?:[2456]\d{{3}}(?P<gap1>{_GAP})\d{{4}}(?P=gap1)\d{{4}}(?P=gap1)\d{{4}}"
    rf"|3\d{{3}}(?P<gap2>{_GAP})\d{{6}}(?P=gap2)\d{{4,5}}){NUMBER_END}",
    # Excludes dates: 03/2024, 01.02.2024 and 04/29.
    "PHONE2": rf"(?<![{ASCII}.,/-])(?!\d\d[./-](?:\d\d[./-])?\d{{4}}(?!\d|-\d))"
    r"(?=\(?\d(?:[()/ .\xa0-]{0,4}\d){6})"
    rf"\(?0\d{{1,5}}\)?[ /.\xa0-]{{1,3}}\d{{2,8}}(?:[ .\xa0-]?\d{{2,5}}){{0,3}}(?![{ASCII}.,-]\d|[{ASCII}])",
    "PHONE3": rf"(?<![{ASCII}.,/-])(?:1[ .-])?(?:\(\d{{3}}\) ?|\d{{3}}[ .-])\d{{3}}[ .-]\d{{4}}(?![{ASCII}-])",
    "ADDRESS1": rf"(?<![\w.])\d{{1,5}}[a-zA-Z]?,?\s(?:{NAME}\s){{1,3}}(?:{_ROAD})\b\.?(?:\s(?:[NS][EW]?|[EW])\b)?"
    rf"{_TOWN}",
    "ADDRESS2": rf"(?<![\w.])\d{{1,4}}(?:\s?(?:bis|ter))?,?\s(?i:{_RUE})\s(?:[\w'\u2019]{{1,12}}\s){{0,3}}"
    rf"(?:[dl]['\u2019])?{NAME}{_TOWN}",
}
_NUMBER = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _NUMBERS.items()))
_IBANS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
    "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 "
    "IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 "
    "MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 "
    "SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
"""The length of an IBAN by country (ISO 13616, IBAN registry)."""
_LENGTHS = {each[:2]: int(each[2:]) for each in _IBANS.split()}
_IBAN_SIGN = re.compile(rf"{_GAP}?[A-Za-z0-9]")
_HOUSE = re.compile(rf"\d{{1,4}}(?:/\d{{1,4}}|\s?[a-zA-Z])?\b(?![.,:]\d|%){_TOWN}")
_STREETS = (
    "straße", "strasse", "str.", "weg", "platz", "allee", "gasse", "ufer", "damm", "markt", "graben", "straat", "laan",
    "plein", "gracht", "kade", "singel", "gatan", "vägen", "gränden", "torget", "gade", "vej", "plads", "katu", "tie",
)  # fmt: skip
"""Endings of street names that are followed by the number."""
_STREET_FIRST = (
    "calle", "c/", "avenida", "avda", "avda.", "plaza", "paseo", "carrera", "via", "viale", "piazza", "corso", "largo",
    "vicolo", "rua", "travessa", "praça", "rue", "ul.", "ulica", "al.", "aleja", "pl.", "plac", "os.", "avenue",
)  # fmt: skip
"""Words that begin such a street name."""
_PREPOSITIONS = (
    "am", "an der", "an den", "auf der", "auf dem", "unter den", "im", "in der", "zum", "zur", "beim", "vor dem",
)  # fmt: skip
_PLACES = (
    "markt", "platz", "park", "see", "bach", "berg", "hang", "wald", "feld", "tor", "linden", "eichen", "birken", "hof",
    "kirche", "mühle", "brücke", "schloss", "ufer", "hafen", "bahnhof", "anger", "dorf", "garten", "wiese", "heide",
    "kamp", "winkel", "weiher", "teich", "wall", "deich", "burg", "turm", "brunnen", "quelle", "alster", "elbe",
)  # fmt: skip
"""Endings of German place names that are street names after words such as "Am"."""


Place: TypeAlias = tuple[int, int, str]
"""The start, the end and the kind."""


def near_numbers(text: str) -> Iterator[Place]:
    """Yields the private values in a text that contain numbers."""
    until = 0
    for digits in _DIGITS.finditer(text):
        if (at := digits.start(1)) < until:
            continue
        for look in (_iban_at, _number_at, _phone_at, _house_at):
            if place := look(text, at):
                until = max(until, place[1])
                yield place


def _number_at(text: str, digits: int) -> Place | None:
    """Returns the phone number, card or address at the digits, with any plus and parentheses before them."""
    first = digits
    while first and text[first - 1] in "+(":
        first -= 1
    for at in range(first, digits + 1):
        if found := _NUMBER.match(text, at):
            kind = next(name for name in _NUMBERS if found[name]).rstrip("0123456789")
            if kind != "CARD" or _is_card(found[0]):
                return at, found.end(), kind
    return None


def _phone_at(text: str, at: int) -> Place | None:
    """Returns a phone number of any form after a word that announces one."""
    if found := _LOCAL.match(text, at):
        cue = text[max(0, at - CUE_CHARACTERS) : at].rstrip(_BETWEEN)
        if cue[-1:].isalpha() and _PHONE_CUE.search(cue):
            return at, found.end(), "PHONE"
    return None


def _iban_at(text: str, digits: int) -> Place | None:
    """Returns the IBAN whose country code is before the digits."""
    for start in (digits - 2, digits - 3):
        is_begun = start >= 0 and text[start : start + 2].isalpha() and text[digits : digits + 2].isdigit()
        if is_begun and not _is_ascii_word(text[start - 1 : start]):
            end = _iban_end(text, start)
            if end and _is_iban(text[start:end]):
                return start, end, "IBAN"
    return None


def _iban_end(text: str, start: int) -> int:
    """Returns the end of an IBAN that begins at `start`, by its country's length; 0 if there is none."""
    at = start
    for _ in range(_LENGTHS.get(text[start : start + 2].upper(), 0)):
        if not (found := _IBAN_SIGN.match(text, at)):
            return 0
        at = found.end()
    return 0 if at == start or _is_ascii_word(text[at : at + 1]) else at


def _house_at(text: str, at: int) -> Place | None:
    """Returns the street before a house number. Checks for a capital letter first, which most numbers don't follow."""
    if at < 4 or text[at - 1] not in " \xa0\n":
        return None
    before = text[max(0, at - STREET_CHARACTERS) : at]
    if not (last := before.rsplit(None, 1)[-1:]) or not _plain_word(last[0])[:1].isupper():
        return None
    house, start = _HOUSE.match(text, at), _street_start([*re.finditer(r"\S+", before)])
    return (at - len(before) + start, house.end(), "ADDRESS") if house and start is not None else None


def _plain_word(word: str) -> str:
    return word.strip("\"'([{|,;:")


def _street_start(words: "Sequence[re.Match[str]]") -> int | None:
    """Returns the start of the street name at the end of these words, or None."""
    plain = [_plain_word(word[0]) for word in words]
    last = plain[-1]
    befores = range(len(words) - 2, max(-1, len(words) - 6), -1)
    first = next((place for place in befores if _begins_street(plain[place:])), None)
    if first is None and len(last) > 5 and last.lower().endswith(_STREETS):
        first = len(words) - 1
    return None if first is None else words[first].start() + words[first][0].index(plain[first])


def _begins_street(words: Sequence[str]) -> bool:
    """Returns whether the words begin like a street name and, after words such as "Am", end like a German place."""
    if words[0].lower() in _STREET_FIRST:
        return True
    along = " ".join(words[:2] if words[1].islower() else words[:1]).lower()
    return along in _PREPOSITIONS and words[-1].lower().endswith(_PLACES)


def _is_ascii_word(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _is_iban(text: str) -> bool:
    plain = re.sub(_GAP, "", text).upper()
    return int("".join(str(int(each, 36)) for each in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    digits = [int(each) for each in text if each.isdigit()][::-1]
    return (sum(digits[::2]) + sum(sum(divmod(2 * each, 10)) for each in digits[1::2])) % 10 == 0
