"""The calls that a model wishes for: its own, or those that leaked into its text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..core.exchange import ModelResponse, ToolSpec
from ..core.messages import ToolCall, ToolResult
from ..wire.dialects.calls import Offered
from ..wire.dialects.reader import read
from ..wire.dialects.reading import Proposal, without_cut_call
from .formats.answers import BEHIND, PROPOSED, UNREAD, behind, is_quoted, problems_in


@dataclass(frozen=True, slots=True)
class Wishes:
    """`calls` to run; `problems` are what the model has to know.

    `prose` is the text around calls that stood in it, `after` what stands behind the first of them; `proposals` are
    calls in the prose that are not to be run.
    """

    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    problems: tuple[str, ...] = ()
    after: str = ""
    proposals: tuple[Proposal, ...] = ()


def wishes(response: ModelResponse, specs: tuple[ToolSpec, ...], results: Iterable[ToolResult] = ()) -> Wishes:
    """What `response` asks for. A call that only repeats what a tool returned is a quotation."""
    proposed = response.extra.get(PROPOSED, ())
    if calls := response.tool_calls:
        return Wishes(tuple(_resolved(calls, specs)), response.text, (), response.extra.get(BEHIND, ""), proposed)
    if problems := response.extra.get(UNREAD):
        return Wishes(prose=response.text, problems=problems, proposals=proposed)
    reading = read(response.text, specs)
    if response.stop == "length":
        reading = without_cut_call(reading, response.text)
    if not reading.spans or is_quoted(reading, response.text, specs, results):
        return Wishes(prose=response.text, proposals=() if reading.spans else reading.proposals)
    after = behind(reading, response.text)
    return Wishes(reading.calls, reading.prose.strip(), problems_in(reading), after, reading.proposals)


def _resolved(calls: Iterable[ToolCall], specs: tuple[ToolSpec, ...]) -> Iterator[ToolCall]:
    """Under the names of the tools, where a model spells them its own way."""
    offered = Offered(specs)
    for call in calls:
        name = offered.resolve(call.name) or call.name
        yield call if name == call.name else replace(call, name=name)
