"""Redacts known secrets in any plain encoding, and characters that steer a terminal or hide text."""

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

MIN_SECRET_LENGTH = 4
HEAD_LENGTH = 3
KNOWN_PIECES = 4096
KNOWN_TEXTS = 50_000
SHORTEST_ENCODED = 6
"""Shorter base64 or hexadecimal strings occur in many texts by chance."""

STRUCTURE = frozenset(
    {"v", "seq", "time", "type", "role", "kind", "status", "stop", "policy", "how", "digest", "asked", "signature"}
)
"""Values under these keys are written by this package or an API and have a meaning, so they are not redacted."""

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
    """Returns the text with everything masked that looks like an API key."""
    return KEYS.sub("***", text)


class Redactor:
    """Replaces secrets by `${NAME}` in any encoding; `secrets` maps each value to its name.

    Values of fewer than four characters are ignored: masking them would garble every text. Secrets named in `allowed`
    may be sent to models, but are not shown elsewhere. With `verbatim`, nothing but secrets is changed: what a server
    passes on belongs to its clients, line ends and direction marks included.
    """

    def __init__(
        self, secrets: Mapping[str, str], allowed: frozenset[str] = frozenset(), *, verbatim: bool = False
    ) -> None:
        self._visible: Callable[[str], str] = str if verbatim else printable
        self._verbatim = verbatim
        self.secrets = {value: name for value, name in secrets.items() if len(value) >= MIN_SECRET_LENGTH}
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
        """The redactor for requests to models, which may hold the allowed secrets."""
        hidden = {value: name for value, name in self.secrets.items() if name not in self.allowed}
        return Redactor(hidden, verbatim=self._verbatim) if len(hidden) < len(self.secrets) else self

    @property
    def verbatim(self) -> "Redactor":
        return Redactor(self.secrets, self.allowed, verbatim=True)

    def with_secrets(self, secrets: Mapping[str, str]) -> "Redactor":
        """Returns a redactor for further secrets too."""
        return Redactor({**secrets, **self.secrets}, self.allowed, verbatim=self._verbatim)

    def names_in(self, text: str) -> tuple[str, ...]:
        """Returns the names of the secrets that a text contains."""
        return tuple(dict.fromkeys(self._names[each][2:-1] for each in self._pattern.findall(printable(text))))

    def text(self, text: str) -> str:
        """Returns the text as it may leave. Invisible characters are removed first, since they could split a secret.

        A text with nothing to change is remembered by its hash, because a conversation is sent again in each turn.
        """
        # The hash stands for the text, as texts may be large. It has 64 bits and a new seed in each process, so that no
        # one can craft a text that passes for another.
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
        """Returns the text with its secrets masked and nothing else changed."""
        # Looking for each spelling is far faster than the pattern, which most runs never compile.
        may_hold_secret = any(map(text.__contains__, self._spellings))
        return self._pattern.sub(self._name, text) if may_hold_secret else text

    def line(self, data: bytes) -> bytes:
        """Returns the same JSON without the secrets in its texts."""
        if any(map(data.__contains__, self._in_json)):
            return json.dumps(self.document(json.loads(data)), ensure_ascii=False, separators=(",", ":")).encode(
                errors="replace"
            )
        return data

    def is_clear_json(self, data: bytes) -> bool:
        """Returns whether no text in JSON can hold a secret; false if escapes may hide one.

        In ordinary texts escapes hide only line ends, quotes and other alphabets.
        """
        # A conversation is sent again in each turn, so its pieces are remembered by hash. The split can't cut a secret:
        # inside a text it falls only on a quote of that text, and `_is_plain` excludes secrets with quotes.
        return self._is_plain and all(map(self._is_clear_piece, data.split(b'"role"')))

    def _is_clear_piece(self, piece: bytes) -> bool:
        key = hash(piece)
        if key in self._clear_pieces:
            return True
        # Such an escape may spell a letter of a secret, and a slash has two spellings in JSON.
        if b"\\u00" in piece or b"\\/" in piece or any(map(piece.__contains__, self._in_json)):
            return False
        if len(self._clear_pieces) >= KNOWN_TEXTS:
            self._clear_pieces.clear()
        self._clear_pieces.add(key)
        return True

    def document(self, value: T) -> T:
        """Returns the same JSON value without the secrets in its texts."""
        made: T = each_text(value, self.mask, but=STRUCTURE)
        return made

    def value(self, value: T) -> T:
        """Returns the event or value as it may leave; the same object if nothing changes."""
        made: T = self._walker.walk(value)
        return made

    def request(self, request: ModelRequest, clean: Callable[[Messages], Messages]) -> ModelRequest:
        """Returns the request as it may be sent, with messages cleaned by `clean`; the same object if unchanged."""
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
        """Returns the messages as they may leave; the same tuple if nothing changes."""
        return self._clean_once(messages, self._message)

    def _message(self, message: Message) -> Message:
        # A signature covers the exact words of a thought, which go back only to the provider that wrote them.
        parts = [
            part if isinstance(part, Thinking) and part.signature else self._walker.walk(part) for part in message.parts
        ]
        return message if all(map(is_, parts, message.parts)) else replace(message, parts=tuple(parts))

    def _clean_once(self, values: tuple[S, ...], clean: Callable[[S], S]) -> tuple[S, ...]:
        """Cleans each value once and marks it as seen, because messages and tools are sent many times."""
        if not values:
            return values
        seen = map(contains, map(_ENCODED, values), repeat(self._seal))  # usually all but the last one
        new: dict[int, S] = {}
        for place in compress(count(), map(not_, seen)):
            new[place] = clean(values[place])
            new[place].encoded[self._seal] = b""
        if all(map(is_, new.values(), map(values.__getitem__, new))):
            return values
        return tuple(new.get(place, value) for place, value in enumerate(values))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Redacts errors that are raised inside, as they may repeat a secret."""
        try:
            yield
        except AIBattleError as error:
            self.clean(error)
            raise

    def clean(self, error: AIBattleError) -> None:
        """Removes the secrets from an error's message, and from the details of a provider's."""
        error.args = self.value(error.args)
        for name in ("partial", "raw"):
            if isinstance(text := getattr(error, name, None), str):
                setattr(error, name, self.text(text))

    @cached_property
    def is_clear(self) -> Callable[[str], bool]:
        """Returns whether a piece of a stream holds no secret and begins none; pieces are words, so they are cached."""
        return lru_cache(KNOWN_PIECES)(lambda text: self._visible(text) is text and not self._beginning.search(text))

    def split_safe(self, text: str) -> tuple[str, str]:
        """Splits a text into what may leave, whatever follows, and the rest, which may begin a secret."""
        # What follows gives these characters their meaning.
        open_at = len(text) - (not self._verbatim and text[-1:] in f"\r{JOINERS}")
        text, kept = self._visible(text[:open_at]), text[open_at:]
        pieces: list[str] = []
        at = 0
        while found := self._beginning.search(text, at):
            start = found.start()
            if len(text) - start < self._longest and self._begins_spelling(text[start:]):
                return "".join((*pieces, text[at:start])), text[start:] + kept
            secret = self._pattern.match(text, start)
            pieces += (text[at:start], self._name(secret) if secret else text[start])
            at = secret.end() if secret else start + 1
        return "".join((*pieces, text[at:])), kept

    def _begins_spelling(self, begun: str) -> bool:
        """Returns whether a longer spelling starts with `begun`."""
        after = bisect_right(self._in_order, begun)
        return after < len(self._in_order) and self._in_order[after].startswith(begun)

    def _name(self, found: re.Match[str]) -> str:
        return self._names[found[0]]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(one_of(self._spellings))

    @cached_property
    def _beginning(self) -> re.Pattern[str]:
        """Matches the first letters of any spelling, or a part of them at the end of a text."""
        three, two, one = ({each[:length] for each in self._spellings} for length in (HEAD_LENGTH, 2, 1))
        return re.compile(rf"{one_of(three)}|(?:{one_of(two)}|{one_of(one)})\Z")

    @cached_property
    def _is_plain(self) -> bool:
        """Returns whether JSON spells the secrets letter by letter."""
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
    """Returns the spellings of a secret, cached because every provider, run and server has its own redactor."""
    return tuple(_each_spelling(secret))


def _each_spelling(secret: str) -> Iterator[str]:
    """Yields the secret as it is spelled in JSON, in a URL, in hexadecimal and inside base64."""
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
    """Yields the digits that encode nothing but the secret, for each of the three offsets at which it may begin."""
    for before in range(3):
        digits = b64encode(bytes(before) + data).decode().rstrip("=")
        end = len(digits) if (before + len(data)) % 3 == 0 else len(digits) - 1
        inside = digits[(0, 2, 3)[before] : end]
        yield from (inside, inside.replace("+", "-").replace("/", "_"))
