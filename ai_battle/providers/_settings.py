"""Where a provider is, how one gets in, and what a user may do when it says no.

What the file's `providers:` section leaves open comes from the usual variables.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ..core.errors import ConfigError, ContextTooLong, ProviderError
from ..core.plugins import check_options, near
from ..core.redaction import Redactor
from ._calls import DEFAULT, Deadlines
from ._names import catalogue, is_loopback

NO_KEY = "none"  # what servers without keys are sent by SDKs that insist on one


@dataclass(frozen=True, slots=True)
class Settings:
    """What every provider's `create` takes. What is empty comes from `environment`.

    `client` is a client of the official SDK that the caller brings; the transport is then "sdk".
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str = ""
    transport: str = "aiohttp"
    client: Any = field(default=None, repr=False)
    deadlines: Deadlines = DEFAULT
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def through_sdk(self) -> bool:
        return self.client is not None or self.transport == "sdk"


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and where it came from, which is all that may be told of it."""

    value: str = field(default="", repr=False)
    source: str = ""


def read_settings(provider: str, options: Mapping[str, Any]) -> Settings:
    check_options(Settings, provider, options)
    settings = Settings(**options)
    headers = {
        name.lower(): _sendable(f"{provider}: the header {name}", str(v)) for name, v in settings.headers.items()
    }
    settings = replace(settings, headers=headers)
    if settings.transport not in ("aiohttp", "sdk"):
        raise ConfigError(f"{provider}: there is no transport {settings.transport!r}; it is 'aiohttp' or 'sdk'.")
    return settings


@lru_cache
def public_url(url: str) -> str:
    """A URL as it may be shown: without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True, slots=True)
class Access:
    """Where and how a provider is called: `start` says what to look at when nobody answers."""

    provider: str
    settings: Settings
    key: Key
    url: str
    start: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.provider} at {public_url(self.url)}"

    def with_headers(self, headers: Mapping[str, str]) -> "Access":
        """The same with the `headers` of an API; what the user states goes before them."""
        return replace(self, headers={**headers, **self.settings.headers})

    @property
    def redactor(self) -> Redactor:
        """Knows all that must not appear in an error, even when a provider repeats it."""
        settings, key = self.settings, self.key
        brought = getattr(settings.client, "api_key", None)
        values = {"PASSWORD": urlsplit(self.url).password, **settings.headers, "API_KEY": brought}
        values[key.source if key.source.isidentifier() else "API_KEY"] = key.value or brought
        return Redactor({value: name for name, value in values.items() if isinstance(value, str) and len(value) >= 6})

    def advice(self, error: ProviderError, model: str, there: Sequence[str] = ()) -> str:
        """Names the variable of a key, never its value; `there` are the models that the server has."""
        if isinstance(error, ContextTooLong):
            return "Shorten it, or take a model with a larger context window."
        match error.status:
            case 401 if self.key.value:
                return f"Is {self.key.source} right?"
            case 401:
                return f"It wants a key: set {self.key.source}."
            case 403:
                return f"May the key in {self.key.source} use {model}?"
            case 404:
                return self._advice_on_name(model, there)
            case 405:
                return "Is base_url right?"
            case 407:
                return "A proxy on the way wants to be told who you are: HTTPS_PROXY=http://name:password@host:port."
        return ""

    def _advice_on_name(self, model: str, there: Sequence[str]) -> str:
        names = list(there or catalogue().names.get(self.provider, ()))
        close = near(model, names)
        if model not in names and (there or close.endswith("?")) and close != ".":
            return f"There is no {model!r}{close}"
        return "Is the model's name right, and base_url?"


def find_access(
    settings: Settings,
    provider: str,
    keys: Sequence[str],
    urls: Sequence[str],
    usual_url: str,
    *,
    needs_key: bool = True,
    start: str = "",
) -> Access:
    """Reads `keys` and `urls`, which are variables; a server of this machine needs no key. Raises `ConfigError`."""
    key = find_key(provider, settings, keys, needs_key and not is_loopback(_stated_url(settings, urls)))
    url = _find_url(provider, settings, urls, usual_url)
    return Access(provider, settings, key, url, address_advice(provider, settings, urls, start))


def find_key(provider: str, settings: Settings, variables: Iterable[str], needed: bool = True) -> Key:
    """The key; when there is none although one is needed, an error that names the variable."""
    variables = tuple(variables)
    if settings.api_key:
        source = f"the api_key of {provider}"
        return Key(_sendable(source, settings.api_key), source)
    if variable := next((name for name in variables if settings.environment.get(name)), None):
        return Key(_sendable(variable, settings.environment[variable]), variable)
    if needed and settings.client is None:
        raise ConfigError(
            f"{provider} needs a key: set the environment variable {' or '.join(variables)}, or write api_key under "
            f"'providers: {provider}:'."
        )
    return Key(source=" or ".join(variables))


def _stated_url(settings: Settings, variables: Iterable[str]) -> str:
    """The address that the user gives, if any."""
    found = next((settings.environment[name] for name in variables if settings.environment.get(name)), "")
    return str(settings.base_url or getattr(settings.client, "base_url", "") or found)


def address_advice(provider: str, settings: Settings, variables: Iterable[str], start: str = "") -> str:
    """Returns what to look at when nobody answers: where the address came from, and how a server is started."""
    variable = next((name for name in variables if settings.environment.get(name)), "")
    source = f"the base_url of {provider}" if settings.base_url else variable
    return " ".join(filter(None, (source and f"Is {source} right?", start)))


def _find_url(provider: str, settings: Settings, variables: Iterable[str], default: str) -> str:
    """The base URL, without a slash at its end."""
    url = (_stated_url(settings, variables) or default).rstrip("/")
    if not url:
        raise ConfigError(f"{provider} needs an address: set {' or '.join(variables)}, or write base_url.")
    if not _is_address(url):
        raise ConfigError(f"{provider}: base_url {url!r} is no address; it looks like 'http://127.0.0.1:8000/v1'.")
    return url


def _sendable(source: str, value: str) -> str:
    """Returns a key without the line end that a file or a shell often leaves."""
    if not value.strip().isascii() or not value.strip().isprintable():
        raise ConfigError(f"{source} holds characters that can't be sent in a header; was it copied whole and alone?")
    return value.strip()


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
