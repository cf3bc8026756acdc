"""Keeps a folder of an object store as a private local copy, and stores each file again when it changes.

A store has neither appends nor locks, so files are stored whole, and each only over the version that was last seen:
https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html. No writer undoes another's work.
"""

import os
import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

from . import plugins
from .errors import ConfigError, JournalError
from .files import LOCK, open_copies
from .texts import one_line

SCHEME = "s3://"
CLAIM = ".claim"
DATABASE = ".sqlite"
NOT_STORED = (LOCK, CLAIM, ".partial", "-wal", "-shm", "-journal", "/")
"""Endings of names that are not transferred; some tools mark folders by objects whose names end in a slash."""

STORE_SECONDS = 1.0
"""Seconds between storing changes; more in a slow store, so that it takes at most a quarter of the time."""

RENEWAL, STILL = 5.0, 20.0
"""Seconds between renewals of a claim, and how long a claim must be unrenewed before another may take it over."""

SLOW = {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 2}}
MAX_ERROR = 300

_addresses: dict[str, str] = {}

Stamp = tuple[tuple[int, int], ...]


def is_address(place: object) -> bool:
    return "://" in str(place)


def shown_path(path: Path) -> str:
    """Returns the path as the user knows it: the address, if it is inside a copy."""
    return with_addresses(str(path))


def with_addresses(text: str) -> str:
    """Returns the text with the paths of copies, even closed ones, replaced by their addresses."""
    for folder, address in _addresses.items():
        text = text.replace(folder, address)
    return text


class WorkingCopy:
    """A local copy, in `folder`, of what is at an address. Changes are stored until it is closed.

    With `claim` nobody else may claim the address: its holder renews the claim as long as it lives. A stale claim is
    recognised by watching it for a while, which needs no common clock; `tell` is called before that wait. Raises
    `ConfigError` for an unusable address, and `JournalError` if somebody else has claimed it.
    """

    def __init__(self, address: str, *, claim: bool = True, tell: Callable[[str], None] | None = None) -> None:
        self.address = address.rstrip("/")
        self._key = _key_of(self.address)
        self._store, self._faults = _connect()
        self._root = Path(mkdtemp(prefix="ai-battle-"))
        self.folder = self._root / self._key.rpartition("/")[2]
        self._versions: dict[str, str] = {}
        self._stamps: dict[str, Stamp] = {}
        self._mutex = threading.Lock()
        self._closing = threading.Event()
        self._taken = self._claimed = ""
        self._holder = f"process {os.getpid()} on {socket.gethostname()}"
        self._threads: tuple[threading.Thread, ...] = ()
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, self._root)
            self.folder.mkdir()
            try:
                if claim:
                    self._claimed = self._claim(tell)
                self._fetch()
                if claim:
                    self._renew()  # fetching may have taken longer than a claim lasts
            except self._faults as error:
                raise ConfigError(_unusable_store(self.address, error)) from error
            undo.pop_all()
        open_copies[self.folder], _addresses[str(self.folder)] = self, self.address
        if claim:
            tasks = ((self._renew, RENEWAL), (self.store, STORE_SECONDS))
            self._threads = tuple(threading.Thread(target=self._repeat, args=task, daemon=True) for task in tasks)
            for thread in self._threads:
                thread.start()

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *error: object) -> None:
        self.close()

    def fetch(self, folder: Path) -> None:
        """Fetches again what somebody else has stored in a subfolder. Raises `JournalError`."""
        with self._reaching():
            self._fetch(folder.relative_to(self.folder).as_posix())

    def _fetch(self, below: str = "") -> None:
        with self._mutex:
            found = self._store.find(f"{self._key}/{below}", detail=True)
            keys = {name: key for key in found if self._is_ours(name := key[len(self._key) + 1 :])}
            self._store.get([*keys.values()], [str(self.folder / name) for name in keys])
            for name, key in keys.items():
                self._versions[name], self._stamps[name] = found[key]["ETag"], _stamp(self.folder / name)

    def store(self) -> None:
        """Stores what has changed. Raises `JournalError` if that fails, or if somebody else has written there."""
        with self._mutex, self._reaching():
            for name, stamp in self._changes():
                if self._taken:
                    break
                self._versions[name] = self._write(name, _content(self.folder / name), self._versions.get(name, ""))
                self._stamps[name] = stamp
        self.require_own()

    def require_own(self) -> None:
        """Raises `JournalError` if somebody else goes on with this folder, so that nothing more is paid for here."""
        if self._taken:
            raise JournalError(self._taken)

    def close(self) -> None:
        """Stores the rest and deletes the copy. If not everything can be stored, it stays and the error says where."""
        self._closing.set()
        for thread in self._threads:
            thread.join()
        try:
            self.store()
            if self._claimed:
                self._renew()  # fails if somebody else has claimed it meanwhile, so that theirs is not deleted
                with self._reaching():
                    self._store.rm_file(f"{self._key}/{CLAIM}")
        except JournalError as error:
            del _addresses[str(self.folder)]
            raise JournalError(f"{error} Everything said here is kept in {self.folder}.") from error
        finally:
            del open_copies[self.folder]
        shutil.rmtree(self._root)

    def _repeat(self, act: Callable[[], None], seconds: float) -> None:
        pause = seconds
        while not self._closing.wait(pause) and not self._taken:
            began = monotonic()
            with suppress(JournalError):  # `_taken` is reported by whoever writes there; all else is tried again
                act()
            pause = max(seconds, 3 * (monotonic() - began)) if act == self.store else seconds

    def _claim(self, tell: Callable[[str], None] | None) -> str:
        """Claims the address and returns the version of the claim."""
        version, ends = self._version(CLAIM), monotonic() + STILL
        if version and tell:
            tell(f"{self.address} is claimed; whether its owner is still alive shows within {STILL:g} seconds.")
        while version and monotonic() < ends:
            sleep(STORE_SECONDS)
            before, version = version, self._version(CLAIM)
            if version and version != before:
                holder = self._store.cat_file(f"{self._key}/{CLAIM}").decode(errors="replace").partition(",")[0]
                raise JournalError(
                    f"{self.address} is in use by {one_line(holder, MAX_ERROR)}; wait until it has ended."
                )
        claimed = self._write(CLAIM, self._claim_words(), version)
        self.require_own()
        return claimed

    def _claim_words(self) -> bytes:
        """Returns a new text each time, since equal texts would have equal versions (ETags)."""
        return f"{self._holder}, {token_hex(8)}".encode()

    def _renew(self) -> None:
        with self._reaching():
            self._claimed = self._write(CLAIM, self._claim_words(), self._claimed)
        self.require_own()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except self._faults as error:
            raise JournalError(_unusable_store(self.address, error)) from error

    def _write(self, name: str, body: bytes, version: str) -> str:
        """Stores over that version, or only if none exists. Returns the new version, or marks the folder as taken."""
        bucket, _, key = f"{self._key}/{name}".partition("/")
        condition = {"IfMatch": version} if version else {"IfNoneMatch": "*"}
        try:
            return str(self._store.call_s3("put_object", Bucket=bucket, Key=key, Body=body, **condition)["ETag"])
        except self._faults:
            now = self._version(name)
            if now == version:
                raise
            if now and self._store.cat_file(f"{bucket}/{key}") == body:  # stored; only the reply was lost
                return now
        self._taken = (
            f"{self.address}/{name} was changed by somebody else, who continues there; nothing more is stored."
        )
        return version

    def _version(self, name: str) -> str:
        """Returns the ETag of an object, or "" if it does not exist."""
        bucket, _, key = f"{self._key}/{name}".partition("/")
        try:
            return str(self._store.call_s3("head_object", Bucket=bucket, Key=key)["ETag"])
        except FileNotFoundError:
            return ""

    def _changes(self) -> Iterator[tuple[str, Stamp]]:
        """Yields the changed files, oldest first, so that no reader sees a report before its figures."""
        stamps = {path.relative_to(self.folder).as_posix(): _stamp(path) for path in self.folder.rglob("*")}
        for name, stamp in sorted(stamps.items(), key=lambda item: item[1]):
            if stamp and _is_stored(name) and stamp != self._stamps.get(name):
                yield name, stamp

    def _is_ours(self, name: str) -> bool:
        """Returns whether the name may be fetched: it must not lead out of the folder, whatever the key is called."""
        return _is_stored(name) and (self.folder / name).resolve().is_relative_to(self.folder.resolve())


