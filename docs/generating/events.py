"""The page of the events, from the values themselves."""

from typing import get_args

from ai_battle.conversation import records
from ai_battle.core.events import DELTAS, Event

from .source import docstring, outline

HEAD = """# Events

A listener is any function (or object) that is awaited with each event of a run: `await manager.run_discussion(listen)`.
Screen, journal, costs and progress bars are listeners. Events are frozen values of `ai_battle.core.events`; those
around tools are of `ai_battle.core.tooling`, those around help of `ai_battle.core.helping`.

A run without a listener asks models for whole answers. A listener that does not use deltas can do without them too:
`await manager.run_discussion(listen, WHOLE_ANSWER)`; `Wants` and that value are of `ai_battle.core.exchange`.

A listener that fails never ends a run; one warning (`Warned`) reports it. Text deltas are valid until an
`AttemptFailed`: the text that came before it does not count, and the next attempt begins anew.

All but the deltas stand in the [journal](run-directory.md), under the type that is named here.
"""


def page() -> str:
    return "\n\n".join((HEAD, *map(_section, get_args(Event))))


def _section(kind: type) -> str:
    journalled = "" if kind in DELTAS else f"In the journal: `{records.layout(kind)[0]}`."
    return "\n\n".join(
        filter(None, (f"## {kind.__name__}", f"```python\n{outline(kind)}\n```", docstring(kind), journalled))
    )
