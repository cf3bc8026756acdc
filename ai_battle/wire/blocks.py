"""The state machine that writes a streamed answer as a sequence of numbered blocks; each API adds its own format."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from ..core.events import AttemptFailed, Event, ModelReplied, TextDelta, ThinkingDelta, ToolCallDelta
from ..core.exchange import ModelResponse
from ..core.messages import Message, Part, Text, Thinking, ToolCall
from .bodies import dumps, new_id, read_arguments

WAITING = -1  # the index of a block that has not started

TextKind: TypeAlias = Literal["text", "thinking"]


class Failure(NamedTuple):
    """An error as an API client gets it: an HTTP status, a message and a kind.

    `kind` is "context", "budget", "address", "response" or "previous_response" if the status alone says too little,
    else empty.
    """

    status: int
    message: str
    kind: str = ""


@dataclass(slots=True)
class AnswerBlock:
    """A block of an answer. A block of kind `whole` holds a `part` that deltas can't express.

    `index` numbers the started blocks, `position` the started calls. `part` is set if the block comes from the final
    message instead of deltas. `is_ended` says that the reply of the model which it is from has ended.
    """

    kind: Literal["text", "thinking", "call", "whole"]
    id: str = ""
    name: str = ""
    signature: str = ""
    has_own_id: bool = False
    is_ended: bool = False
    part: Part | None = None
    index: int = WAITING
    position: int = 0
    fragments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.fragments)

    @property
    def is_complete(self) -> bool:
        """Returns whether the block may be closed; a call may once its arguments are valid JSON."""
        return self.kind != "call" or (bool(self.fragments) and not read_arguments(self.text)[1])


class BlockWriter(ABC):
    """Writes the stream of one answer; each API's subclass opens, grows and closes blocks in its format.

    One block is open at a time, and starting the next closes it. A call with incomplete arguments stays open, and
    blocks that come meanwhile wait for the end of the answer. Servers rarely interleave the fragments of calls, so
    usually nothing waits. An API that `interleaves` takes fragments of any call at any time, and one that marks
    refusals has in `refusing` what announces them.

    `model` is the name that the client requested, `usage` says whether it wants the usage reported, and `input_tokens`
    is an estimate until that is known. After the end, `answer` is the response that later requests may refer to.
    """

    interleaves: ClassVar[bool] = False
    refusing: ClassVar[Mapping[str, Any] | None] = None
    answer: Mapping[str, Any] | None = None

    def __init__(self, model: str, *, usage: bool = True, input_tokens: int = 0) -> None:
        self._model = model
        self._usage = usage
        self._input_tokens = input_tokens
        self.blocks: list[AnswerBlock] = []
        self._waiting: list[AnswerBlock] = []
        self._open: AnswerBlock | None = None
        self._calls: dict[int, AnswerBlock] = {}
        self._started = self._called = 0

    @abstractmethod
    def begin(self) -> bytes:
        """Returns the bytes that precede the first block."""

    @abstractmethod
    def finish(self, response: ModelResponse) -> bytes:
        """Returns the parts of the answer that were not written yet, and its end."""

    @abstractmethod
    def whole(self, response: ModelResponse) -> bytes:
        """Returns the answer in one piece, for a client that does not stream."""

    @abstractmethod
    def fail(self, failed: Failure) -> bytes:
        """Returns the error event that ends the stream without an answer."""

    @abstractmethod
    def ping(self) -> bytes:
        """Returns a keep-alive, which clients ignore."""

    @abstractmethod
    def _open_block(self, block: AnswerBlock) -> bytes: ...
    @abstractmethod
    def _grow_block(self, block: AnswerBlock, fragment: str) -> bytes: ...
    @abstractmethod
    def _close_block(self, block: AnswerBlock) -> bytes: ...

    def is_whole(self, part: Part) -> bool:
        """Returns whether this API writes the part as one complete block of its own kind."""
        return False

    @property
    def last(self) -> AnswerBlock | None:
        """Returns the block to which further text belongs."""
        return self._waiting[-1] if self._waiting else self._open

    def feed(self, event: Event) -> bytes:
        """Returns the bytes of an event, none if this API can't express it."""
        if type(event) is TextDelta:  # nearly all events are, and this is faster than the match
            return self.say("text", event.text) if event.text else b""
        match event:
            case ThinkingDelta(extra=extra) if extra is not None:
                if extra == self.refusing:
                    return self.add_block(AnswerBlock("text", part=Text("", extra=extra)))
                return self.add_whole(Thinking("", extra=extra))
            case ThinkingDelta(text, signature):
                return self._think(text, signature)
            case ToolCallDelta():
                return self._continue_call(event)
            case ModelReplied() | AttemptFailed() if self.last:
                self.last.is_ended = True
        return b""

    def add_whole(self, part: Part) -> bytes:
        """Writes a complete block and closes it at once, as the next event may be long in coming."""
        if not self.is_whole(part):
            return b""
        block = AnswerBlock("whole", part=part)
        return self.add_block(block) + (self._close() if self._open is block else b"")

    def say(self, kind: TextKind, text: str) -> bytes:
        block = self._waiting[-1] if self._waiting else self._open
        if block and block.kind == kind == "thinking" and block.is_ended:
            # A signature covers one thought, and this one led to nothing of the answer: it is not to come back.
            block.signature = ""
            return self.add_block(AnswerBlock(kind), text)
        if block is None or block.kind != kind or block.signature:
            return self.add_block(AnswerBlock(kind), text)
        if block is self._open:
            block.fragments.append(text)
            return self._grow_block(block, text)
        return self.grow(block, text)

    def add_block(self, block: AnswerBlock, text: str = "") -> bytes:
        """Starts the block, or lets it wait for its name (if it is a call) or for the end of the open call."""
        self.blocks.append(block)
        must_wait = bool(self._waiting) or (block.kind == "call" and not block.name)
        # Starting a block closes the open one for good, so an open call must have all its arguments by then. They are
        # read only for the first block that meets it: the others wait anyway.
        if must_wait or not (self.interleaves or self._open is None or self._open.is_complete):
            self._waiting.append(block)
            return self.grow(block, text)
        return self._close() + self._start(block) + self.grow(block, text)

    def grow(self, block: AnswerBlock, fragment: str) -> bytes:
        if not fragment:
            return b""
        block.fragments.append(fragment)
        is_open = block is self._open or (self.interleaves and block.index != WAITING)
        return self._grow_block(block, fragment) if is_open else b""

    def finish_blocks(self, message: Message) -> bytes:
        """Returns the rest of the answer, and closes the open block and those that wait."""
        written = [*_Rest(self).of(message), self._close()]
        for block in self._waiting:
            text = block.text
            written += (self._start(block), self._grow_block(block, text) if text else b"", self._close())
        self._waiting = []
        return b"".join(written)

    def _think(self, text: str, signature: str) -> bytes:
        """Adds to the thinking. A signature ends its block, or starts a block that holds only the signature."""
        written, block = self.say("thinking", text) if text else b"", self.last
        if signature and block and block.kind == "thinking" and not block.signature:
            block.signature = signature
        elif signature:
            written += self.add_block(AnswerBlock("thinking", signature=signature))
        return written

    def _continue_call(self, delta: ToolCallDelta) -> bytes:
        """Adds a fragment to its call. The same index with another id starts another call.

        Servers may repeat the id and the name with each fragment.
        """
        block = self._calls.get(delta.index)
        if block is None or (delta.id and block.has_own_id and delta.id != block.id):
            block = AnswerBlock("call", delta.id or new_id(), delta.name, has_own_id=bool(delta.id))
            self._calls[delta.index] = block
            return self.add_block(block, delta.arguments)
        block.name = block.name or delta.name
        return self.grow(block, delta.arguments)

    def _start(self, block: AnswerBlock) -> bytes:
        block.index, self._started = self._started, self._started + 1
        if block.kind == "call":
            block.position, self._called = self._called, self._called + 1
        self._open = block
        return self._open_block(block)

    def _close(self) -> bytes:
        block, self._open = self._open, None
        return self._close_block(block) if block else b""


