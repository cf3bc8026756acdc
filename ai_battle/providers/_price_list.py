"""What genai-prices lists of a model, remembered between starts: to load the list takes as long as half of a start."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

from ..core.errors import ConfigError
from ..core.files import cache_directory, make_private, write_private

_PACKAGE = "genai-prices"
Rates = tuple[float | None, float | None, float | None, float | None]


class ListEntry(NamedTuple):
    """`rates` are dollars per million tokens (input, output, cache read, cache write), each for more input tokens."""

    rates: tuple[tuple[int, Rates], ...] = ()
    context_window: int | None = None


@cache
def look_up(vendor: str, model: str, base_url: str = "") -> ListEntry | None:
    """Return what is listed now; None for a model that is not in the list."""
    key = hashlib.sha256(repr((vendor, model, base_url)).encode()).hexdigest()
    known = _remembered_prices()
    if key in known:
        return known[key]
    found = _find_price(vendor, model, base_url)
    entry = found and ListEntry(tuple(_rates(found)), found.context_window)
    if not isinstance(getattr(found, "prices", None), list):  # else the price depends on the time of the day
        _remember(key, entry)
    return entry


def _find_price(vendor: str, model: str, base_url: str) -> Any:
    snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    try:
        return snapshot.find_provider_model(model, None, vendor or None, base_url or None)[1]
    except LookupError:
        return None


def _rates(found: Any) -> Iterator[tuple[int, Rates]]:
    listed = found.get_prices(datetime.now(UTC))
    if listed.input_mtok is None and listed.output_mtok is None:
        return
    values = (listed.input_mtok, listed.output_mtok, listed.cache_read_mtok, listed.cache_write_mtok)
    bounds = sorted({tier.start for value in values for tier in getattr(value, "tiers", ())})
    for bound in (0, *bounds):
        first, second, third, fourth = (_rate(value, bound + 1 if bound else 0) for value in values)
        yield bound, (first, second, third, fourth)


def _rate(value: Any, input_tokens: int) -> float | None:
    if value is None:
        return None
    for tier in reversed(getattr(value, "tiers", ())):
        if input_tokens > tier.start:
            return float(tier.price)
    return float(getattr(value, "base", value))


def _decode(written: Any) -> ListEntry | None:
    if written is None:
        return None
    rates, window = written
    return ListEntry(tuple((bound, tuple(values)) for bound, values in rates), window)


def _remembered_prices() -> dict[str, ListEntry | None]:
    """Return what was written for this version of the list; nothing where there is no such file, or a damaged one."""
    try:
        written = json.loads((cache_directory() / "prices.json").read_text(encoding="utf-8"))
        models = written["models"] if written["version"] == version(_PACKAGE) else {}
        return {key: _decode(entry) for key, entry in models.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ConfigError):
        return {}


def _remember(key: str, entry: ListEntry | None) -> None:
    """A cache that can't be written costs a look at the list at the next start, and nothing else."""
    document = {"version": version(_PACKAGE), "models": {**_remembered_prices(), key: entry}}
    try:
        make_private(cache_directory())
        write_private(cache_directory() / "prices.json", [json.dumps(document)])
    except (OSError, ConfigError):
        return
