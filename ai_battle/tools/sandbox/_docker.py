"""Docker: a container of a Python image, with the supervisor inside. Tried with a stand-in for its engine only."""

import os
from collections.abc import Iterator, Mapping, Sequence

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS, TERMINALS, calls
from ._protected import closed_to_programs
from .limits import Language

IMAGE = "python:3.12-slim"
_CLIENTS = ("HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
            "DOCKER_TLS_VERIFY")  # fmt: skip
_TEMPORARY, _SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - the container's own


class Docker(Fence):
    """The image has to be there, it is not pulled; languages it does not have are not there either."""

    name = "docker"
    alone = False  # processes are counted over all containers of a user
    python = "python3"
    commands: Mapping[Language, tuple[str, ...]] = {"bash": ("/bin/bash",), "javascript": ("/usr/bin/env", "node")}

    def __init__(self, binary: str, image: str = IMAGE, private_bytes: int = 64 << 20) -> None:
        self._binary = binary
        self._image = image
        self._size = private_bytes
        self.environment = {name: os.environ[name] for name in _CLIENTS if name in os.environ}
        self.calls = calls(alone=True)
        self.layers = (*ALWAYS, f"docker: a container of {image} without network, read-only but for the workspace")

    def around(self, site: Site) -> Sequence[str]:
        return (
            self._binary, "run", "--rm", "--interactive", "--pull", "never", "--network", "none", "--read-only",
            "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "private",
            "--user", f"{os.getuid()}:{os.getgid()}",
            "--tmpfs", f"{_TEMPORARY}:size={self._size},mode=1777,exec", "--shm-size", str(self._size),
            "--workdir", "/",
            "--mount", _mount(str(site.scratch / site.program), f"/run/program/{site.program}", read_only=True),
            "--mount", _mount(str(site.workspace), str(site.workspace), read_only=False),
            *(part for path in map(str, closed_to_programs(site.workspace))
              for part in ("--mount", _mount(path, path, read_only=True))),
            *_closed(site),
            self._image,
        )  # fmt: skip

    def inside(self, site: Site) -> Inside:
        writable = (str(site.workspace), _TEMPORARY, _SHARED_MEMORY)
        return Inside(f"/run/program/{site.program}", _TEMPORARY, ("/",), writable, writable, devices=TERMINALS)


def _closed(site: Site) -> Iterator[str]:
    """Mounts, as nobody can rename or remove those."""
    for path in map(str, site.way):
        yield from ("--mount", _mount(path, path, read_only=False))
    if site.closed:
        yield from ("--mount", _quoted("type=tmpfs", f"target={site.closed}", "readonly"))


def _mount(source: str, target: str, *, read_only: bool) -> str:
    return _quoted("type=bind", f"source={source}", f"target={target}", *(["readonly"] if read_only else []))


def _quoted(*parts: str) -> str:
    """A line of comma-separated values, each in quotes: a path may have anything in it."""
    return ",".join('"' + part.replace('"', '""') + '"' for part in parts)
