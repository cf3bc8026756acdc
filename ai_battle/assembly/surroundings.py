"""What models are made with: sections of the file, the environment, tapes and retries."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.documents import Document
from ..core.redaction import NO_SECRETS, Redactor
from ..providers._retry import PATIENT, RetryPolicy
from ..providers._tape import Recorder, Tape

if TYPE_CHECKING:
    from ..config import Loaded


__all__ = ["NO_TAPES", "RetryPolicy", "Surroundings", "Tapes"]


@dataclass(frozen=True, slots=True)
class Tapes:
    """Files of exchanges with models: one to write (`record`), one to answer from without calling any (`replay`)."""

    record: str = ""
    replay: str = ""


NO_TAPES = Tapes()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What models are made with: sections of the file, the environment, and how many script entries are used up."""

    providers: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    context_windows: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    retry: RetryPolicy = PATIENT
    starts: Mapping[str, int] = field(default_factory=dict)
    recorder: Recorder | None = None
    tape: Tape | None = None
    base: Path = Path()
    redactor: Redactor = NO_SECRETS

    @classmethod
    def of(cls, loaded: "Loaded", starts: Mapping[str, int] | None = None, tapes: Tapes = NO_TAPES) -> "Surroundings":
        return replace(
            cls.beside(loaded, RetryPolicy.of(loaded.file.discussion.timeouts)),
            starts=starts or {},
            recorder=Recorder(Path(tapes.record), loaded.redactor) if tapes.record else None,
            tape=Tape.read(Path(tapes.replay)) if tapes.replay else None,
        )

    @classmethod
    def beside(cls, document: Document[Any], retry: RetryPolicy) -> "Surroundings":
        """What stands beside the main section of any kind of file."""
        file = document.file
        return cls(
            providers={name: _written(section) for name, section in file.providers.items()},
            prices={name: _written(section) for name, section in file.prices.items()},
            context_windows=file.context_windows,
            environment=document.environment,
            retry=retry,
            base=document.base,
            redactor=document.redactor,
        )


def _written(section: Any) -> dict[str, Any]:
    """What the file says of a section, without what it leaves open."""
    written: dict[str, Any] = section.model_dump(exclude_unset=True)
    return written
