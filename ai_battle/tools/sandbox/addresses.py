"""The hosts that a program may reach, and its requests to the proxy."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from ...core.errors import ConfigError

_USUAL_PORTS = (80, 443)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\[\]:/?#@\s]+)(?::(?P<port>[0-9]{1,5}))?")
_LINE = re.compile(r"(?P<method>[A-Z]{1,20}) (?P<target>[!-~]{1,8000}) HTTP/1\.[01]")
_HEADER = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?P<value>[\t -~\x80-\xff]*?)[ \t]*")
_HOP_HEADERS = {
    "connection", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip


class RequestRefused(Exception):
    """`status` is the HTTP status that the program gets, with the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Address:
    """A host by name or address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_numeric(self) -> bool:
        try:
            ip_address(self.host)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request to the proxy. `head` is sent to the host, with a body of `length` bytes; it is empty for a tunnel."""

    address: Address
    head: bytes = b""
    length: int = 0


class AddressFilter:
    """Allowed hosts: names, `*.` and a name for its subdomains, or addresses; without a port 80 and 443 are meant."""

    def __init__(self, written: Iterable[str]) -> None:
        """Raises `ConfigError` for an invalid host."""
        self._allowed = frozenset(entry for text in written for entry in _entries(text))

    def __bool__(self) -> bool:
        return bool(self._allowed)

    def names(self, host: str) -> bool:
        """Returns whether the host is allowed on some port."""
        return any(host == allowed for allowed, _ in self._allowed)

    def allows(self, address: Address) -> bool:
        """Returns whether the address is allowed, compared as text: other spellings of an IP address don't match."""
        labels = [] if address.is_numeric else address.host.split(".")
        names = (address.host, *("*." + ".".join(labels[at:]) for at in range(1, len(labels))))
        return any((name, address.port) in self._allowed for name in names)


def proxy_request(head: bytes) -> ProxyRequest:
    """Parses the first bytes of a proxy connection, up to the empty line. Raises `RequestRefused`."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    line = _LINE.fullmatch(first)
    if not line:
        raise RequestRefused(400, "this is not a request to a proxy")
    headers = [_header(text) for text in lines]
    method, target = line["method"], line["target"]
    if method == "CONNECT":
        return ProxyRequest(_address(target, 0))
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise RequestRefused(400, "a proxy is asked for http://..., or with CONNECT")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(authority) :].partition("#")[0]
    return _plain_request(method, path if path.startswith("/") else f"/{path}", _address(authority, 80), headers)


def _plain_request(method: str, path: str, address: Address, headers: list[tuple[str, str]]) -> ProxyRequest:
    """Builds a new request with the host that was checked, whatever the original says, and for one exchange only."""
    if _values("transfer-encoding", headers):
        raise RequestRefused(411, "a body needs its length; it can't be sent in chunks")
    length, *others = set(_values("content-length", headers)) or {"0"}
    if others or not re.fullmatch(r"[0-9]{1,12}", length):
        raise RequestRefused(400, "the length of the body is not clear")
    hops = {name.strip().lower() for name in ",".join(_values("connection", headers)).split(",")}
    dropped = (_HOP_HEADERS | hops) - {"content-length"}
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in dropped]
    host = address.host if address.port == 80 else str(address)
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *kept, "", "")
    return ProxyRequest(address, "\r\n".join(lines).encode("latin-1"), int(length))


def _values(wanted: str, headers: list[tuple[str, str]]) -> list[str]:
    return [value for name, value in headers if name.lower() == wanted]


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if not found:
        raise RequestRefused(400, "a header is not well formed")
    return found["name"], found["value"]


def _address(authority: str, usual_port: int) -> Address:
    found = _AUTHORITY.fullmatch(authority)
    port = int((found and found["port"]) or usual_port)
    host = _comparable_host(found["host"]) if found else ""
    if not host or not 0 < port < 65536:
        raise RequestRefused(400, f"{authority!r:.200} is not a host with a port")
    return Address(host, port)


def _comparable_host(host: str) -> str:
    """Returns the host in a comparable form; "" if it is neither a name nor an address."""
    name = host.lower().removesuffix(".")
    if not name.startswith("["):
        return name if len(name) < 254 and _NAME.fullmatch(name) else ""
    try:
        return str(ip_address(name[1:-1]))
    except ValueError:
        return ""


def _with_brackets(text: str) -> str:
    """Adds brackets to an IPv6 address; one without them has no port."""
    return f"[{text}]" if text.count(":") > 1 and "[" not in text else text


def _entries(written: str) -> Iterable[tuple[str, int]]:
    below = "*." if written.startswith("*.") else ""
    text = _with_brackets(written.removeprefix(below))
    try:
        found = [_address(text, port) for port in _USUAL_PORTS]
    except RequestRefused:
        found = []
    if not found or (below and found[0].is_numeric):
        raise ConfigError(
            f"allow_hosts: {written!r} is not a host; write example.org, *.example.org or example.org:8080"
        )
    return {(f"{below}{address.host}", address.port) for address in found}
