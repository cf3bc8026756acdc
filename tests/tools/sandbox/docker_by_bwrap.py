"""Stands in for Docker's client: reads its command line as it does, and makes the container with bubblewrap."""

import csv
import io
import os
import sys

_WITH_VALUE = {
    "--pull", "--network", "--cap-drop", "--security-opt", "--ipc", "--user", "--tmpfs", "--shm-size", "--workdir",
    "--mount",
}  # fmt: skip
_SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/etc"]


def _container(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Its mounts, and the command in it."""
    mounts = []
    while arguments[0].startswith("--"):
        option, *arguments = arguments
        if option in _WITH_VALUE:
            value, *arguments = arguments
            if option == "--mount":
                mounts.append(value)
    return mounts, arguments[1:]


def _bind_options(mount: str) -> list[str]:
    values = dict(part.partition("=")[::2] for part in next(csv.reader(io.StringIO(mount, newline=""))))
    if values["type"] == "tmpfs":
        return ["--tmpfs", values["target"], "--remount-ro", values["target"]]
    return ["--ro-bind" if "readonly" in values else "--bind", values["source"], values["target"]]


def main() -> None:
    assert sys.argv[1] == "run"
    mounts, command = _container(sys.argv[2:])
    system = [part for path in _SYSTEM if os.path.exists(path) for part in ("--ro-bind", path, path)]
    binds = [part for mount in mounts for part in _bind_options(mount)]
    private = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    around = ["--unshare-all", "--die-with-parent", "--as-pid-1", "--chdir", "/"]
    os.execvp("bwrap", ["bwrap", *around, *system, *private, *binds, "--", *command])


main()
