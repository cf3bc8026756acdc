"""The body of a client's request: bytes of JSON, within bounds."""

from typing import Any

from pydantic_core import from_json

from ..core.errors import ConfigError
from ._json import loads

MEGABYTE = 1024 * 1024
LARGEST = 32 * MEGABYTE


class TooLarge(ConfigError):
    """A body beyond the bound, which is no mistake in what it says."""


def decode_body(data: bytes, largest: int = LARGEST) -> dict[str, Any]:
    """The object that it is; halves of surrogate pairs, which editors send, are mended. Raises `ConfigError`."""
    if len(data) > largest:
        raise TooLarge(f"The body has {len(data):,} bytes; {largest:,} are allowed.")
    try:
        body = from_json(data)
    except ValueError:
        body = _mended(data)
    if not isinstance(body, dict):
        raise ConfigError("The body must be a JSON object.")
    return body


def _mended(data: bytes) -> Any:
    try:
        data.decode()
        return loads(data)
    except UnicodeDecodeError as error:
        raise ConfigError(f"The body is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.") from error
    except ValueError as error:
        raise ConfigError(f"The body is not JSON: {error}.") from error
