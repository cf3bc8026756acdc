"""Where code that a model wrote is run."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...core.errors import ToolError
from ._fences import Fence, Inside, Site
from ._folders import discard
from ._gate import Gate
from ._hosts import Hosts
from ._interpreters import SUFFIX, Interpreter, interpreter
from ._protected import Protected
from ._session import supervise
from .fence._way_out import PORT
from .fence.orders import Orders
from .limits import Outcome, Program, SandboxLimits

_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
_PROXY, _INSIDE = f"http://127.0.0.1:{PORT}", ("localhost", "127.0.0.1", "::1")
_RESERVED = 2 << 30  # threads and allocators reserve far more addresses than they use memory


class Sandbox:
    """One kind of fence; any number of programs may run behind it, also at once."""

    def __init__(self, fence: Fence, hosts: Hosts | None = None) -> None:
        """`hosts` are what programs may reach, by a proxy that the fence must be able to lead them to; else none."""
        self._fence = fence
        self._hosts = hosts

    @property
    def name(self) -> str:
        return self._fence.name

    @property
    def layers(self) -> tuple[str, ...]:
        """What is in force."""
        return self._fence.layers

    async def run(
        self,
        program: Program,
        workspace: Path,
        limits: SandboxLimits = SandboxLimits(),  # noqa: B008 - a frozen value
        closed: Path | None = None,
    ) -> Outcome:
        """In `workspace`, which is all that stays of the program; a folder in it can be `closed` to the program.

        A program that fails is an outcome, not an error. Raises `ToolError` for a workspace that can't be one.
        """
        runner = interpreter(program.language)
        workspace = _checked(workspace)
        closed = self._closed(closed, workspace)
        with _scratch() as scratch:
            name = f"main{SUFFIX[program.language]}"
            site = Site(workspace, scratch, name, runner.folders, bool(self._hosts), closed)
            _write(site, program.code)
            orders = _orders(self._fence, self._fence.inside(site), program, runner, limits)
            orders.folder, orders.seconds = str(workspace), program.timeout
            orders.environment["HOME"] = str(workspace)
            protected = Protected(workspace)
            try:
                answer, network = await self._supervised(site, orders)
            finally:
                protected.restore()
        return _outcome(answer, network)

    def _closed(self, folder: Path | None, workspace: Path) -> Path | None:
        """It, where it is in the workspace."""
        found = folder.resolve() if folder else None
        if not found or not found.is_relative_to(workspace):
            return None
        if found == workspace or not self._fence.closes:
            raise ToolError(
                f"The workspace {str(workspace)!r} holds {str(found)!r}, which {self.name} can't keep from programs; "
                "choose a workspace without it, or another place for it (--out)."
            )
        return found

    async def _supervised(self, site: Site, orders: Orders) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        if not self._hosts:
            return await supervise(self._fence, site, orders), ()
        gate = Gate(self._hosts)
        async with gate.open() as descriptor:
            orders.gate = descriptor
            orders.environment |= _way_out(self._hosts)
            answer = await supervise(self._fence, site, orders)
        return answer, tuple(map(str, gate.visits))


@contextmanager
def _scratch() -> Iterator[Path]:
    """A program may leave folders in it that are too deep, or locked, for the usual ways to remove them."""
    folder = tempfile.mkdtemp(prefix="ai-battle-")
    try:
        yield Path(folder)
    finally:
        discard(folder)


def _way_out(hosts: Hosts) -> dict[str, str]:
    """What programs look at: a proxy for all but the program's own servers."""
    inside = ",".join(name for name in _INSIDE if not hosts.name(name))
    said = {"http_proxy": _PROXY, "https_proxy": _PROXY, "all_proxy": _PROXY, "no_proxy": inside}
    return {**said, **{name.upper(): value for name, value in said.items()}, "NODE_USE_ENV_PROXY": "1"}


def _checked(workspace: Path) -> Path:
    """A home or root directory as workspace would open what the fence is there to close."""
    found = workspace.resolve()
    if not found.is_dir():
        raise ToolError(f"The workspace {str(workspace)!r} is no directory; make it first.")
    if found == Path("/") or Path.home().is_relative_to(found):
        raise ToolError(f"The workspace {str(workspace)!r} holds the home directory; choose a folder of its own.")
    return found


def _write(site: Site, code: str) -> None:
    (site.scratch / site.program).write_text(code, encoding="utf-8", errors="surrogatepass", newline="")


def _orders(fence: Fence, inside: Inside, program: Program, runner: Interpreter, limits: SandboxLimits) -> Orders:
    return Orders(
        argv=[*fence.commands.get(program.language, runner.command), inside.program],
        here=not runner.command,
        environment={"PATH": runner.search_path, "LANG": "C.UTF-8", "TMPDIR": inside.temporary},
        readable=list(inside.readable),
        writable=list(inside.writable),
        devices=[*_DEVICES, *inside.devices],
        listed=list(inside.listed),
        shared_memory=inside.shared_memory,
        gate=-1,
        measured=list(inside.measured),
        profile=inside.profile,
        calls=fence.calls,
        alone=fence.alone,
        memory=limits.memory,
        address_space=0 if runner.reserves_memory else 2 * limits.memory + _RESERVED,
        tasks=limits.tasks,
        disk=limits.disk,
        inodes=limits.inodes,
        file_size=limits.file_size,
        open_files=limits.open_files,
        output=limits.output,
        drain=limits.drain,
    )


def _outcome(answer: Mapping[str, Any], network: tuple[str, ...]) -> Outcome:
    return Outcome(
        stdout=answer["stdout"].decode(errors="replace"),
        stderr=answer["stderr"].decode(errors="replace"),
        exit_code=os.waitstatus_to_exitcode(answer["status"]) if answer["status"] is not None else -9,
        killed_because=answer["killed_because"],
        seconds=answer["seconds"],
        network=network,
    )