class _Rest:
    """Encodes the parts of the final message that were not streamed: usually all of them, or none."""

    def __init__(self, writer: BlockWriter) -> None:
        self._writer = writer
        calls = [block for block in writer.blocks if block.kind == "call"]
        self._by_id = {block.id: block for block in calls}
        self._without_ids = deque(block for block in calls if not block.has_own_id)
        self._streamed: dict[TextKind, str] = {"text": self._words_of("text"), "thinking": self._words_of("thinking")}
        self._at: dict[TextKind, int] = {"text": 0, "thinking": 0}
        self._wholes = sum(block.kind == "whole" for block in writer.blocks)
        self._signatures = {block.signature for block in writer.blocks}

    def of(self, message: Message) -> Iterator[bytes]:
        for part in message.parts:
            if self._writer.is_whole(part):
                yield self._whole(part)
                continue
            match part:
                case Text():
                    yield self._words("text", part)
                case Thinking():
                    yield self._words("thinking", part) + self._signature(part)
                case ToolCall():
                    yield self._call(part)

    def _words_of(self, kind: TextKind) -> str:
        return "".join(block.text for block in self._writer.blocks if block.kind == kind)

    def _whole(self, part: Part) -> bytes:
        if self._wholes:
            self._wholes -= 1
            return b""
        return self._writer.add_whole(part)

    def _words(self, kind: TextKind, part: Text | Thinking) -> bytes:
        """Writes the text that was not streamed. Streamed thoughts may be another answer's, such as a helper's."""
        # Streamed text is always the answer's own, in order; thoughts of other answers may come between its thoughts.
        streamed, at = self._streamed[kind], self._at[kind]
        found = streamed.find(part.text, at) if kind == "thinking" or streamed.startswith(part.text, at) else -1
        if found >= 0:
            self._at[kind] = found + len(part.text)
            return b""
        self._at[kind] = len(streamed)
        if at < len(streamed) and part.text.startswith(streamed[at:]):
            return self._writer.say(kind, part.text[len(streamed) - at :])
        return self._writer.add_block(AnswerBlock(kind, part=part), part.text)

    def _signature(self, part: Thinking) -> bytes:
        """Signs the last block. A signature for a block that is closed already comes too late and is dropped."""
        block = self._writer.last
        if not part.signature or part.signature in self._signatures:
            return b""
        if block and block.kind == "thinking" and not block.signature and part.text:
            block.signature = part.signature
        elif not part.text:
            return self._writer.add_block(AnswerBlock("thinking", signature=part.signature, part=part))
        return b""

    def _call(self, call: ToolCall) -> bytes:
        """Writes arguments even for a call without any (`{}`), since most clients parse them as JSON."""
        arguments = call.malformed or dumps(call.arguments).decode()
        block = self._by_id.get(call.id) or (self._without_ids.popleft() if self._without_ids else None)
        if block is None:
            new = AnswerBlock("call", call.id or new_id(), call.name, has_own_id=True, part=call)
            return self._writer.add_block(new, arguments)
        block.name = block.name or call.name
        return b"" if block.fragments else self._writer.grow(block, arguments)
