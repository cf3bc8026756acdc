"""The border to code that we did not write: whatever it raises comes out as an error of ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import AIBattleError


@contextmanager
def foreign_code(what: str, raises: type[AIBattleError]) -> Iterator[None]:
    """Runs a plug-in, a tool or a listener; any exception that is not ours becomes `raises(what: ...)`."""
    try:
        yield
    except AIBattleError:
        raise
    except Exception as error:
        raise raises(f"{what}: {type(error).__name__}: {error}") from error
