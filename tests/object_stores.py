"""S3 servers for tests, each a process of its own that can be lost."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

BUCKET = "bucket"
HEADERS = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=some-key/20260101/us-east-1/s3/aws4_request",
    "Content-Type": "application/octet-stream",
}
NEEDED = ("s3fs", "moto", "flask", "flask_cors")
SERVE = """
import sys
from werkzeug.serving import make_server
from moto.server import DomainDispatcherApplication, create_backend_app
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class ObjectStore:
    """An S3 server on loopback with one bucket, which is named `BUCKET`."""

    process: "subprocess.Popen[str]"
    url: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "some-key",
            "AWS_SECRET_ACCESS_KEY": "some-secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def put(self, key: str, body: bytes) -> None:
        self._ask("PUT", f"{BUCKET}/{key}", body)

    def get(self, key: str) -> bytes:
        return self._ask("GET", f"{BUCKET}/{key}")

    def make_bucket(self) -> None:
        self._ask("PUT", BUCKET)

    def lose(self) -> None:
        self.process.kill()
        self.process.wait()

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"{self.url}/{path}", body, HEADERS, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                found: bytes = answer.read()
        except urllib.error.HTTPError as error:
            with error:  # it is the answer too, and holds its connection
                raise FileNotFoundError(f"{method} {path}: {error.status}") from None
        return found


@contextmanager
def object_store(**settings: str) -> Iterator[ObjectStore]:
    for package in NEEDED:
        pytest.importorskip(
            package, reason=f"needs the package {package}: pip install s3fs 'moto[s3]' flask flask-cors"
        )
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **settings},
    )
    assert process.stdout
    try:
        yield ObjectStore(process, f"http://127.0.0.1:{process.stdout.readline().strip()}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
