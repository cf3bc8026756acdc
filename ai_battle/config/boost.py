"""Reads the boost model from the environment variables `BOOST_*` and `ENABLE_BOOST_SUPPORT`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from urllib.parse import urlsplit

from ..core.errors import ConfigError
from ..core.plugins import near

TIERS = ("BIG_MODEL", "MIDDLE_MODEL", "SMALL_MODEL")
NONE = "NONE"
TIMEOUT = 60.0
_NEEDED = ("BOOST_BASE_URL", "BOOST_API_KEY", "BOOST_MODEL")


class BoostMissing(ConfigError):
    """Raised if some of the required variables are set and others are not."""


@dataclass(frozen=True, slots=True)
class BoostSettings:
    """The boost model, and the `tiers` of models that it plans for. `template` is a path, a text, or "".

    `timeout` is in seconds, for all attempts at one request.
    """

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    model: str
    tiers: tuple[str, ...] = ()
    template: str = ""
    timeout: float = TIMEOUT

    @property
    def pair(self) -> dict[str, object]:
        """The pair with this model, as a file would define it."""
        return {"strategy": "boost", "helper_timeout": self.timeout, "options": {"template": self.template}}

    def serves(self, tier: str) -> bool:
        return tier in self.tiers

    def __str__(self) -> str:
        return f"boost model {self.model} at {_address(self.base_url)}, for {', '.join(self.tiers) or NONE}"


def boost_settings(environment: Mapping[str, str]) -> BoostSettings | None:
    """Returns the settings, or None if no boost model is configured.

    Raises `ConfigError` for invalid variables, and `BoostMissing` for missing ones.
    """
    variables = {name: value.strip() for name, value in environment.items() if value.strip()}
    tiers = _tiers(variables.get("ENABLE_BOOST_SUPPORT", NONE))
    missing = [name for name in _NEEDED if name not in variables]
    if missing and (tiers or len(missing) < len(_NEEDED)):
        verb = "is" if len(missing) == 1 else "are"
        raise BoostMissing(f"The boost model is half configured: {' and '.join(missing)} {verb} not set.")
    if missing:
        return None
    return BoostSettings(
        _base_url(variables["BOOST_BASE_URL"]),
        variables["BOOST_API_KEY"],
        variables["BOOST_MODEL"],
        tiers,
        environment.get("BOOST_WRAPPER_TEMPLATE", ""),
        _seconds(variables.get("BOOST_TIMEOUT", "")),
    )


def _tiers(value: str) -> tuple[str, ...]:
    names = [name.strip().upper() for name in value.split(",") if name.strip()]
    for name in names:
        if name not in (*TIERS, NONE):
            raise ConfigError(f"ENABLE_BOOST_SUPPORT has no {name!r}{near(name, [*TIERS, NONE])}")
    if NONE in names and len(set(names)) > 1:
        raise ConfigError(f"ENABLE_BOOST_SUPPORT is {value!r}: {NONE} stands alone.")
    return tuple(tier for tier in TIERS if tier in names)


def _base_url(base_url: str) -> str:
    written = _address(base_url)
    problem = ConfigError(f"BOOST_BASE_URL is not an address: write it as 'https://host/v1', not {written!r}.")
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as error:
        raise problem from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise problem
    return base_url.rstrip("/")


def _address(base_url: str) -> str:
    """Returns the address without user name and password."""
    before, at, behind = base_url.rpartition("@")
    return f"{before.partition('//')[0]}//{behind}" if at and "//" in before else base_url


def _seconds(value: str) -> float:
    if not value:
        return TIMEOUT
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and seconds > 0):
        raise ConfigError(f"BOOST_TIMEOUT is seconds, more than 0, not {value!r}.")
    return seconds
