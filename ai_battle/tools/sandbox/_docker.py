"""Docker: a container of a Python image, with the supervisor inside. Not tried on a machine of ours yet."""

import json
import os
from collections.abc import Sequence

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS, calls

IMAGE = "python:3.12-slim"
_TEMPORARY, _SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - the container's own


class Docker(Fence):
    """The image has to be there, it is not pulled; languages it does not have are not there either."""

    name = "docker"
    alone = False  # processes are counted over all containers of a user
    python = "python3"

    def __init__(self, binary: str, image: str = IMAGE, private_bytes: int = 64 << 20) -> None:
        self._binary = binary
        self._image = image
        self._size = private_bytes
        self.calls = calls(alone=True)
        self.layers = (*ALWAYS, f"docker: a container of {image} without network, read-only but for the workspace")

    def around(self, site: Site) -> Sequence[str]:
        return (
            self._binary, "run", "--rm", "--interactive", "--pull", "never", "--network", "none", "--read-only",
            "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "private",
            "--user", f"{os.getuid()}:{os.getgid()}",
            "--tmpfs", f"{_TEMPORARY}:size={self._size},mode=1777", "--shm-size", str(self._size), "--workdir", "/",
            "--mount", _mount(str(site.scratch / site.program), f"/run/program/{site.program}", read_only=True),
            "--mount", _mount(str(site.workspace), str(site.workspace), read_only=False),
            self._image,
        )  # fmt: skip

    def inside(self, site: Site) -> Inside:
        writable = (str(site.workspace), _TEMPORARY, _SHARED_MEMORY)
        return Inside(f"/run/program/{site.program}", _TEMPORARY, ("/",), writable, writable)


def _mount(source: str, target: str, *, read_only: bool) -> str:
    parts = ["type=bind", f"source={json.dumps(source)}", f"target={json.dumps(target)}"]
    return ",".join([*parts, "readonly"] if read_only else parts)
