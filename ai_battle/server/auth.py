"""Who may ask: those that present a key; without keys, only programs of this machine."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from ..config.server import ServeKey
from .refusing import Denied

BEARER = "bearer "
NO_KEY = "No key was presented: send it as x-api-key, or as Authorization: Bearer."
WRONG_KEY = "The key is not known here."


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a key belongs to, and what may be done with it: dollars, requests at once, requests a minute.

    Holders of one name share all of it.
    """

    name: str = ""
    budget: float | None = None
    concurrent: int | None = None
    per_minute: int | None = None
    is_one_of_several: bool = False


ANYBODY = Holder()


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys that are good; without any, everybody on this machine may ask."""

    holders: Mapping[bytes, Holder] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, keys: Iterable[ServeKey]) -> "Keys":
        keys = tuple(keys)
        several = len({key.name or key.key for key in keys}) > 1
        return cls({key.key.encode(): _holder(key, several) for key in keys})

    def __bool__(self) -> bool:
        return bool(self.holders)

    def holder(self, headers: Mapping[str, str]) -> Holder:
        """Who asks; raises `Denied`."""
        if not self.holders:
            _check_is_local(headers)
            return ANYBODY
        presented = [each for each in (headers.get("x-api-key", ""), _bearer(headers)) if each]
        if not presented:
            raise Denied(401, NO_KEY)
        found = [holder for each in presented for holder in self._fitting(each)]
        if not found:
            raise Denied(401, WRONG_KEY)
        return found[0]

    def _fitting(self, presented: str) -> list[Holder]:
        """Compared with every key, each in constant time."""
        said = presented.encode("utf-8", "surrogateescape")
        return [holder for key, holder in self.holders.items() if compare_digest(key, said)]


def _holder(key: ServeKey, several: bool) -> Holder:
    return Holder(key.name or _nickname(key.key), key.budget_usd, key.concurrent, key.per_minute, several)


def is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _nickname(key: str) -> str:
    """Tells keys without a name apart in the log, and nothing about them."""
    return f"key-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _bearer(headers: Mapping[str, str]) -> str:
    stated = headers.get("authorization", "")
    return stated[len(BEARER) :].strip() if stated[: len(BEARER)].lower() == BEARER else ""


def _check_is_local(headers: Mapping[str, str]) -> None:
    """A web page can make a browser ask us: by a name of its own that leads here, or from its own origin."""
    host = headers.get("host", "")
    if not _leads_here(f"//{host}"):
        raise Denied(403, f"Without keys only this machine may ask, by its own name, not by {host[:100]!r}.")
    origin = headers.get("origin")
    if origin is not None and _is_web(origin) and not _leads_here(origin):
        raise Denied(403, f"Without keys, pages of {origin[:100]!r} may not ask.")


@lru_cache
def _leads_here(address: str) -> bool:
    with suppress(ValueError):
        return is_loopback(urlsplit(address).hostname or "")
    return False


def _is_web(origin: str) -> bool:
    """Desktop programs have origins with schemes of their own."""
    return origin == "null" or origin.lower().startswith(("http:", "https:"))
