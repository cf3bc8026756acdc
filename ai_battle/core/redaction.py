"""What may not leave the process as it is: known secrets in any plain encoding, and characters that steer or hide."""

import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import compress, count, repeat
from operator import attrgetter, contains, is_, not_
from typing import TypeAlias, TypeVar
from urllib.parse import quote, quote_plus

from .errors import AIBattleError
from .exchange import ModelRequest, ToolSpec
from .messages import Message, Thinking, ToolCall
from .texts import JOINERS, TextWalker, each_text, one_of, printable

SHORTEST = 4
HEAD = 3
KNOWN_PIECES = 4096
KNOWN_TEXTS = 50_000
SHORTEST_ENCODED = 6
"""A shorter piece of base64 or of hexadecimal digits stands in many texts by chance."""

STRUCTURE = frozenset(
    {"v", "seq", "time", "type", "role", "kind", "status", "stop", "policy", "how", "digest", "asked", "signature"}
)
"""What stands under these keys is written by this package or by an API, and has a meaning."""

KEYS = re.compile(
    r"(?<![0-9A-Za-z_])(?:(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi)[-_][\w*.-]{6,}|AIza[\w-]{10,})|(?<=Bearer )\S+"
    r"|(?<=[?&]key=)[^&\s\"']+|(?i:(?<=api key provided: )|(?<=api key: )|(?<=x-api-key: ))\S+?(?=[.,]?(?:\s|$))"
)

T = TypeVar("T")
S = TypeVar("S", Message, ToolSpec)
Messages: TypeAlias = tuple[Message, ...]
_numbers = count(1)
_ENCODED = attrgetter("encoded")


def without_keys(text: str) -> str:
    """The text without what looks like a key, whoever's it is."""
    return KEYS.sub("***", text)


