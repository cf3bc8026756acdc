"""When a provider may be asked again, as it says in headers, in fields or only in words."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

SPAN = r"\d+(?:\.\d+)?\s*(?:ms|milli|h|m|s)[a-z]*"  # 6s, 250ms, 1m12.5s, 26 seconds
TOLD = re.compile(rf"\b(?:try again|retry)\s+(?:in|after)\s+((?:{SPAN}\s*)+)", re.IGNORECASE)
PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)[a-z]*?(?=[\d\s]|$)", re.IGNORECASE)
SECONDS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def in_headers(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (lower-case names); None when that says nothing usable."""
    if (milliseconds := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    left = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
    return left if left > 0 else None


def in_details(details: Any) -> float | None:
    """Google says `"details": [{"@type": ".../google.rpc.RetryInfo", "retryDelay": "36s"}]`."""
    entries = details if isinstance(details, list) else []
    given = (entry.get("retryDelay") for entry in entries if isinstance(entry, Mapping))
    return next((_seconds(str(delay).removesuffix("s")) for delay in given if delay), None)


def in_words(message: str) -> float | None:
    """OpenAI and Groq say "Please try again in 1m12.5s", Google "Please retry in 12.3s", Azure "after 26 seconds"."""
    told = TOLD.search(message)
    return _sum(PART.findall(told[1])) if told else None


def _sum(parts: Iterable[tuple[str, str]]) -> float:
    return sum(float(number) * SECONDS[unit.lower()] for number, unit in parts)


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
