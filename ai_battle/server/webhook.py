"""Reports an event to an address of the operator's. Nothing of a request is sent there."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from ..core.errors import ConfigError
from ..providers._names import is_loopback

TIMEOUT = aiohttp.ClientTimeout(total=10)


def require_webhook(url: str) -> None:
    """Raises `ConfigError` for an address that would send events unencrypted over the network."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if url and not (is_safe and parts.hostname):
        raise ConfigError("webhook must be an address with https, or with http on this machine", "shadow.watch")


async def post_event(url: str, event: Mapping[str, Any]) -> str:
    """Returns why the event was not accepted, without the address, which may hold a secret; empty on success."""
    try:
        # Without redirects, which could lead to an address that `require_webhook` refuses.
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.post(url, json=event, allow_redirects=False) as answer,
        ):
            return "" if answer.status < 300 else f"it answered {answer.status}"
    except (aiohttp.ClientError, OSError) as error:  # a timeout is an OSError too
        return type(error).__name__
