"""How providers say that they take no tools."""

import re
from typing import Any

from pydantic_core import from_json

from ...core.errors import ContextTooLong, ProviderError, RateLimited

_STATUSES = (400, 404, 405, 422, 500, 501)
_NO_TOOLS = re.compile(
    r"\b(?:does|do|is|are)(?: not|n['\u2019]?t) support(?:ed)?\b.{0,60}?\b(?:tools?\b|function.calling)"
    r"|\btools?\b(?! type).{0,30}\b(?:(?:is|are) )?(?:not supported|unsupported|not enabled|not available)"
    r"|no endpoints found that support (?:tool use|the provided '?tool)"
    r"|function calling is not (?:enabled|supported)"
    r"|unsupported (?:parameter|value|field)\S*\s+\S?(?:tools|functions)\b"
    r"|tool choice requires --enable-auto-tool-choice"
    r"|tools? param(?:eter)? requires --jinja"
    r"|unrecogni[sz]ed request argument supplied: (?:tools|functions)\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_BLOCKS = re.compile(
    r"(?:tool_?config|tools\W{0,3}(?:param\S* )?).{0,60}must be (?:defined|provided|set|passed)"
    r"|must (?:define|provide|include) (?:the )?\W?tools"
    r"|tools\W{0,3}(?:param\S* )?(?:is|are) required",
    re.IGNORECASE | re.DOTALL,
)


def refuses_tools(error: ProviderError) -> bool:
    """The model, or whoever serves it, has no tools at all; not that something is wrong with the ones it was given."""
    return _may_be(error) and _NO_TOOLS.search(f"{error}\n{error.raw}") is not None


def refuses_blocks(error: ProviderError) -> bool:
    """Calls and results of earlier turns are not taken in a request that offers no tools."""
    return _may_be(error) and _NO_BLOCKS.search(f"{error}\n{error.raw}") is not None


def failed_generation(error: ProviderError) -> str:
    """The text of an answer that the provider could not read as a call, where it hands it over."""
    try:
        body: Any = from_json(error.raw)
    except ValueError:
        return ""
    inner = body.get("error") if isinstance(body, dict) else None
    said = inner.get("failed_generation") if isinstance(inner, dict) else None
    return said if isinstance(said, str) else ""


def _may_be(error: ProviderError) -> bool:
    return error.status in _STATUSES and not isinstance(error, ContextTooLong | RateLimited)
