"""What attacks are after: files, processes, sockets and memory of others, on this machine and for the test only."""

import contextlib
import json
import os
import platform
import re
import secrets
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import shared_memory
from pathlib import Path

_KEEPER = """
import ctypes, sys, time
kept = ctypes.create_string_buffer(b"SECRET memory")
print(ctypes.addressof(kept), flush=True)
time.sleep(600)
"""


class World:
    """`places` stand in the programs as names in capitals; `visits` counts who came to the sockets."""

    def __init__(self, places: dict[str, str], listeners: list[socket.socket], post_box: socket.socket) -> None:
        self.places = places
        self.visits = 0
        threading.Thread(target=self._receive, args=(post_box,), daemon=True).start()
        for listener in listeners:
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def put_into(self, code: str) -> str:
        for name in sorted(self.places, key=len, reverse=True):
            code = code.replace(name, self.places[name])
        return code

    def _receive(self, post_box: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while post_box.recv(100):
                self.visits += 1

    def _serve(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                visitor, _ = listener.accept()
                self.visits += 1
                visitor.close()


@contextlib.contextmanager
def world() -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(tcp.getsockname())
        abstract = f"ai-battle-test-{secrets.token_hex(4)}"
        hidden = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        hidden.bind(f"\0{abstract}")
        hidden.listen()
        letters = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        letters.bind(f"\0{abstract}-letters")
        block = shared_memory.SharedMemory(create=True, size=64)
        stack.callback(block.unlink)
        stack.callback(block.close)
        assert block.buf is not None
        block.buf[:6] = b"SECRET"
        victim, address = stack.enter_context(_victim())
        yield World(
            {
                "PORT": str(tcp.getsockname()[1]),
                "ABSTRACT": abstract,
                "ABSTRACT-DATAGRAMS": f"{abstract}-letters",
                "SHARED_BLOCK": block.name,
                "VICTIM": str(victim),
                "VICTIM_ADDRESS": address,
                "PARENT": str(os.getpid()),
                "HOME_OF_USER": str(Path.home()),
                "PYTHON_PREFIX": sys.base_prefix,
                "LEADS_TO_PYTHON": json.dumps(_leads_to_python()),
                "PATTERN_OF_LEADS": "|".join(map(re.escape, _leads_to_python())),
                "MACHINE": platform.node(),
                "SUFFIX": str(os.getpid()),
            },
            [tcp, hidden],
            udp,
        )


def _leads_to_python() -> list[str]:
    """Names in a home, or in /home, below which the interpreter and its packages lie: the fence shows these alone."""
    homes = (Path.home(), Path("/root"), Path("/home"))
    shown = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix, *sys.path) if Path(prefix).is_absolute()]
    return sorted({path.relative_to(home).parts[0] for home in homes for path in shown if home in path.parents})


@contextlib.contextmanager
def socket_at(path: Path, kind: socket.SocketKind) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(str(path))
        if kind == socket.SOCK_STREAM:
            listener.listen(1000)
        yield listener


def picture(folder: Path, without: Path) -> dict[str, object]:
    """Everything below a folder that could be changed, but for one folder in it."""
    found: dict[str, object] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        if path == without or without in path.parents:
            continue
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path)] = content, status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, status.st_nlink
    return found


@contextlib.contextmanager
def _victim() -> Iterator[tuple[int, str]]:
    environment = {**os.environ, "API_KEY": "SECRET key"}
    with subprocess.Popen(
        [sys.executable, "-c", _KEEPER], env=environment, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        try:
            yield victim.pid, victim.stdout.readline().strip()
            assert victim.poll() is None, "the other process was killed"
        finally:
            victim.kill()
