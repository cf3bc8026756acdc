"""Who speaks next."""

from collections.abc import Iterable, Sequence
from random import Random

from ..core.exchange import ModelRequest
from ..core.messages import Message, user
from .participant import Participant
from .prompting import prompt

HEARD = 8
LONGEST = 600


def round_robin(names: Sequence[str], order: Sequence[str], last: str) -> str:
    """The first of `names` after `last` in speaking order."""
    start = order.index(last) + 1 if last in order else 0
    return next(name for name in (*order[start:], *order[:start]) if name in names)


def drawn(names: Sequence[str], last: str, seed: int, turn: int) -> str:
    """Anyone but the last speaker; the same seed draws the same speaker for the same turn, whatever happened before."""
    others = [name for name in names if name != last] or list(names)
    return Random(f"{seed}:{turn}").choice(others)  # noqa: S311 - no secret depends on it


def choice_request(
    opening: str, recent: Iterable[Message], names: Sequence[str], selector: Participant
) -> ModelRequest:
    """Asks for one of `names`, by schema where the model's API knows one; short, so that a model of 1B can follow."""
    said = "\n\n".join(f"{message.speaker}: {_shortened(message.text)}" for message in [*recent][-HEARD:])
    asked = prompt("choose", said=f"{_shortened(opening)}\n\n{said}".strip(), names=", ".join(names))
    schema = {
        "type": "object",
        "properties": {"next": {"type": "string", "enum": list(names)}},
        "required": ["next"],
        "additionalProperties": False,
    }
    return ModelRequest(
        (user(asked),), prompt("select"), tool_choice="none", output_schema=schema, options=selector.parameters
    )


def _shortened(text: str) -> str:
    """The beginning and the end: questions to somebody tend to stand last."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"