class Redactor:
    """Replaces secrets by `${NAME}`, however they are encoded; `secrets` maps each value to its name.

    Values under four characters are no secrets, and masking them would garble every text. Those called `allowed` may
    be sent to models, and are shown nowhere. A `verbatim` one changes nothing but secrets: what a server passes on is
    its clients' own, line ends and marks of direction included.
    """

    def __init__(
        self, secrets: Mapping[str, str], allowed: frozenset[str] = frozenset(), *, verbatim: bool = False
    ) -> None:
        self._visible: Callable[[str], str] = str if verbatim else printable
        self._verbatim = verbatim
        self.secrets = {value: name for value, name in secrets.items() if len(value) >= SHORTEST}
        self.allowed = allowed
        self._names = {each: f"${{{name}}}" for value, name in self.secrets.items() for each in _spellings(value)}
        self._names |= {value: f"${{{name}}}" for value, name in self.secrets.items()}
        self._spellings = tuple(self._names)
        self._seal = f"redaction {next(_numbers)}"
        self._clear: set[int] = set()
        self._clear_pieces: set[int] = set()
        self._walker = TextWalker(self.text, STRUCTURE, frozenset({ToolCall}))

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def __repr__(self) -> str:
        return f"<Redactor of {len(self.secrets)} secrets>"

    @cached_property
    def for_models(self) -> "Redactor":
        """For what models are sent: the same without those that are allowed."""
        hidden = {value: name for value, name in self.secrets.items() if name not in self.allowed}
        return Redactor(hidden, verbatim=self._verbatim) if len(hidden) < len(self.secrets) else self

    @property
    def verbatim(self) -> "Redactor":
        return Redactor(self.secrets, self.allowed, verbatim=True)

    def with_secrets(self, secrets: Mapping[str, str]) -> "Redactor":
        """The same for further secrets too."""
        return Redactor({**secrets, **self.secrets}, self.allowed, verbatim=self._verbatim)

    def names_in(self, text: str) -> tuple[str, ...]:
        """The names of the secrets that a text holds."""
        seen = printable(text)
        found = self._pattern.findall(seen) if self._may_hold_secret(seen) else ()
        return tuple(dict.fromkeys(self._names[each][2:-1] for each in found))

    def text(self, text: str) -> str:
        """The text as it may leave: what is not seen goes first, as it could stand within a secret.

        A text that has nothing to change is remembered by its hash: a talk is sent anew with each of its turns.
        """
        # A hash in place of the text, as texts may be large: 64 bits, seeded anew in each process, so that nobody can
        # write a text that passes for another one.
        key = hash(text)
        if key in self._clear:
            return text
        clean = self.mask(self._visible(text))
        if clean is text:
            if len(self._clear) >= KNOWN_TEXTS:
                self._clear.clear()
            self._clear.add(key)
        return clean

    def mask(self, text: str) -> str:
        """The text without secrets; nothing else in it is changed."""
        return self._pattern.sub(self._name, text) if self._may_hold_secret(text) else text

    def _may_hold_secret(self, text: str) -> bool:
        """Far quicker than the pattern, which most runs never need to make."""
        return any(map(text.__contains__, self._spellings))

    def line(self, data: bytes) -> bytes:
        """The same JSON, without the secrets in its texts."""
        if any(map(data.__contains__, self._in_json)):
            return json.dumps(self.document(json.loads(data)), ensure_ascii=False, separators=(",", ":")).encode(
                errors="replace"
            )
        return data

    def is_clear_json(self, data: bytes) -> bool:
        """Says whether no text in JSON can hold a secret; false where escapes may hide one from a look at the bytes.

        Of ordinary texts escapes hide nothing but line ends, quotes and other alphabets.
        """
        # A talk comes again with each of its turns, so what was looked through is remembered by its hash, in pieces. A
        # piece ends within a text only at a quote of the text, which no secret has that is looked for here.
        return self._is_plain and all(map(self._is_clear_piece, data.split(b'"role"')))

    def _is_clear_piece(self, piece: bytes) -> bool:
        key = hash(piece)
        if key in self._clear_pieces:
            return True
        # Such an escape may spell a letter of a secret, and a secret with a slash has two spellings in JSON.
        if b"\\u00" in piece or b"\\/" in piece or any(map(piece.__contains__, self._in_json)):
            return False
        if len(self._clear_pieces) >= KNOWN_TEXTS:
            self._clear_pieces.clear()
        self._clear_pieces.add(key)
        return True

    def document(self, value: T) -> T:
        """The same JSON value, without the secrets in its texts."""
        made: T = each_text(value, self.mask, but=STRUCTURE)
        return made

    def value(self, value: T) -> T:
        """The same event or value as it may leave; the very same where there is nothing to change."""
        made: T = self._walker.walk(value)
        return made

    def request(self, request: ModelRequest, clean: Callable[[Messages], Messages]) -> ModelRequest:
        """The request as it may be sent, its messages made so by `clean`; the very same where nothing is to change."""
        sent = self.for_models
        if self._verbatim and (not sent or (request.raw and sent.is_clear_json(request.raw.data))):
            return request
        system, messages = sent.text(request.system), clean(request.messages)
        tools, schema = sent._clean_once(request.tools, sent.value), sent.value(request.output_schema)
        given = (request.system, request.messages, request.tools, request.output_schema)
        if all(map(is_, (system, messages, tools, schema), given)):
            return request
        return replace(request, system=system, messages=messages, tools=tools, output_schema=schema)

    def messages(self, messages: Messages) -> Messages:
        """The very same where there is nothing to change."""
        return self._clean_once(messages, self._message)

    def _message(self, message: Message) -> Message:
        """A signature holds for the very words of a thought; they go back to no one but its own provider."""
        parts = [
            part if isinstance(part, Thinking) and part.signature else self._walker.walk(part) for part in message.parts
        ]
        return message if all(map(is_, parts, message.parts)) else replace(message, parts=tuple(parts))

    def _clean_once(self, values: tuple[S, ...], clean: Callable[[S], S]) -> tuple[S, ...]:
        """Each keeps a note that it was looked at: messages and tools are sent many times."""
        if not values:
            return values
        seen = map(contains, map(_ENCODED, values), repeat(self._seal))  # all but the last, as a rule: a talk grows
        new: dict[int, S] = {}
        for place in compress(count(), map(not_, seen)):
            new[place] = clean(values[place])
            new[place].encoded[self._seal] = b""
        if all(map(is_, new.values(), map(values.__getitem__, new))):
            return values
        return tuple(new.get(place, value) for place, value in enumerate(values))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Redacts errors that may repeat a secret."""
        try:
            yield
        except AIBattleError as error:
            self.clean(error)
            raise

    def clean(self, error: AIBattleError) -> None:
        """Takes the secrets out of what an error says; the details of a provider's are among them."""
        error.args = self.value(error.args)
        for name in ("partial", "raw"):
            if isinstance(text := getattr(error, name, None), str):
                setattr(error, name, self.text(text))

    @cached_property
    def is_clear(self) -> Callable[[str], bool]:
        """Whether a piece of a stream holds no secret and begins none; the pieces are words, and come again."""
        return lru_cache(KNOWN_PIECES)(lambda text: self._visible(text) is text and not self._beginning.search(text))

    def split_safe(self, text: str) -> tuple[str, str]:
        """Returns the beginning of a text that may leave, whatever follows, and the rest, which may begin a secret."""
        open_at = len(text) - (not self._verbatim and text[-1:] in f"\r{JOINERS}")  # what follows says what it is
        text, kept = self._visible(text[:open_at]), text[open_at:]
        pieces: list[str] = []
        at = 0
        while found := self._beginning.search(text, at):
            start = found.start()
            if len(text) - start < self._longest and self._goes_on(text[start:]):
                return "".join((*pieces, text[at:start])), text[start:] + kept
            secret = self._pattern.match(text, start)
            pieces += (text[at:start], self._name(secret) if secret else text[start])
            at = secret.end() if secret else start + 1
        return "".join((*pieces, text[at:])), kept

    def _goes_on(self, begun: str) -> bool:
        """Says whether a longer spelling begins so."""
        after = bisect_right(self._in_order, begun)
        return after < len(self._in_order) and self._in_order[after].startswith(begun)

    def _name(self, found: re.Match[str]) -> str:
        return self._names[found[0]]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(one_of(self._spellings))

    @cached_property
    def _beginning(self) -> re.Pattern[str]:
        """The first letters of any spelling, or as many of them as stand at the end of a text."""
        heads = (one_of(tuple({each[:length] for each in self._spellings})) for length in (HEAD, 2, 1))
        return re.compile("{}|(?:{}|{})\\Z".format(*heads))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether JSON spells the secrets letter by letter."""
        return all(secret.isascii() and secret.isprintable() and '"' not in secret for secret in self.secrets)

    @cached_property
    def _in_json(self) -> tuple[bytes, ...]:
        return tuple({json.dumps(each, ensure_ascii=False)[1:-1].encode(errors="replace") for each in self._spellings})

    @cached_property
    def _in_order(self) -> list[str]:
        return sorted(self._spellings)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._spellings), default=1)


NO_SECRETS = Redactor({})


@lru_cache(maxsize=256)
def _spellings(secret: str) -> tuple[str, ...]:
    """Returns the spellings of a secret, made once although every provider, run and server has its own redactor."""
    return tuple(_each_spelling(secret))


def _each_spelling(secret: str) -> Iterator[str]:
    """The secret as it stands in JSON, in a URL, in hexadecimal digits and within base64."""
    data = secret.encode("utf-8", "surrogatepass")
    for ascii_ in (True, False):
        inside = json.dumps(secret, ensure_ascii=ascii_)[1:-1]
        yield from (inside, json.dumps(inside)[1:-1], inside.replace("/", "\\/"))
    percent = "".join(f"%{byte:02X}" for byte in data)
    for url in (quote(data), quote(data, safe=""), quote_plus(data), percent):
        yield from (url, re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), url))
    encoded = {data.hex(), data.hex().upper(), *_in_base64(data)}
    yield from (each for each in encoded if len(each) >= SHORTEST_ENCODED)


def _in_base64(data: bytes) -> Iterator[str]:
    """The digits that stand for nothing but the secret, wherever in the encoded data it begins."""
    for before in range(3):
        digits = b64encode(bytes(before) + data).decode().rstrip("=")
        end = len(digits) if (before + len(data)) % 3 == 0 else len(digits) - 1
        inside = digits[(0, 2, 3)[before] : end]
        yield from (inside, inside.replace("+", "-").replace("/", "_"))
