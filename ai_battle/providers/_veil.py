"""A veil before a model elsewhere: what is private is sent as placeholders, which are put back in the answer."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import is_
from typing import Any
from unicodedata import normalize

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ProviderError
from ..core.events import (
    AttemptFailed,
    DraftDelta,
    Emit,
    Event,
    TextDelta,
    ToolCallDelta,
    Warned,
    ignore,
)
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import Veiled
from ..core.messages import Document, Image, Message, Part, Thinking, ToolCall, ToolResult
from ..core.redaction import KEYS, STRUCTURE
from ..core.texts import each_text, printable
from ._filters import Piece

KINDS = ("PERSON", "EMAIL", "PHONE", "IBAN", "CARD", "KEY", "ADDRESS", "TERM")
MOST_VALUES = 100_000
KNOWN_TEXTS = 2_000
_PLACEHOLDER = re.compile(rf"(?i:{'|'.join(KINDS)})\\?_\d{{1,9}}(?!\d)")  # Markdown may escape the underscore
_BEGUN = re.compile(r"([A-Za-z]{1,7})(?:\\|\\?_\d{0,9})?\Z")
_CAPITALISED = r"[A-ZÀ-ÖØ-ÞŠŽĆČŁŚŻ][\w'\u2019-]{0,30}"
_STREET = r"(?:[Ss]tra(?:ß|ss)e|[Ss]tr\.|[Ww]eg|[Pp]latz|[Aa]llee|[Gg]asse|[Uu]fer|[Dd]amm)"
_ROAD = r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Square|Terrace|Close)"
_TITLES = (
    r"Mr|Mrs|Ms|Miss|Mister|Dr|Prof|Professor|Doctor|Sir|Madam|Herr|Herrn|Frau|Mme|Madame|Monsieur|Señor|Señora|Sr|Sra"
)
_CUES = ("phone", "tel", "telephone", "mobile", "cell", "fax", "call", "dial", "telefon", "handy")
_DIALLED = "|".join(f"(?<={cue}{sign} )" for cue in _CUES for sign in ("", ":", r"\."))
_RULES: Mapping[str, str] = {
    # The names of groups are kinds; a number behind them tells rules of one kind apart.
    "TERM": rf"(?=[peckiatPECKIAT]){_PLACEHOLDER.pattern}",
    "KEY1": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{1,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----",
    "KEY2": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[oprsu]_\w{20,255}|\bgithub_pat_\w{20,255}|\bglpat-[\w-]{20,64}"
    r"|\bxox[abprs]-[\w-]{10,200}|\beyJ[\w-]{8,4000}\.[\w-]{8,4000}\.[\w-]{4,4000}",
    "KEY3": KEYS.pattern,
    "EMAIL": r"[\w.+-]{1,200}+(?:@|%40|&#64;|\s?[\[(]\s?at\s?[\])]\s?)"
    r"[\w-]{1,63}(?:(?:\.|\s?[\[(]\s?dot\s?[\])]\s?)[\w-]{1,63}){1,8}",
    "IBAN": r"(?=[a-zA-Z]{2}[ .-]?\d)(?i:[A-Z]{2}[ .-]?\d{2}(?:[ .-]?[A-Z0-9]){11,30}\b)",
    "ADDRESS1": rf"(?=[A-ZÄÖÜ])(?:{_CAPITALISED} ){{0,2}}[\w'-]{{0,60}}{_STREET}\s\d{{1,4}}\s?[a-z]?\b",
}
_NUMBERS: Mapping[str, str] = {
    "PHONE1": r"(?<![\w.])(?:\+|00)[1-9]\d{0,2}(?:[ ./()\xa0-]{0,3}\d){6,13}(?!\w)",
    "CARD": r"(?<![\w.])\d(?:[ .-]?\d){12,18}(?![\w])",
    "PHONE2": r"(?<![\w.,/-])\(?0\d{1,5}\)?[ /.\xa0-]{1,3}\d{2,8}(?:[ .\xa0-]?\d{2,5}){0,3}(?![\w.,]\d|\w)",
    "PHONE3": r"(?<![\w.,/-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])",
    "PHONE4": rf"(?i:{_DIALLED})\d(?:[ ./-]?\d){{5,14}}(?!\w)",
    "ADDRESS2": rf"\b\d{{1,5}}[a-zA-Z]?\s(?:{_CAPITALISED}\s){{1,3}}{_ROAD}\b",
}
_CUED = (
    r"(?=[pstaPSTA])(?i:(?:password|passwd|passphrase|secret|token|api[ _-]?key)\b[\"']?"
    r"(?:\s?[:=]\s?|\sis\s(?=\S{0,200}\d))[\"']?)(?P<KEY4>[^\s\"',;]{6,200})"
    rf"|(?:{_TITLES})\b\.?\s(?:(?:{_TITLES})\.?\s)?(?P<PERSON1>{_CAPITALISED}(?:[ \xa0]{_CAPITALISED}){{0,2}})"
)


@dataclass(frozen=True, slots=True)
class VeilRules:
    """What is veiled beside what the rules find: `names`, and `terms` of any other kind, each in full.

    Files can't be veiled: they are refused, unless `sends_files`, which warns.
    """

    names: Sequence[str] = ()
    terms: Sequence[str] = ()
    sends_files: bool = False


def _is_iban(text: str) -> bool:
    plain = re.sub(r"[ .-]", "", text).upper()
    digits = "".join(str(int(each, 36)) for each in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(digits) % 97 == 1


def _is_card(text: str) -> bool:
    digits = [int(each) for each in text if each.isdigit()][::-1]
    return (sum(digits[::2]) + sum(sum(divmod(2 * each, 10)) for each in digits[1::2])) % 10 == 0


def _checked_end(text: str, start: int, end: int, is_valid: Callable[[str], bool]) -> int:
    """Returns where the longest beginning of the span ends that has the right checksum; `start` where none has."""
    ends = range(end, start + 12, -1)
    return next((at for at in ends if text[at - 1].isalnum() and is_valid(text[start:at])), start)


_CHECKS: Mapping[str, Callable[[str], bool]] = {"IBAN": _is_iban, "CARD": _is_card}


def _any_of(values: Sequence[str]) -> str:
    """Returns a pattern for the values in any case and with any white space, in both spellings of accents."""
    spellings = {normalize(form, value) for value in values for form in ("NFC", "NFD")}
    words = ("\\s+".join(map(re.escape, each.split())) for each in sorted(spellings, key=len, reverse=True))
    return rf"(?i:(?<!\w)(?:{'|'.join(words)})(?!\w))" if values else "(?!)"


def _parts(names: Sequence[str]) -> str:
    """Returns a pattern for single words of the names as they are written, or in capitals: some are words as well."""
    parts = {part for name in names for part in name.split() if len(part) > 2}
    words = sorted({each for part in parts for each in (part, part.upper())}, key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)" if words else "(?!)"


def _alternatives(patterns: Mapping[str, str]) -> str:
    return f"(?:{'|'.join(f'(?P<{name}>{pattern})' for name, pattern in patterns.items())})"


class Veil:
    """Finds what is private in a text and has one placeholder for each value; numbers, once given, stay."""

    def __init__(self, rules: VeilRules) -> None:
        listed = {"PERSON2": _any_of(rules.names), "TERM2": _any_of(rules.terms), "PERSON3": _parts(rules.names)}
        # Most places are amid a word, where nothing begins; of the others, most begin no number.
        of_words, of_numbers = (_alternatives({**listed, **_RULES}), _alternatives(_NUMBERS))
        self._pattern = re.compile(rf"(?<!\w)(?:{of_words}|(?=[\d+(]){of_numbers}|(?=[a-zA-ZÀ-ž]){_CUED})")
        self._placeholders: dict[tuple[str, str], str] = {}
        self._given = dict.fromkeys(KINDS, 0)
        self._spans = lru_cache(KNOWN_TEXTS)(lambda text: tuple(self._find(text)))

    def cover(self, text: str, sent: dict[str, str]) -> str:
        """Returns the text with placeholders, and notes in `sent` what each stands for."""
        seen = printable(text)
        spans = self._spans(seen)
        if not spans:
            return seen
        pieces: list[str] = []
        at = 0
        for start, end, kind in spans:
            sent[placeholder := self._placeholder(kind, seen[start:end])] = seen[start:end]
            pieces += (seen[at:start], placeholder)
            at = end
        return "".join((*pieces, seen[at:]))

    def _find(self, text: str) -> Iterator[tuple[int, int, str]]:
        at = 0
        while found := self._pattern.search(text, at):
            group = found.lastgroup or ""
            kind = group.rstrip("0123456789")
            start, end = found.span(group)
            if check := _CHECKS.get(kind):
                end = _checked_end(text, start, end, check)
            if end > start:
                yield start, end, kind
            at = max(end, start + 1)

    def _placeholder(self, kind: str, value: str) -> str:
        if not (known := self._placeholders.get((kind, value))):
            if len(self._placeholders) >= MOST_VALUES:
                self._placeholders.clear()
            self._given[kind] += 1
            known = self._placeholders[kind, value] = f"{kind}_{self._given[kind]}"
        return known


class VeiledClient(ClientWrapper):
    """`client`, a model elsewhere, which is sent placeholders for what `veil` finds; `name` is "provider/model"."""

    def __init__(self, client: ModelClient, name: str, rules: VeilRules) -> None:
        super().__init__(client)
        self._name = name
        self._veil = Veil(rules)
        self._sends_files = rules.sends_files

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if files := sum(map(_count_files, request.messages)):
            await self._report_files(files, emit)
        sent: dict[str, str] = {}
        veiled = self._veiled_request(request, sent)
        if sent and veiled.messages:
            await emit(Veiled(self._name, veiled.messages[-1].text, len(sent)))
        stream = _Restorer(sent, emit, in_json=request.output_schema is not None)
        response = await self.client.complete(veiled, ignore if emit is ignore else stream)
        await stream.end()
        message, *steps = map(stream.message, (response.message, *response.steps))
        if stream.invented:
            words = f"{self._name} wrote {', '.join(sorted(stream.invented))}, which stands for nothing it was sent"
            await emit(Warned(f"{words}; it stays as it is."))
        return replace(response, message=message, steps=tuple(steps))

    async def _report_files(self, files: int, emit: Emit) -> None:
        what = f"{files} picture{'s' * (files > 1)} or document{'s' * (files > 1)}"
        if not self._sends_files:
            raise ProviderError(
                f"{self._name}: {what} can't be veiled, and nothing was sent. Leave them out, show them to a model on "
                "this machine, or write 'veil: {files: send}'."
            )
        await emit(Warned(f"{self._name} is sent {what} as they are: files can't be veiled.", "veil"))

    def _veiled_request(self, request: ModelRequest, sent: dict[str, str]) -> ModelRequest:
        def cover(value: Any) -> Any:
            return each_text(value, lambda text: self._veil.cover(text, sent), but=STRUCTURE)

        # Made anew in any case: the body as a client sent it may hold more than these fields.
        return replace(
            request,
            system=cover(request.system),
            messages=tuple(_each_part(message, cover) for message in request.messages),
            tools=cover(request.tools),
            tool_choice=cover(request.tool_choice),
            output_schema=cover(request.output_schema),
            options=cover(request.options),
            extra=cover(request.extra),
        )


def _each_part(message: Message, change: Callable[[Any], Any]) -> Message:
    """Signed thoughts stay as they are: their provider wrote them, and wants them back to the letter."""
    parts = tuple(part if isinstance(part, Thinking) and part.signature else change(part) for part in message.parts)
    speaker, extra = change(message.speaker), change(message.extra)
    if speaker is message.speaker and extra is message.extra and all(map(is_, parts, message.parts)):
        return message
    return replace(message, parts=parts, speaker=speaker, extra=extra)


def _count_files(message: Message) -> int:
    shown: list[Part] = [*message.parts]
    shown += (each for part in message.parts if isinstance(part, ToolResult) for each in part.parts)
    return sum(isinstance(each, Image | Document) for each in shown)


class _Restorer:
    """Puts back what placeholders stand for, also where one comes in several pieces.

    `sent` are those of one request: any other one is `invented`, and never stands for what somebody else has said.
    """

    def __init__(self, sent: Mapping[str, str], emit: Emit, *, in_json: bool) -> None:
        self._sent = sent
        self._emit = emit
        self._in_json = in_json
        self._held: dict[tuple[type[Piece], int], str] = {}
        self.invented: set[str] = set()

    async def __call__(self, event: Event) -> None:
        if isinstance(event, Piece):
            await self._pass_on(event)
            return
        if isinstance(event, AttemptFailed):
            self._held.clear()
        await self._emit(event)

    async def end(self) -> None:
        for (kind, index), rest in self._held.items():
            if issubclass(kind, ToolCallDelta):
                await self._emit(ToolCallDelta(index, arguments=self._with_values(rest, in_json=True)))
            else:
                await self._emit(kind(self._with_values(rest, in_json=self._in_json)))
        self._held.clear()

    async def _pass_on(self, piece: Piece) -> None:
        name, key = "text", (type(piece), getattr(piece, "index", 0))
        if isinstance(piece, ToolCallDelta):
            name = "arguments"
        text = self._held.pop(key, "") + getattr(piece, name)
        begun = _BEGUN.search(text)
        if begun and any(kind.startswith(begun[1].upper()) for kind in KINDS):
            text, self._held[key] = text[: begun.start()], begun[0]
        said = self._with_values(text, in_json=name == "arguments" or self._in_json)
        if said or not isinstance(piece, TextDelta | DraftDelta):
            await self._emit(replace(piece, **{name: said}))  # type: ignore[arg-type]

    def message(self, message: Message) -> Message:
        """Returns a message of the answer with what its placeholders stand for."""
        return _each_part(message, self._value)

    def _value(self, value: Any) -> Any:
        in_json = self._in_json and not isinstance(value, ToolCall)
        return each_text(value, lambda text: self._with_values(text, in_json=in_json), but=STRUCTURE)

    def _with_values(self, text: str, *, in_json: bool) -> str:
        def value(found: re.Match[str]) -> str:
            name = found[0].replace("\\", "").upper()
            if name not in self._sent:
                self.invented.add(found[0])
                return found[0]
            return json.dumps(self._sent[name], ensure_ascii=False)[1:-1] if in_json else self._sent[name]

        return _PLACEHOLDER.sub(value, text)
