"""Which hosts a program may reach, and what its requests to a proxy ask for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from ...core.errors import ConfigError

USUAL_PORTS = (80, 443)
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\[\]:/?#@\s]+)(?::(?P<port>[0-9]{1,5}))?")
_LINE = re.compile(r"(?P<method>[A-Z]{1,20}) (?P<target>[!-~]{1,8000}) HTTP/1\.[01]")
_HEADER = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?P<value>[\t -~\x80-\xff]*?)[ \t]*")
_BETWEEN_HOPS = {
    "connection", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip


class Refused(Exception):
    """`status` is the answer that the program gets, with the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Place:
    """A host as it is named, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_address(self) -> bool:
        try:
            ip_address(self.host)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Asked:
    """`head` is what the host is to be sent, with a body of `length` bytes; for a tunnel nothing."""

    place: Place
    head: bytes = b""
    length: int = 0


class Hosts:
    """Names, `*.` and a name for all below it, or addresses; each with a port, or without for 80 and 443."""

    def __init__(self, written: Iterable[str]) -> None:
        """Raises `ConfigError`."""
        self._allowed = frozenset(entry for text in written for entry in _entries(text))

    def __bool__(self) -> bool:
        return bool(self._allowed)

    def name(self, host: str) -> bool:
        """At some port."""
        return any(host == allowed for allowed, _ in self._allowed)

    def allows(self, place: Place) -> bool:
        """Only as it is written: other spellings of an address are other names."""
        labels = place.host.split(".")
        above = ("*." + ".".join(labels[at:]) for at in range(1, len(labels)))
        names = (place.host, *(() if place.is_address else above))
        return any((name, place.port) in self._allowed for name in names)


def asked(head: bytes) -> Asked:
    """What the first bytes of a connection to a proxy, up to the empty line, ask for. Raises `Refused`."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    line = _LINE.fullmatch(first)
    if not line:
        raise Refused(400, "this is no request to a proxy")
    headers = [_header(text) for text in lines]
    method, target = line["method"], line["target"]
    if method == "CONNECT":
        return Asked(_place(target, 0))
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise Refused(400, "a proxy is asked for http://..., or with CONNECT")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    place = _place(authority, 80)
    path = rest[len(authority) :].partition("#")[0]
    return _plain(method, path if path.startswith("/") else f"/{path}", place, headers)


def _plain(method: str, path: str, place: Place, headers: list[tuple[str, str]]) -> Asked:
    """Sent anew with the host that was looked at, whatever the request says, and so that it is the only one."""
    said = {name.lower(): value for name, value in headers}
    if "transfer-encoding" in said:
        raise Refused(411, "a body needs its length; it can't be sent in chunks")
    dropped = _BETWEEN_HOPS | {name.strip().lower() for name in said.get("connection", "").split(",")}
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in dropped - {"content-length"}]
    host = place.host if place.port == 80 else str(place)
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *kept, "", "")
    return Asked(place, "\r\n".join(lines).encode("latin-1"), _length(headers, said))


def _length(headers: list[tuple[str, str]], said: Mapping[str, str]) -> int:
    lengths = {value for name, value in headers if name.lower() == "content-length"}
    if len(lengths) > 1 or not re.fullmatch(r"[0-9]{1,12}", said.get("content-length", "0")):
        raise Refused(400, "the length of the body is not clear")
    return int(said.get("content-length", "0"))


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if not found:
        raise Refused(400, "a header is not well formed")
    return found["name"], found["value"]


def _place(authority: str, usual: int) -> Place:
    found = _AUTHORITY.fullmatch(authority)
    port = int((found and found["port"]) or usual)
    host = _host(found["host"]) if found else ""
    if not host or not 0 < port < 65536:
        raise Refused(400, f"{authority!r:.200} is no host with a port")
    return Place(host, port)


def _host(written: str) -> str:
    """As it is compared: empty for what is neither a name nor an address."""
    name = written.lower().removesuffix(".")
    if not name.startswith("["):
        return name if len(name) < 254 and _NAME.fullmatch(name) else ""
    try:
        return str(ip_address(name[1:-1]))
    except ValueError:
        return ""


def _entries(written: str) -> Iterable[tuple[str, int]]:
    below = "*." if written.startswith("*.") else ""
    text = written.removeprefix(below)
    try:
        place = _place(f"[{text}]" if _is_bare_v6(text) else text, USUAL_PORTS[0])
    except Refused:
        place = Place("", 0)
    if not place.host or (below and place.is_address):
        raise ConfigError(f"allow_hosts: {written!r} is no host; write example.org, *.example.org or example.org:8080")
    return [(f"{below}{place.host}", port) for port in _ports(text, place)]


def _ports(text: str, place: Place) -> tuple[int, ...]:
    says_one = re.search(r"[^:]:[0-9]+$", text) and not _is_bare_v6(text)
    return (place.port,) if says_one else USUAL_PORTS


def _is_bare_v6(text: str) -> bool:
    return text.count(":") > 1 and "[" not in text
