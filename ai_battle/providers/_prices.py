"""What a model's tokens cost and how many it can hold: from the YAML, else from genai-prices, without a network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, Usage
from ..core.plugins import near
from ._endpoints import provider_traits
from ._names import ModelName, is_local
from ._price_list import look_up

_RATES = ("input", "output", "cache_read", "cache_write")

OUTPUT_LIMITS: tuple[tuple[str, int], ...] = (
    ("*gpt-3.5*", 4_096),
    ("*gpt-4o*", 16_384),
    ("*gpt-4.1*", 32_768),
    ("*gpt-4.5*", 16_384),
    ("*gpt-4*", 4_096),
    ("*gpt-5*", 128_000),
    ("openai/o1-preview*", 32_768),
    ("openai/o1-mini*", 65_536),
    ("openai/o[0-9]*", 100_000),
    ("*claude-3-5-*", 8_192),
    ("*claude-3-7-*", 64_000),
    ("*claude-3-*", 4_096),
    ("*claude-opus-4-[01]*", 32_000),
    ("*claude-*-4*", 64_000),
    ("*gemini-1.5*", 8_192),
    ("*gemini-2.0*", 8_192),
    ("*gemini-*", 65_536),
)
"""The longest answer of a model in tokens, its reasoning included."""


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """Dollars per million tokens; `above` are the prices of requests with more input tokens than a bound.

    One that is `stated` in a file goes before what a provider says that an answer cost.
    """

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None
    cache_write: float | None = None
    above: tuple[tuple[int, "TokenPrice"], ...] = ()
    stated: bool = field(default=False, compare=False)

    def cost(self, usage: Usage) -> float:
        """Cached tokens without a price of their own cost what input costs."""
        rate = self._for(usage.input_tokens)
        cached = usage.cache_read_tokens + usage.cache_write_tokens
        millionths = (
            max(usage.input_tokens - cached, 0) * rate.input
            + usage.cache_read_tokens * (rate.input if rate.cache_read is None else rate.cache_read)
            + usage.cache_write_tokens * (rate.input if rate.cache_write is None else rate.cache_write)
            + usage.output_tokens * rate.output
        )
        return millionths / 1_000_000

    def highest_rates(self, input_tokens: int) -> tuple[float, float]:
        """Dollars for a token read and for one written, at the most, in a request of so many tokens."""
        rate = self._for(input_tokens)
        return max(rate.input, rate.cache_write or 0.0, rate.cache_read or 0.0) / 1e6, rate.output / 1e6

    def _for(self, input_tokens: int) -> "TokenPrice":
        return next((price for bound, price in reversed(self.above) if input_tokens > bound), self)


FREE = TokenPrice()


def price(name: ModelName, overrides: Mapping[str, Any] | None = None, base_url: str = "") -> TokenPrice | None:
    """The price of a model, None where nobody knows it; what runs on one's own machines is free.

    `overrides` is the `prices:` section: `{MODEL TYPE: {input, output, cache_read, cache_write}}`.
    """
    if (stated := _stated_value(name, overrides or {})) is not None:
        return _price_of(stated, name)
    traits = provider_traits(name.provider)
    if traits.price_list:
        return _listed_price(traits.price_list, name.model)
    if is_local(name.provider, name.model, "" if traits.free else base_url):
        return FREE
    return _listed_price("", name.model, base_url) if base_url else None


def context_window(name: ModelName, overrides: Mapping[str, int] | None = None, base_url: str = "") -> int | None:
    """How many tokens the model can read and write at once; `overrides` is the `context_windows:` section."""
    if (stated := _stated_value(name, overrides or {})) is not None:
        return int(stated)
    vendor = provider_traits(name.provider).price_list
    if not (vendor or base_url):
        return None
    entry = look_up(vendor, name.model, "" if vendor else base_url)
    return entry.context_window if entry else None


def most_output(name: ModelName, find_window: Callable[[], int | None], request: ModelRequest) -> int | None:
    """How many tokens an answer to a request can have: what it asks for, else what the model can.

    None where nobody knows.
    """
    return request.options.get("max_tokens") or output_limit(name) or find_window()


def output_limit(name: ModelName) -> int | None:
    """The longest answer that a well-known model can give, in tokens."""
    return next((most for pattern, most in OUTPUT_LIMITS if fnmatchcase(str(name).lower(), pattern)), None)


def _stated_value(name: ModelName, table: Mapping[str, Any]) -> Any:
    spellings = (name.spelled, str(name), f"{name.provider}:{name.model}", name.model)
    return next((table[spelling] for spelling in spellings if spelling in table), None)


def _price_of(stated: Any, name: ModelName) -> TokenPrice:
    if not isinstance(stated, Mapping):
        raise ConfigError(f"prices: {name}: {stated!r} is no price; write {{input: 1.0, output: 2.0}} (per million).")
    given = {key: value for key, value in stated.items() if value is not None}
    for key, value in given.items():
        if key not in _RATES:
            raise ConfigError(f"prices: {name}: unknown key {key!r}{near(str(key), list(_RATES))}")
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise ConfigError(f"prices: {name}: {key} is {value!r}; write dollars per million tokens.")
    return TokenPrice(**given, stated=True)


def _listed_price(vendor: str, model: str, base_url: str = "") -> TokenPrice | None:
    if not (entry := look_up(vendor, model, base_url)) or not entry.rates:
        return None
    usual, *above = (
        (bound, TokenPrice(input_ or 0.0, output or 0.0, read, write))
        for bound, (input_, output, read, write) in entry.rates
    )
    return replace(usual[1], above=tuple(above))
