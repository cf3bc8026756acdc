"""macOS: its sandbox, with a profile that denies what it does not name. Not tried on a machine of ours yet.

The profile is what sandbox-exec would be given. Only the program is put behind it: a supervisor that stood there too
could be signalled by those whom it watches.
"""

import json
from collections.abc import Iterable

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS
from ._protected import closed_to_programs

_SYSTEM = ("/usr/lib", "/usr/bin", "/usr/share", "/bin", "/sbin", "/System", "/Library/Frameworks",
           "/Library/Developer", "/opt/homebrew", "/usr/local", "/private/var/db/timezone",
           "/private/var/db/xcode_select_link", "/private/var/db/dyld", "/private/etc/localtime")  # fmt: skip
_PROFILE = """(version 1)
(deny default)
(allow process-fork)
(allow process-exec*)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read* {readable})
(allow file-read* file-write* {writable})
(allow file-map-executable {readable} {writable})
(allow file-read* file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-ioctl (literal "/dev/null"))
(deny file-write-setugid)
{protected}
(deny network*)
"""


class Seatbelt(Fence):
    name = "seatbelt"
    alone = False
    layers = (*ALWAYS, "macOS' sandbox: only the workspace is writable, no network")

    def inside(self, site: Site) -> Inside:
        temporary = site.scratch / "tmp"
        temporary.mkdir(exist_ok=True)
        writable = (str(site.workspace), str(temporary.resolve()))
        program = str((site.scratch / site.program).resolve())
        readable = (*_SYSTEM, *site.folders, program)
        rules = profile(readable, writable, map(str, closed_to_programs(site.workspace))) + _closed(site)
        return Inside(program, str(temporary), readable, writable, writable, profile=rules)


def profile(readable: Iterable[str], writable: Iterable[str], protected: Iterable[str]) -> str:
    closed = "".join(f"(deny file-write* {_below([path])})\n" for path in protected)
    return _PROFILE.format(readable=_below(readable), writable=_below(writable), protected=closed)


def _closed(site: Site) -> str:
    way = "".join(f"(deny file-write* (literal {_quoted(path)}))\n" for path in map(str, site.way))
    return way + (f"(deny file-read* file-write* {_below([str(site.closed)])})\n" if site.closed else "")


def _below(paths: Iterable[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)
