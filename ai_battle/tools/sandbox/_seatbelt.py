"""macOS: sandbox-exec with a profile that denies what it does not name. Not tried on a machine of ours yet."""

import json
from collections.abc import Iterable, Sequence

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS

BINARY = "/usr/bin/sandbox-exec"
_SYSTEM = ("/usr/lib", "/usr/bin", "/usr/share", "/bin", "/sbin", "/System", "/Library/Frameworks", "/opt/homebrew",
           "/usr/local", "/private/var/db/timezone", "/private/etc/localtime", "/private/var/db/dyld")  # fmt: skip
_PROFILE = """(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read* {readable})
(allow file-read* file-write* {writable})
(allow file-read* file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-ioctl (literal "/dev/null"))
(deny file-write-setugid)
(deny file-write* {protected})
(deny network*)
"""


class Seatbelt(Fence):
    name = "seatbelt"
    alone = False
    layers = (*ALWAYS, "sandbox-exec: only the workspace is writable, no network")

    def around(self, site: Site) -> Sequence[str]:
        seen = self.inside(site)
        return BINARY, "-p", profile(seen.readable, seen.writable, _protected(site))

    def inside(self, site: Site) -> Inside:
        temporary = site.scratch / "tmp"
        temporary.mkdir(exist_ok=True)
        writable = (str(site.workspace), str(temporary.resolve()))
        program = str((site.scratch / site.program).resolve())
        return Inside(program, str(temporary), (*_SYSTEM, *site.folders, program), writable, writable)


def profile(readable: Iterable[str], writable: Iterable[str], protected: Iterable[str]) -> str:
    return _PROFILE.format(readable=_below(readable), writable=_below(writable), protected=_below(protected))


def _protected(site: Site) -> tuple[str, ...]:
    return tuple(str(site.workspace / name) for name in (".git/hooks", ".git/config", ".vscode", ".mcp.json", ".envrc"))


def _below(paths: Iterable[str]) -> str:
    return " ".join(f"(subpath {json.dumps(path)})" for path in paths)
