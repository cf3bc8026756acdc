"""Runs programs in a sandbox, and chooses the strongest one that passes a trial on this machine."""

import asyncio
import marshal
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from ...core.errors import AIBattleError, ToolError
from .._tasks import finish, start_process
from ..rooted import must_not_hold_home
from .addresses import AddressFilter
from .backends import DOCKER_IMAGE, Backend, Bubblewrap, Docker, HostPaths, Landlock, Unconfined
from .egress import EgressProxy, proxy_environment
from .inside.kernel import landlock_version
from .inside.orders import Orders
from .program import INSIDE, SUFFIX, Interpreter, NoFence, Outcome, Program, SandboxLimits, interpreter
from .snapshot import Snapshot, discard

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_RESERVED_BYTES = 2 << 30  # threads and allocators reserve far more address space than they use
_SUPERVISOR_SECONDS = 10.0  # seconds for a supervisor to start, and to end everything that the program has started
# Not the workspace: an interpreter would run code that it finds there before it is confined.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}

# Each module comes after those that it imports.
_MODULES = ("orders", "kernel", "processes", "supervisor")
# The supervisor reads its own code and its orders from stdin, so that no file has to be found in the sandbox.
_OPENING = """
import marshal, os, sys
with os.fdopen(0, "rb", closefd=False) as stdin:
    modules, orders = marshal.loads(stdin.read(int.from_bytes(stdin.read(4), "little")))
package = sys.modules["inside"] = type(sys)("inside")
for name, code in modules:
    module = sys.modules["inside." + name] = type(sys)("inside." + name)
    module.__package__ = "inside"
    setattr(package, name, module)
    exec(code, vars(module))
package.supervisor.main(package.orders.Orders(**orders))
"""
_MARSHAL_FORMAT = 4  # readable by every Python from 3.4 on


class Sandbox:
    """One kind of sandbox. Any number of programs may run in it, also concurrently."""

    def __init__(self, backend: Backend, hosts: AddressFilter | None = None) -> None:
        """Takes `hosts`, which programs may reach through a proxy; without it they have no network."""
        self._backend = backend
        self._hosts = hosts

    @property
    def name(self) -> str:
        return self._backend.name

    @property
    def layers(self) -> tuple[str, ...]:
        """The active layers of protection, for people."""
        return self._backend.layers

    async def run(
        self,
        program: Program,
        workspace: Path,
        limits: SandboxLimits = SandboxLimits(),  # noqa: B008 - a frozen value
        closed: Path | None = None,
    ) -> Outcome:
        """Runs a program in `workspace`, the only place where it leaves anything; a folder in it can be `closed` to it.

        A program that fails is an outcome, not an error. Raises `ToolError` for an unsuitable workspace.
        """
        runner = interpreter(program.language)
        workspace = _check_workspace(workspace)
        closed = self._folder_to_close(closed, workspace)
        with _scratch_folder() as scratch:
            name = f"main{SUFFIX[program.language]}"
            (scratch / name).write_text(program.code, encoding="utf-8", errors="surrogatepass", newline="")
            paths = HostPaths(workspace, scratch, name, runner.folders, bool(self._hosts), closed)
            orders = _orders(self._backend, paths, program, runner, limits)
            snapshot = Snapshot(workspace)
            try:
                answer, network = await self._supervise(paths, orders)
            finally:
                # Also after a cancellation: no process of the program is left that could change the files meanwhile.
                snapshot.restore()
        return _outcome(answer, network)

    def _folder_to_close(self, folder: Path | None, workspace: Path) -> Path | None:
        """Returns the folder if it is in the workspace. Raises `ToolError` if it can't be closed."""
        found = folder.resolve() if folder else None
        if not found or not found.is_relative_to(workspace):
            return None
        if found == workspace or not self._backend.can_close:
            raise ToolError(
                f"The workspace {str(workspace)!r} holds {str(found)!r}, which {self.name} can't keep from programs; "
                "choose a workspace without it, or another place for it (--out)."
            )
        return found

    async def _supervise(self, paths: HostPaths, orders: Orders) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        if not self._hosts:
            return await _supervise(self._backend, paths, orders), ()
        proxy = EgressProxy(self._hosts)
        async with proxy.open() as descriptor:
            orders.proxy_channel = descriptor
            orders.environment |= proxy_environment(self._hosts)
            answer = await _supervise(self._backend, paths, orders)
        return answer, tuple(map(str, proxy.visits))


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Yields a temporary folder. A program may leave folders in it that `shutil.rmtree` can't remove."""
    folder = tempfile.mkdtemp(prefix="ai-battle-")
    try:
        yield Path(folder)
    finally:
        discard(folder)


def _check_workspace(workspace: Path) -> Path:
    """Returns the workspace. Raises `ToolError` if it holds the home directory, which the sandbox is there to close."""
    found = workspace.resolve()
    if not found.is_dir():
        raise ToolError(f"The workspace {str(workspace)!r} is not a directory; make it first.")
    must_not_hold_home(workspace)
    return found


