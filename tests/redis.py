"""A Redis of its own for a test, from the package of the distribution."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class RedisProcess:
    folder: Path
    port: int
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        more = ["--appendonly", "yes", "--save", "", "--daemonize", "no", *self.options]
        self.process = subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as asked:
                asked.sendall(b"PING\r\n")
                if asked.recv(100)[:1] in b"+-" and not asked.recv(0):
                    return
            time.sleep(0.02)
        raise TimeoutError("redis-server did not start")

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[RedisProcess]:
    pytest.importorskip("redis", reason="needs the package redis: pip install 'ai-battle[redis]'")
    if not shutil.which("redis-server"):
        pytest.skip("needs redis-server, from the Debian package of that name")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    redis = RedisProcess(folder, port, options)
    redis.start()
    try:
        yield redis
    finally:
        redis.kill()
