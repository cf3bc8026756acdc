"""What a model can do, and from whom that is known: the file, refusals, the server now, or a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ._capability_table import KNOWN_ON, TABLE
from ._learned import Learned
from ._model_rows import Says
from ._names import ModelName
from ._prices import context_window

NAMES = ("tools", "images", "documents", "reasoning", "json_schema", "context_window", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Known:
    """A capability and who says so."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is not in `known` nobody knows: try it, and what is refused is remembered."""

    known: Mapping[str, Known]
    refused: frozenset[str] = frozenset()
    note: str = ""

    def __getitem__(self, name: str) -> Any:
        """The value, None where it is not known."""
        found = self.known.get(name)
        return found.value if found else None


def trusted(sources: Iterable[tuple[str, Says]]) -> Mapping[str, Known]:
    """Each capability from the first source that tells it."""
    known: dict[str, Known] = {}
    for source, says in sources:
        for name, value in says.items():
            if value is not None:
                known.setdefault(name, Known(value, source))
    return known


def at_hand(name: ModelName, stated: Says | None = None) -> Capabilities:
    """What is known without asking anybody; `stated` is the participant's `capabilities:`."""
    return together(name, stated or {}, {})


def together(name: ModelName, stated: Says, asked: Says, endpoint: str = "", note: str = "") -> Capabilities:
    """What each source says; `asked` is what the server answered."""
    refused = Learned.load().refuses(endpoint or name.provider, name.model)
    return Capabilities(
        trusted(
            (
                ("file", stated),
                ("learned", dict.fromkeys(refused & set(NAMES), False)),
                ("server", asked),
                (f"table of {KNOWN_ON}", _table(name)),
                ("genai-prices", {"context_window": context_window(name)}),
            )
        ),
        refused,
        note,
    )


def _table(name: ModelName) -> Says:
    return next((says for pattern, says in TABLE if fnmatchcase(str(name).lower(), pattern)), {})
