"""Finds a model's prices and context window in the YAML, or else in genai-prices, without a network."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec

from ..core.errors import ConfigError
from ..core.exchange import DOLLAR_DIGITS, ModelRequest, Usage
from ..core.files import cache_directory, make_private, write_private
from ._endpoints import provider_traits
from ._names import ModelName, catalogue, is_local

HOUR_SURCHARGE = 0.6
"""The surcharge for caching an hour instead of five minutes: Anthropic charges 2 and 1.25 times the input price."""


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """A price in dollars per million tokens. `above` has the prices of requests with more input tokens than a bound.

    A price `stated` in a file overrides the cost that a provider reports.
    """

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None
    cache_write: float | None = None
    above: tuple[tuple[int, "TokenPrice"], ...] = ()
    stated: bool = field(default=False, compare=False)

    def cost(self, usage: Usage) -> float:
        """Returns the cost in dollars. Cached tokens without their own price cost as much as input."""
        rate = self._rates_for(usage.input_tokens)
        cached = usage.cache_read_tokens + usage.cache_write_tokens
        write = rate.input if rate.cache_write is None else rate.cache_write
        millionths = (
            max(usage.input_tokens - cached, 0) * rate.input
            + usage.cache_read_tokens * (rate.input if rate.cache_read is None else rate.cache_read)
            + (usage.cache_write_tokens + HOUR_SURCHARGE * usage.cache_hour_tokens) * write
            + usage.output_tokens * rate.output
        )
        return round(millionths / 1_000_000, DOLLAR_DIGITS)

    def highest_rates(self, input_tokens: int) -> tuple[float, float]:
        """Returns the highest dollars per input token and per output token, in a request with `input_tokens`."""
        rate = self._rates_for(input_tokens)
        return max(rate.input, rate.cache_write or 0.0, rate.cache_read or 0.0) / 1e6, rate.output / 1e6

    def _rates_for(self, input_tokens: int) -> "TokenPrice":
        return next((price for bound, price in reversed(self.above) if input_tokens > bound), self)


FREE_PRICE = TokenPrice()


def price(name: ModelName, overrides: Mapping[str, Any] | None = None, base_url: str = "") -> TokenPrice | None:
    """Returns the price of a model, or None if unknown; models on the user's own machines are free.

    `overrides` is the `prices:` section: `{MODEL TYPE: {input, output, cache_read, cache_write}}`.
    """
    if (stated := _stated_value(name, overrides or {})) is not None:
        return TokenPrice(**{rate: dollars for rate, dollars in stated.items() if dollars is not None}, stated=True)
    traits = provider_traits(name.provider)
    if traits.price_list:
        return _listed_price(traits.price_list, name.model)
    if is_local(name.provider, name.model, "" if traits.free else base_url):
        return FREE_PRICE
    return _listed_price("", name.model, base_url) if base_url else None


def context_window(name: ModelName, overrides: Mapping[str, int] | None = None, base_url: str = "") -> int | None:
    """Returns the context window in tokens, or None if unknown; `overrides` is the `context_windows:` section."""
    if (stated := _stated_value(name, overrides or {})) is not None:
        return int(stated)
    vendor = provider_traits(name.provider).price_list
    if not (vendor or base_url):
        return None
    entry = look_up(vendor, name.model, "" if vendor else base_url)
    return entry.context_window if entry else None


def most_output(name: ModelName, find_window: Callable[[], int | None], request: ModelRequest) -> int | None:
    """Returns the maximum tokens of an answer: the request's, else the model's, else its window; None if unknown."""
    limits, plain = catalogue().output_limits, str(name).lower()
    limit = next((most for pattern, most in limits.items() if fnmatchcase(plain, pattern)), None)
    return request.options.get("max_tokens") or limit or find_window()


def _stated_value(name: ModelName, table: Mapping[str, Any]) -> Any:
    spellings = (name.spelled, str(name), f"{name.provider}:{name.model}", name.model)
    return next((table[spelling] for spelling in spellings if spelling in table), None)


def _listed_price(vendor: str, model: str, base_url: str = "") -> TokenPrice | None:
    entry = look_up(vendor, model, base_url)
    return entry.price if entry else None


_PACKAGE = "genai-prices"


class ListEntry(NamedTuple):
    """A model in the list."""

    price: TokenPrice | None
    context_window: int | None


@cache
def look_up(vendor: str, model: str, base_url: str = "") -> ListEntry | None:
    """Returns a model's entry in the list, or None.

    It is cached on disk between starts, since loading the list takes half as long as a whole start.
    """
    key = hashlib.sha256(repr((vendor, model, base_url)).encode()).hexdigest()
    known = _remembered_prices()
    if key in known:
        return known[key]
    found = _find_price(vendor, model, base_url)
    entry = found and ListEntry(_price_in(found), found.context_window)
    if not isinstance(getattr(found, "prices", None), list):  # else the price depends on the time of day
        _remember(key, entry)
    return entry


def _find_price(vendor: str, model: str, base_url: str) -> Any:
    snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    try:
        return snapshot.find_provider_model(model, None, vendor or None, base_url or None)[1]
    except LookupError:
        return None


def _price_in(found: Any) -> TokenPrice | None:
    listed = found.get_prices(datetime.now(UTC))
    if listed.input_mtok is None and listed.output_mtok is None:
        return None
    values = (listed.input_mtok, listed.output_mtok, listed.cache_read_mtok, listed.cache_write_mtok)
    bounds = sorted({tier.start for value in values for tier in getattr(value, "tiers", ())})
    usual, *above = (_price_of([_rate(value, bound + 1 if bound else 0) for value in values]) for bound in (0, *bounds))
    return replace(usual, above=tuple(zip(bounds, above, strict=True)))


def _price_of(rates: Sequence[float | None]) -> TokenPrice:
    input_, output, read, write = rates
    return TokenPrice(input_ or 0.0, output or 0.0, read, write)


def _rate(value: Any, input_tokens: int) -> float | None:
    if value is None:
        return None
    for tier in reversed(getattr(value, "tiers", ())):
        if input_tokens > tier.start:
            return float(tier.price)
    return float(getattr(value, "base", value))


@dataclass(frozen=True, slots=True)
class _Remembered:
    """The file of cached entries, which belong to one version of the list."""

    version: str
    models: Mapping[str, ListEntry | None]


def _remembered_prices() -> Mapping[str, ListEntry | None]:
    """Returns the cached entries for this version of the list, none if the file is missing or damaged."""
    try:
        written = msgspec.json.decode((cache_directory() / "prices.json").read_bytes(), type=_Remembered)
    except (OSError, ValueError, ConfigError):
        return {}
    return written.models if written.version == version(_PACKAGE) else {}


def _remember(key: str, entry: ListEntry | None) -> None:
    """Adds an entry to the cache. Ignores errors, as without the cache the next start only loads the list again."""
    document = _Remembered(version(_PACKAGE), {**_remembered_prices(), key: entry})
    with suppress(OSError, ConfigError):
        make_private(cache_directory())
        write_private(cache_directory() / "prices.json", [msgspec.json.encode(document).decode()])
