"""Streams of the Responses API, as a server writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import AIBattleError
from ...core.events import Event
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Part
from .._blocks import Block, Blocks
from .._json import dumps
from .._rest import finished
from ..failures import Failed, failure
from ..openai.parts import refusal, refuses
from .answer import PREFIXES, ended, item_of, new_response, says_no, started, status_of
from .errors import error_in_response
from .tools import Told, known_to_client


class StreamWriter:
    """One per answer. `model` is the name that the client asked for, `request` what is answered.

    This API always tells the usage. `answer` is the whole response when it has ended well.
    """

    def __init__(
        self, model: str, *, usage: bool = True, input_tokens: int = 0, request: ModelRequest | None = None
    ) -> None:
        self._response = new_response(model, request)
        self.answer: dict[str, Any] | None = None
        self._form = _Form(self._response["id"], known_to_client(request))
        self._blocks = Blocks(self._form)

    def begin(self) -> bytes:
        return self._tell("response.created", {}) + self._tell("response.in_progress", {})

    def feed(self, event: Event) -> bytes:
        if refuses(event):
            return self._blocks.begin(Block("text", part=refusal("")))
        return self._blocks.feed(event)

    def finish(self, response: ModelResponse) -> bytes:
        self._form.status = status = status_of(response)
        told = finished(self._blocks, response.message)
        end = ended(response, self._form.output)
        self.answer = self._response | end
        return told + self._tell(f"response.{status}", end)

    def whole(self, response: ModelResponse) -> bytes:
        """The answer in one piece."""
        self.finish(response)
        return dumps(self.answer)

    def fail(self, error: AIBattleError | Failed) -> bytes:
        """What had not come to its end is no part of the response: clients act on items that are done."""
        fields = {"status": "failed", "error": error_in_response(failure(error)), "output": self._form.output}
        return self._tell("response.failed", fields)

    def ping(self) -> bytes:
        """This API has no event for it: that the answer is in progress may be said again."""
        return self._tell("response.in_progress", {})

    def _tell(self, name: str, fields: dict[str, Any]) -> bytes:
        return self._form.event(name, {"response": self._response | fields})


@dataclass(frozen=True, slots=True)
class _Growth:
    """The events of an item that grows: those of its only part, and those of the field that `grows`."""

    events: str
    grows: str
    part: str = ""
    place: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


_TEXT = _Growth("output_text", "text", "content_part", {"content_index": 0}, {"logprobs": []})
_REFUSAL = _Growth("refusal", "refusal", "content_part", {"content_index": 0})
_SUMMARY = _Growth("reasoning_summary_text", "text", "reasoning_summary_part", {"summary_index": 0})
_CALL = _Growth("function_call_arguments", "arguments")
_CUSTOM = _Growth("custom_tool_call_input", "input")
_NEVER = _Growth("", "")


class _Form:
    """Blocks as items. A custom tool's text stands inside of arguments: it is told when they are whole."""

    interleaves = False

    def __init__(self, id_: str, told: dict[str, Told]) -> None:
        self.output: list[dict[str, Any]] = []
        self.status = "completed"
        self._id = id_.partition("_")[2]
        self._told = told
        self._number = 0
        self._growth = _NEVER
        self._place: dict[str, Any] = {}
        self._before = b""

    def is_whole(self, part: Part) -> bool:
        return False

    def event(self, name: str, fields: Mapping[str, Any]) -> bytes:
        body = {"type": name, **fields, "sequence_number": self._next()}
        return b"event: %s\ndata: %s\n\n" % (name.encode(), dumps(body))

    def opened(self, block: Block) -> bytes:
        item = self._item(block)
        growth = self._growth = self._growth_of(block)
        self._place = {"item_id": item["id"], "output_index": block.index, **growth.place}
        self._before = _delta(growth, {**self._place, **growth.more})
        added = self.event("response.output_item.added", {"output_index": block.index, "item": started(item)})
        return added + (self._part("added", {**_part_of(item), growth.grows: ""}) if growth.part else b"")

    def grown(self, block: Block, fragment: str) -> bytes:
        if self._growth is _CUSTOM:
            return b""
        return b"".join((self._before, dumps(fragment), b',"sequence_number":%d}\n\n' % self._next()))

    def closed(self, block: Block) -> bytes:
        item = self._item(block)
        self.output.append(item)
        said = self._said(item) if self._growth is not _NEVER else b""
        return said + self.event("response.output_item.done", {"output_index": block.index, "item": item})

    def _said(self, item: dict[str, Any]) -> bytes:
        """That the only part of an item, or its arguments, have come to their end."""
        growth, part = self._growth, _part_of(item)
        text = part[growth.grows]
        whole = (
            self.event(f"response.{growth.events}.delta", {**self._place, "delta": text}) if growth is _CUSTOM else b""
        )
        done = self.event(f"response.{growth.events}.done", {**self._place, growth.grows: text, **growth.more})
        return whole + done + (self._part("done", part) if growth.part else b"")

    def _part(self, what: str, part: Mapping[str, Any]) -> bytes:
        return self.event(f"response.{self._growth.part}.{what}", {**self._place, "part": part})

    def _growth_of(self, block: Block) -> _Growth:
        if block.kind == "call":
            told = self._told.get(block.name)
            return _CUSTOM if told and told.is_custom else _CALL
        if block.kind == "thinking":
            return _NEVER if block.signature and not block.fragments else _SUMMARY
        return _REFUSAL if says_no(block) else _TEXT

    def _item(self, block: Block) -> dict[str, Any]:
        id_ = f"{PREFIXES[block.kind]}_{self._id}{block.index:x}"
        return item_of(block, id_, self.status, self._told.get(block.name))

    def _next(self) -> int:
        number = self._number
        self._number = number + 1
        return number


def _part_of(item: dict[str, Any]) -> dict[str, Any]:
    """Where it grows: its only part, or the item itself."""
    parts = item.get("content") or item.get("summary")
    part: dict[str, Any] = parts[0] if parts else item
    return part


def _delta(growth: _Growth, place: Mapping[str, Any]) -> bytes:
    """A delta up to its text."""
    name = f"response.{growth.events}.delta"
    return b'event: %s\ndata: %s,"delta":' % (name.encode(), dumps({"type": name, **place})[:-1])
