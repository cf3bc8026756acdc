"""What of an answer no delta has told: all of it where nothing was streamed, as a rule nothing else."""

from collections.abc import Callable, Iterator

from ..core.messages import Message, Part, Text, Thinking, ToolCall
from ._blocks import Block, Blocks, Words
from ._calls import new_id
from ._json import dumps


def finished(blocks: Blocks, message: Message, is_whole: Callable[[Part], bool]) -> bytes:
    """The rest of the answer and the ends of its blocks. Parts that are `is_whole` have no deltas."""
    return b"".join((*_Rest(blocks).of(message, is_whole), blocks.end()))


class _Rest:
    """Goes through the parts of an answer, and knows how much of what was told lies still ahead."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._calls = [block for block in blocks.all if block.kind == "call"]
        self._told: dict[Words, int] = {"text": self._length("text"), "thinking": self._length("thinking")}
        self._signatures = {block.signature for block in blocks.all}

    def of(self, message: Message, is_whole: Callable[[Part], bool]) -> Iterator[bytes]:
        for part in message.parts:
            if is_whole(part):
                yield self._blocks.begin(Block("whole", part=part))
                continue
            match part:
                case Text():
                    yield self._words("text", part)
                case Thinking():
                    yield self._words("thinking", part) + self._signature(part)
                case ToolCall():
                    yield self._call(part)

    def _words(self, kind: Words, part: Text | Thinking) -> bytes:
        told = min(self._told[kind], len(part.text))
        self._told[kind] -= told
        if told == len(part.text):
            return b""
        if told:
            return self._blocks.say(kind, part.text[told:])
        return self._blocks.begin(Block(kind, part=part), part.text)

    def _signature(self, part: Thinking) -> bytes:
        """One whose block is closed already comes too late."""
        block = self._blocks.last
        if part.signature in self._signatures:
            return b""
        if block and block.kind == "thinking" and not block.signature and part.text:
            block.signature = part.signature
        elif not part.text:
            return self._blocks.begin(Block("thinking", signature=part.signature, part=part))
        return b""

    def _call(self, call: ToolCall) -> bytes:
        block = self._told_call(call)
        if block is None:
            untold = Block("call", call.id or new_id(), call.name, has_own_id=True, part=call)
            return self._blocks.begin(untold, _arguments(call))
        self._calls.remove(block)
        block.name = block.name or call.name
        return b"" if block.fragments else self._blocks.add(block, _arguments(call))

    def _told_call(self, call: ToolCall) -> Block | None:
        by_id = (block for block in self._calls if block.id == call.id)
        in_order = (block for block in self._calls if not block.has_own_id)
        return next(by_id, None) or next(in_order, None)

    def _length(self, kind: Words) -> int:
        return sum(len(fragment) for block in self.blocks_of(kind) for fragment in block.fragments)

    def blocks_of(self, kind: Words) -> Iterator[Block]:
        return (block for block in self._blocks.all if block.kind == kind)


def _arguments(call: ToolCall) -> str:
    """Of a call without any too: clients of most APIs parse what they get."""
    return call.malformed or dumps(call.arguments).decode()
