"""Names of tools as they go over the wire: `server:tool` becomes what every provider takes, and is found again."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

LENGTH, SUFFIX = 64, 7
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")
_START = re.compile(r"[a-zA-Z_]")


class WireNames:
    """`names` are all that a request speaks of. A name that had to be changed has the same form in each request.

    Where two would have the same form, each that was changed gets a suffix made of what it was.
    """

    def __init__(self, names: Iterable[str]) -> None:
        plain = {name: _plain(name) for name in names}
        taken = Counter(plain.values())
        self._sent = {name: form if name == form or taken[form] == 1 else _marked(name) for name, form in plain.items()}
        self._meant = {form: name for name, form in self._sent.items()}

    def __bool__(self) -> bool:
        """Whether any name differs from what it is on the wire."""
        return any(name != form for name, form in self._sent.items())

    def sent(self, name: str) -> str:
        return self._sent.get(name, name)

    def meant(self, name: str) -> str:
        return self._meant.get(name, name)


def _plain(name: str) -> str:
    form = _allowed(name)
    return form if len(form) <= LENGTH else _marked(name)


def _marked(name: str) -> str:
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[: SUFFIX - 1]
    return f"{_allowed(name)[: LENGTH - SUFFIX]}_{mark}"


def _allowed(name: str) -> str:
    """Nothing but letters, digits, underscores and dashes, and a letter or an underscore first."""
    form = _FORBIDDEN.sub("_", name)
    return form if _START.match(form) else f"_{form}"
