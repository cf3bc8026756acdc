"""What of an answer no delta has told: all of it where nothing was streamed, as a rule nothing else."""

from collections import deque
from collections.abc import Iterator

from ..core.messages import Message, Part, Text, Thinking, ToolCall
from ._blocks import Block, Blocks, Words
from ._calls import new_id
from ._json import dumps


def finished(blocks: Blocks, message: Message) -> bytes:
    """The rest of the answer and the ends of its blocks."""
    return b"".join((*_Rest(blocks).of(message), blocks.end()))


class _Rest:
    """Goes through the parts of an answer, and knows where in what was told it is."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        calls = [block for block in blocks.all if block.kind == "call"]
        self._by_id = {block.id: block for block in calls}
        self._without_ids = deque(block for block in calls if not block.has_own_id)
        self._told: dict[Words, str] = {"text": _said(blocks, "text"), "thinking": _said(blocks, "thinking")}
        self._at: dict[Words, int] = {"text": 0, "thinking": 0}
        self._wholes = sum(block.kind == "whole" for block in blocks.all)
        self._signatures = {block.signature for block in blocks.all}

    def of(self, message: Message) -> Iterator[bytes]:
        for part in message.parts:
            if self._blocks.is_whole(part):
                yield self._whole(part)
                continue
            match part:
                case Text():
                    yield self._words("text", part)
                case Thinking():
                    yield self._words("thinking", part) + self._signature(part)
                case ToolCall():
                    yield self._call(part)

    def _whole(self, part: Part) -> bytes:
        if self._wholes:
            self._wholes -= 1
            return b""
        return self._blocks.add_whole(part)

    def _words(self, kind: Words, part: Text | Thinking) -> bytes:
        """What was told of other answers than this (a helper's thoughts) does not count as its beginning."""
        told, at = self._told[kind], self._at[kind]
        found = told.find(part.text, at) if kind == "thinking" or told.startswith(part.text, at) else -1
        if found >= 0:
            self._at[kind] = found + len(part.text)
            return b""
        self._at[kind] = len(told)
        if at < len(told) and part.text.startswith(told[at:]):
            return self._blocks.say(kind, part.text[len(told) - at :])
        return self._blocks.begin(Block(kind, part=part), part.text)

    def _signature(self, part: Thinking) -> bytes:
        """One whose block is closed already comes too late."""
        block = self._blocks.last
        if not part.signature or part.signature in self._signatures:
            return b""
        if block and block.kind == "thinking" and not block.signature and part.text:
            block.signature = part.signature
        elif not part.text:
            return self._blocks.begin(Block("thinking", signature=part.signature, part=part))
        return b""

    def _call(self, call: ToolCall) -> bytes:
        block = self._by_id.get(call.id) or (self._without_ids.popleft() if self._without_ids else None)
        if block is None:
            untold = Block("call", call.id or new_id(), call.name, has_own_id=True, part=call)
            return self._blocks.begin(untold, _arguments(call))
        block.name = block.name or call.name
        return b"" if block.fragments else self._blocks.add(block, _arguments(call))


def _said(blocks: Blocks, kind: Words) -> str:
    return "".join(block.text for block in blocks.all if block.kind == kind)


def _arguments(call: ToolCall) -> str:
    """Of a call without any too: clients of most APIs parse what they get."""
    return call.malformed or dumps(call.arguments).decode()
