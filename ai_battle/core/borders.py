"""The border to code that we did not write: whatever it raises comes out as an error of ours."""

from asyncio import CancelledError
from contextlib import suppress
from types import TracebackType

from .errors import AIBattleError

# Ours, or meant for whoever runs the program; a panic of Rust or C++ code below a plug-in is neither.
PASSED_ON = (AIBattleError, KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError)


def words(error: BaseException | None) -> str:
    """What an exception says; nothing, where even that fails."""
    with suppress(Exception):
        return str(error)
    return ""


class foreign_code:  # noqa: N801 - used like contextlib.suppress
    """Around a plug-in, a tool or a listener: any exception that is not ours becomes `raises(what: ...)`."""

    __slots__ = ("_raises", "_what")

    def __init__(self, what: str, raises: type[AIBattleError]) -> None:
        self._what = what
        self._raises = raises

    def __enter__(self) -> None:
        """Nothing is opened, so one instance can guard any number of calls, also at once."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error and not isinstance(error, PASSED_ON):
            raise self._raises(f"{self._what}: {type(error).__name__}: {words(error)}") from error