def _orders(backend: Backend, paths: HostPaths, program: Program, runner: Interpreter, limits: SandboxLimits) -> Orders:
    guest = backend.inside(paths)
    workspace = str(paths.workspace)
    return Orders(
        argv=[*backend.commands.get(program.language, runner.command), guest.program],
        here=not runner.command,
        environment={"PATH": runner.search_path, "LANG": "C.UTF-8", "TMPDIR": guest.temporary, "HOME": workspace},
        folder=workspace,
        devices=[*_DEVICES, *guest.devices],
        **{name: list(getattr(guest, name)) for name in ("readable", "writable", "listed", "measured")},
        proxy_channel=-1,
        syscall_filter=backend.syscall_filter,
        isolated=backend.isolated,
        seconds=program.timeout,
        address_space=0 if runner.reserves_memory else 2 * limits.memory + _RESERVED_BYTES,
        **asdict(limits),
    )


async def _supervise(backend: Backend, paths: HostPaths, orders: Orders) -> Mapping[str, Any]:
    """Returns the supervisor's answer. Raises `ToolError` if there is none. A cancelled caller ends the program."""
    # Python programs run in the supervisor's own interpreter, so that one starts without isolation options.
    isolation = () if orders.here else ("-I", "-S")
    command = (*backend.around(paths), backend.python, *isolation, "-c", _OPENING)
    pass_fds = (orders.proxy_channel,) if orders.proxy_channel >= 0 else ()
    process = await _start(command, backend.environment, pass_fds)
    try:
        content = _supervisor_input(orders, backend.python)
        answer, trouble = await asyncio.wait_for(_exchange(process, content), orders.seconds + _SUPERVISOR_SECONDS)
    except TimeoutError as error:
        raise ToolError("The supervisor of the program did not answer; the program was killed.") from error
    finally:
        await finish(_end(process))
    if not answer:
        raise ToolError(f"The fence could not be built: {_last_line(trouble)}")
    return _read_answer(answer)


def _supervisor_input(orders: Orders, python: str) -> bytes:
    """Returns modules and orders. Compiled code depends on the version, so another interpreter gets sources."""
    modules = _compile_modules() if python == sys.executable else _sources()
    content = marshal.dumps((modules, vars(orders)), _MARSHAL_FORMAT)
    return len(content).to_bytes(4, "little") + content


@lru_cache
def _compile_modules() -> tuple[tuple[str, CodeType], ...]:
    return tuple((name, compile(source, str(INSIDE / f"{name}.py"), "exec")) for name, source in _sources())


@lru_cache
def _sources() -> tuple[tuple[str, bytes], ...]:
    return tuple((name, (INSIDE / f"{name}.py").read_bytes()) for name in _MODULES)


async def _start(command: Sequence[str], environment: Mapping[str, str], pass_fds: Sequence[int]) -> Process:
    try:
        return await start_process(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env={**_ENVIRONMENT, **environment}, cwd="/", start_new_session=True, pass_fds=pass_fds,
        )  # fmt: skip
    except OSError as error:
        raise ToolError(f"The fence could not be built: {error}") from error


async def _exchange(process: Process, content: bytes) -> tuple[bytes, bytes]:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(content)
    answer, trouble = await asyncio.gather(process.stdout.read(), process.stderr.read())
    return answer, trouble


async def _end(process: Process) -> None:
    """Ends the supervisor. When its stdin closes it ends everything; else it is killed with its namespace."""
    assert process.stdin
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _SUPERVISOR_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
    finally:
        process._transport.close()  # type: ignore[attr-defined] # the event loop may close before it notices the end


def _read_answer(answer: bytes) -> Mapping[str, Any]:
    content: Mapping[str, Any] = marshal.loads(answer)  # noqa: S302 - from our own supervisor, not from the program
    if "trouble" in content:
        raise ToolError(f"The fence could not be built: {content['trouble']}")
    return content


def _last_line(trouble: bytes) -> str:
    return (trouble.decode(errors="replace").strip().splitlines() or ["it ended without a word"])[-1]


def _outcome(answer: Mapping[str, Any], network: tuple[str, ...]) -> Outcome:
    return Outcome(
        stdout=answer["stdout"].decode(errors="replace"),
        stderr=answer["stderr"].decode(errors="replace"),
        exit_code=os.waitstatus_to_exitcode(answer["status"]) if answer["status"] is not None else -9,
        killed_because=answer["killed_because"],
        seconds=answer["seconds"],
        network=network,
    )


Level = Literal["auto", "strict", "docker", "none"]

_COMPLETE_LANDLOCK = 6
_FIX_ON_LINUX = """To fix it, do one of these:
- install bubblewrap: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`;
- where AppArmor refuses it user namespaces (Ubuntu 24.04), write this to /etc/apparmor.d/bwrap and run
  `apparmor_parser -r /etc/apparmor.d/bwrap`:
    abi <abi/4.0>,
    profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }
- use Linux 6.12 or newer with Landlock (`lsm=...,landlock` on the kernel's command line)."""
_FIX_ELSEWHERE = "There is no fence for this system; run ai-battle on Linux or in WSL 2, or use `sandbox: docker`."
_NO_FENCE_HINT = "To run code without a fence all the same, set `sandbox: none` and give --allow-unsandboxed."
_NO_PROXY = "can't keep a program to some hosts (allow_hosts), only bubblewrap can"