def _connect() -> tuple[Any, tuple[type[Exception], ...]]:
    """Returns the store, configured by the usual AWS variables, and the exceptions that it raises."""
    settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))
    faults = plugins.optional("botocore.exceptions", "s3")
    return _store_with(settings), (OSError, faults.BotoCoreError, faults.ClientError)


@cache
def _store_with(settings: tuple[tuple[str, str], ...]) -> Any:
    # One store serves all copies, so that its connections are reused; they are closed at exit.
    s3fs = plugins.optional("s3fs", "s3")
    return s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True, config_kwargs=SLOW)


def _key_of(address: str) -> str:
    key = address.removeprefix(SCHEME)
    bucket, _, folder = key.partition("/")
    if not address.startswith(SCHEME) or not bucket or not folder:
        raise ConfigError(f"{address} is not the address of a folder; write it as {SCHEME}BUCKET/FOLDER.")
    return key


def _unusable_store(address: str, error: Exception) -> str:
    words = "there is no such bucket" if isinstance(error, FileNotFoundError) else one_line(str(error), MAX_ERROR)
    return (
        f"{address} can't be used: {words.rstrip('.')}. Credentials are read from AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY or AWS_PROFILE, the endpoint from AWS_ENDPOINT_URL."
    )


def _is_stored(name: str) -> bool:
    return bool(name) and not name.endswith(NOT_STORED)


def _stamp(path: Path) -> Stamp:
    """Returns a value that changes with the file, () if it is none. A database also has pages in its `-wal` file."""
    found = []
    for part in (path, path.with_name(f"{path.name}-wal")) if path.suffix == DATABASE else (path,):
        with suppress(FileNotFoundError):
            about = part.stat()
            found.append((about.st_mtime_ns, about.st_size))
    return tuple(found) if path.is_file() else ()


def _content(path: Path) -> bytes:
    if path.suffix != DATABASE:
        return path.read_bytes()
    with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(":memory:")) as whole:
        database.backup(whole)
        return whole.serialize()
