"""The deltas of an answer as blocks that follow one another: the one state machine that numbers what we stream."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from ..core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ..core.messages import Part, Thinking
from ._calls import new_id
from ._json import read_arguments

WAITING = -1

Words: TypeAlias = Literal["text", "thinking"]


@dataclass(slots=True)
class Block:
    """A stretch of an answer; those of the kind `whole` are a `part` that no delta can tell.

    `index` is its number in the order of starts, `position` that among the calls. `part` is set where the end of the
    answer told the block, and not deltas.
    """

    kind: Literal["text", "thinking", "call", "whole"]
    id: str = ""
    name: str = ""
    signature: str = ""
    has_own_id: bool = False
    part: Part | None = None
    index: int = WAITING
    position: int = 0
    fragments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.fragments)

    @property
    def is_complete(self) -> bool:
        """Whether another may follow: the arguments of a call are to be JSON first."""
        return self.kind != "call" or (bool(self.fragments) and not read_arguments(self.text)[1])


class Form(Protocol):
    """How an API writes blocks. `interleaves`: it takes fragments of any call at any time.

    `is_whole`: the part is a block of its own kind, which comes at once.
    """

    interleaves: bool

    def is_whole(self, part: Part) -> bool: ...
    def opened(self, block: Block) -> bytes: ...
    def grown(self, block: Block, fragment: str) -> bytes: ...
    def closed(self, block: Block) -> bytes: ...


class Blocks:
    """One block is open at a time, and closed when the next one starts.

    A call in the middle of its arguments stays open, and what else is said meanwhile waits for the end of the answer:
    nearly no server mixes the fragments of calls, so as a rule nothing waits.
    """

    def __init__(self, form: Form) -> None:
        self.all: list[Block] = []
        self._form = form
        self._waiting: list[Block] = []
        self._open: Block | None = None
        self._calls: dict[int, Block] = {}
        self._started = self._called = 0

    @property
    def last(self) -> Block | None:
        """The one that words go on in."""
        return self._waiting[-1] if self._waiting else self._open

    def is_whole(self, part: Part) -> bool:
        return self._form.is_whole(part)

    def feed(self, event: Event) -> bytes:
        if type(event) is TextDelta:  # nearly all of them are
            return self.say("text", event.text) if event.text else b""
        match event:
            case ThinkingDelta(extra=extra) if extra is not None:
                return self.add_whole(Thinking("", extra=extra))
            case ThinkingDelta(text, signature):
                return (self.say("thinking", text) if text else b"") + self._signed(signature)
            case ToolCallDelta():
                return self._call(event)
        return b""

    def add_whole(self, part: Part) -> bytes:
        """Nothing where this API doesn't know the part."""
        return self.begin(Block("whole", part=part)) if self._form.is_whole(part) else b""

    def say(self, kind: Words, text: str) -> bytes:
        block = self._waiting[-1] if self._waiting else self._open
        if block is None or block.kind != kind or block.signature:
            return self.begin(Block(kind), text)
        if block is self._open:
            block.fragments.append(text)
            return self._form.grown(block, text)
        return self.add(block, text)

    def begin(self, block: Block, text: str = "") -> bytes:
        """A call without a name waits for it."""
        self.all.append(block)
        if self._waiting or (block.kind == "call" and not block.name) or not self._may_close():
            self._waiting.append(block)
            return self.add(block, text)
        return self._close() + self._start(block) + self.add(block, text)

    def add(self, block: Block, fragment: str) -> bytes:
        if not fragment:
            return b""
        block.fragments.append(fragment)
        if block is self._open or (self._form.interleaves and block.index != WAITING):
            return self._form.grown(block, fragment)
        return b""

    def end(self) -> bytes:
        """Closes the open block, after it those that wait."""
        written = [self._close()]
        for block in self._waiting:
            text = block.text
            written += (self._start(block), self._form.grown(block, text) if text else b"", self._close())
        self._waiting = []
        return b"".join(written)

    def _signed(self, signature: str) -> bytes:
        """A signature ends its block; it may be alone in it."""
        block = self.last
        if not signature:
            return b""
        if block is None or block.kind != "thinking" or block.signature:
            return self.begin(Block("thinking", signature=signature))
        block.signature = signature
        return b""

    def _call(self, delta: ToolCallDelta) -> bytes:
        """The same index with another id is another call; ids and names may be repeated with each fragment."""
        block = self._calls.get(delta.index)
        if block is None or (delta.id and block.has_own_id and delta.id != block.id):
            block = Block("call", delta.id or new_id(), delta.name, has_own_id=bool(delta.id))
            self._calls[delta.index] = block
            return self.begin(block, delta.arguments)
        block.name = block.name or delta.name
        return self.add(block, delta.arguments)

    def _may_close(self) -> bool:
        return self._form.interleaves or self._open is None or self._open.is_complete

    def _start(self, block: Block) -> bytes:
        block.index, self._started = self._started, self._started + 1
        if block.kind == "call":
            block.position, self._called = self._called, self._called + 1
        self._open = block
        return self._form.opened(block)

    def _close(self) -> bytes:
        block, self._open = self._open, None
        return self._form.closed(block) if block else b""