_TRIAL_SECONDS = 10.0
_TRIAL = """
print(1)
try:
    print(open({secret!r}).read())
except OSError:
    print("refused")
"""
_EXPECTED = "1\nrefused\n"
# Backends and their binaries. Not kept in a file: whether a sandbox works may change from one process to the next.
_working: set[tuple[str, str]] = set()


def choose(level: Level = "auto", allow_unsandboxed: bool = False, hosts: Iterable[str] = ()) -> Sandbox:
    """Returns the strongest sandbox that works here.

    `strict` accepts only one without gaps. `docker` is used only if named: it is slower, and hides less. `none` is no
    sandbox and needs `allow_unsandboxed`. With `hosts`, the sandbox can restrict programs to them. Raises `NoFence`
    saying why nothing works and what to do, and `ConfigError` for an invalid host.
    """
    found = AddressFilter(hosts)
    if level in ("none", "docker"):
        if found:
            raise NoFence(f"`sandbox: {level}` {_NO_PROXY}; use `auto`, or take allow_hosts out.")
        return _docker() if level == "docker" else _without_sandbox(allow_unsandboxed)
    reasons = []
    for backend, binary in _candidates():
        if not (reason := _lack(backend, level, found) or why_not(backend, binary)):
            return Sandbox(backend, found)
        reasons.append(f"- {backend.name}: {reason}")
    fix = _FIX_ON_LINUX if sys.platform == "linux" else _FIX_ELSEWHERE
    raise NoFence("\n".join(("Code can't be run safely on this machine.", *reasons, *_lacking(), fix, _NO_FENCE_HINT)))


def why_not(backend: Backend, binary: str = "") -> str:
    """Returns what is wrong with a backend here; "" if a trial program runs and can't read a forbidden file.

    A success is remembered for this process.
    """
    if (backend.name, binary) in _working:
        return ""
    # In a thread of its own, because the caller may be inside an event loop, where asyncio.run() fails.
    with ThreadPoolExecutor(1) as thread:
        reason = thread.submit(_problem, Sandbox(backend)).result()
    if not reason:
        _working.add((backend.name, binary))
    return reason


def _without_sandbox(allow_unsandboxed: bool) -> Sandbox:
    if not allow_unsandboxed:
        raise NoFence("`sandbox: none` runs code that models write without a fence; add --allow-unsandboxed too.")
    return Sandbox(Unconfined())


def _docker() -> Sandbox:
    if not (binary := shutil.which("docker")):
        raise NoFence("`sandbox: docker` needs Docker, and no 'docker' is on the PATH; install it, or use `auto`.")
    backend = Docker(binary)
    if reason := why_not(backend, binary):
        raise NoFence(f"Docker does not run code here: {reason}\nStart its engine and `docker pull {DOCKER_IMAGE}`.")
    return Sandbox(backend)


def _candidates() -> Iterator[tuple[Backend, str]]:
    """Yields the backends of this machine, the strongest first."""
    if sys.platform == "linux":
        if binary := shutil.which("bwrap"):
            yield Bubblewrap(binary), binary
        if landlock_version():
            yield Landlock(), ""


def _lack(backend: Backend, level: Level, hosts: AddressFilter) -> str:
    """Returns which requirement the backend lacks, or ""."""
    if hosts and not backend.has_network:
        return _NO_PROXY
    if level != "strict":
        return ""
    if not backend.syscall_filter:
        return "no filter of system calls is known for this processor"
    if not backend.isolated and landlock_version() < _COMPLETE_LANDLOCK:
        return f"Landlock {landlock_version()} leaves signals to other processes open"
    return ""


def _lacking() -> Iterator[str]:
    if sys.platform == "linux":
        if not shutil.which("bwrap"):
            yield "- bubblewrap: no 'bwrap' is on the PATH"
        if not landlock_version():
            yield "- landlock: this kernel does not offer it"


def _problem(sandbox: Sandbox) -> str:
    """Runs the trial and returns what went wrong, or ""."""
    with tempfile.TemporaryDirectory(prefix="ai-battle-") as outside:
        workspace, secret = Path(outside, "workspace"), Path(outside, "secret")
        workspace.mkdir()
        secret.write_text("read all the same")
        program = Program("python", _TRIAL.format(secret=str(secret)), _TRIAL_SECONDS)
        try:
            outcome = asyncio.run(sandbox.run(program, workspace))
        except AIBattleError as error:
            return str(error)
    if outcome.stdout == _EXPECTED:
        return ""
    printed = (outcome.stderr.strip() or outcome.stdout.strip()).splitlines() or ["nothing"]
    return f"a trial program did not do what it should: {outcome.killed_because or printed[-1]}"
