"""The versions of the calibration of a pair that calibrates itself by its shadow's findings. All are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..core.errors import ConfigError
from ..judging.calibration import Calibration
from ..judging.promise import digest
from .store import EvidenceRecord, EvidenceStore

VERSIONS = "calibrations"


@dataclass(frozen=True, slots=True)
class CalibrationVersion:
    """A calibration that decides about help from `time` (seconds since the epoch) until there is a newer version.

    It is based on `labels` comparisons, or repeats the version `restored`.
    """

    number: int
    time: float
    calibration: Calibration
    labels: int
    restored: int = 0

    @property
    def cut(self) -> str:
        """The key of its watch, which is new for each version."""
        return digest([self.number, self.calibration.as_json()])

    @property
    def words(self) -> str:
        of = f"restored from version {self.restored}" if self.restored else f"from {self.labels:,} comparisons"
        day = datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"version {self.number}, {day}, {of}: about {self.calibration.help_rate:.0%} of the answers get help"

    def to_json(self) -> dict[str, Any]:
        data = {"number": self.number, "time": self.time, "labels": self.labels, "restored": self.restored}
        return {**data, "calibration": self.calibration.as_json()}


def read_versions(store: EvidenceStore, pair: str) -> Sequence[CalibrationVersion]:
    """Returns all versions, the newest last. Raises `StoreError`."""
    return [_version(record) for record in store.records(VERSIONS, pair)]


def newest_version(store: EvidenceStore, pair: str) -> CalibrationVersion | None:
    found = store.records(VERSIONS, pair, newest=1)
    return _version(found[0]) if found else None


def keep_version(
    store: EvidenceStore, pair: str, calibration: Calibration, labels: int, *, after: int, restored: int = 0
) -> None:
    """Stores the version after that number; if another process was faster, its version counts."""
    document = {"calibration": calibration.as_json(), "labels": labels, "restored": restored}
    store.add(VERSIONS, pair, str(after + 1), document)


def undo_version(store: EvidenceStore, pair: str) -> Sequence[CalibrationVersion]:
    """Restores the calibration before the current one as a new version; returns both, the old one first.

    Raises `ConfigError` if there is none before, and `StoreError`.
    """
    known = {version.number: version for version in read_versions(store, pair)}
    if not known:
        raise ConfigError(f"{pair} has not calibrated itself; only a pair with `calibration: auto` does.")
    now = known[max(known)]
    before = known.get((now.restored or now.number) - 1)
    while before and before.restored:
        before = known.get(before.restored)
    if not before:
        raise ConfigError(
            f"There is nothing to go back to: version {now.restored or now.number} is the first of {pair}. To let "
            "each answer get help, remove its calibration, or set threshold: 1."
        )
    keep_version(store, pair, before.calibration, before.labels, after=now.number, restored=before.number)
    return now, read_versions(store, pair)[-1]


def _version(record: EvidenceRecord) -> CalibrationVersion:
    kept: Mapping[str, Any] = record.document
    made = Calibration.of_json(kept["calibration"])
    return CalibrationVersion(int(record.key), record.time, made, kept["labels"], kept["restored"])
