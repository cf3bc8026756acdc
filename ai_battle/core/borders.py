"""The border to code that we did not write: whatever it raises comes out as an error of ours."""

from types import TracebackType

from .errors import AIBattleError


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
        if isinstance(error, Exception) and not isinstance(error, AIBattleError):
            raise self._raises(f"{self._what}: {type(error).__name__}: {error}") from error
