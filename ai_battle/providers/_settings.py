"""Finds a provider's URL and key, and advises the user about its errors.

Settings missing in the file's `providers:` section come from the usual environment variables.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import ConfigError, ContextTooLong, ProviderError
from ..core.plugins import check_options, near
from ..core.redaction import Redactor
from ..core.texts import public_url
from ._calls import DEFAULT, Deadlines
from ._endpoints import Endpoint
from ._names import catalogue, is_local_url

NO_KEY = "none"  # sent by SDKs that insist on a key to servers that need none


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of every provider's `create`. Empty ones come from `environment`.

    `client` is the caller's own client of the official SDK, which makes the transport "sdk".
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
    """A secret and its source. Only the source may be shown."""

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


@dataclass(frozen=True, slots=True)
class Access:
    """The URL, key and headers for a provider. `start` advises the user if nothing answers there."""

    provider: str
    settings: Settings
    key: Key
    url: str
    start: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.provider} at {public_url(self.url)}"

    def with_headers(self, headers: Mapping[str, str]) -> "Access":
        """Adds the `headers` of an API, which the user's own headers override."""
        return replace(self, headers={**headers, **self.settings.headers})

    @property
    def redactor(self) -> Redactor:
        """Redacts the secrets that must not appear in errors, even if a provider repeats them."""
        settings, key = self.settings, self.key
        brought = getattr(settings.client, "api_key", None)
        values = {"PASSWORD": urlsplit(self.url).password, **settings.headers, "API_KEY": brought}
        values[key.source if key.source.isidentifier() else "API_KEY"] = key.value or brought
        return Redactor({value: name for name, value in values.items() if isinstance(value, str) and len(value) >= 6})

    def advice(self, error: ProviderError, model: str, there: Sequence[str] = ()) -> str:
        """Returns advice about an error, naming a key's source, never its value. `there` are the server's models."""
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
                return "A proxy wants you to authenticate: set HTTPS_PROXY=http://name:password@host:port."
        return ""

    def _advice_on_name(self, model: str, there: Sequence[str]) -> str:
        names = list(there or catalogue().names.get(self.provider, ()))
        close = near(model, names)
        if model not in names and (there or close.endswith("?")) and close != ".":
            return f"There is no {model!r}{close}"
        return "Is the model's name right, and base_url?"


def find_access(settings: Settings, provider: str, row: Endpoint) -> Access:
    """Reads the variables that `row` names. A server on this machine needs no key. Raises `ConfigError`."""
    found = next((settings.environment[name] for name in row.urls if settings.environment.get(name)), "")
    stated = str(settings.base_url or getattr(settings.client, "base_url", "") or found)
    key = find_key(provider, settings, row.traits.keys, needed=row.needs_key and not is_local_url(stated))
    url = _checked_url(provider, stated or row.base_url, row.urls)
    return Access(provider, settings, key, url, address_advice(provider, settings, row))


def find_key(provider: str, settings: Settings, variables: Sequence[str], *, needed: bool) -> Key:
    """Returns the key. Raises `ConfigError` naming the variables if a `needed` key is missing."""
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


def address_advice(provider: str, settings: Settings, row: Endpoint) -> str:
    """Returns advice for when nothing answers: where the URL came from, and how to start the server."""
    variable = next((name for name in row.urls if settings.environment.get(name)), "")
    source = f"the base_url of {provider}" if settings.base_url else variable
    return " ".join(filter(None, (source and f"Is {source} right?", row.start)))


def _checked_url(provider: str, url: str, variables: Sequence[str]) -> str:
    """Returns the base URL without a trailing slash. Raises `ConfigError`."""
    url = url.rstrip("/")
    if not url:
        raise ConfigError(f"{provider} needs an address: set {' or '.join(variables)}, or write base_url.")
    if not _is_address(url):
        raise ConfigError(f"{provider}: base_url {url!r} is not a URL; it looks like 'http://127.0.0.1:8000/v1'.")
    return url


def _sendable(source: str, value: str) -> str:
    """Strips a key, to which files and shells often add a newline. Raises `ConfigError` if a header can't hold it."""
    if not value.strip().isascii() or not value.strip().isprintable():
        raise ConfigError(f"{source} holds characters that can't be sent in a header; was it copied whole and alone?")
    return value.strip()


def _is_address(url: str) -> bool:
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    return False
