"""Keeps what one participant has in context: the prompt, notes on old turns, and the turns it heard since."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from ..core.events import TurnFinished
from ..core.messages import Message, Part, user
from ..core.tokens import TOKENS_PER_MESSAGE, estimate_message, estimate_text
from .attachments import refer
from .prompting import Naming, View, prompt, view_of


class ListenerContext:
    """The messages that one participant has heard. Its owner reports the prompt, the turns and the summaries.

    `turns` are those since the last summary; `tokens` estimates everything but the system prompt. `descriptions` are
    given only if the participant's model can't see pictures; the owner adds to them.
    """

    def __init__(self, name: str, naming: Naming, descriptions: Mapping[str, str] | None = None) -> None:
        self.prompt: Message | None = None
        self.summary = ""
        self.turns: deque[TurnFinished] = deque()
        self.tokens = 0
        self.view = View(name, naming, descriptions)
        self._name = name
        self._naming: Naming = naming
        self._descriptions = descriptions

    def open(self, message: Message) -> None:
        self.prompt = message
        self._begin_with(message)

    def append(self, turn: TurnFinished) -> None:
        if turn.is_heard_by(self._name):
            self.turns.append(turn)
            self.tokens += tokens_of(turn)
            if turn.speaker == self._name and self.prompt:
                # The view replaced large files with references when the participant answered; the estimate follows it.
                before, self.prompt = self.prompt, refer(self.prompt)
                self.tokens += estimate_message(self.prompt) - estimate_message(before)
            for message in (*turn.steps, turn.message):
                self.view.append(message)

    def fold(self, through: int, text: str) -> None:
        """Replaces the turns up to `through` with a summary. An empty `text` keeps the earlier summary."""
        self.summary = text or self.summary
        kept = [turn for turn in self.turns if turn.turn > through]
        self.turns.clear()
        self.tokens = 0
        self.view = View(self._name, self._naming, self._descriptions)  # a view can't remove messages, so rebuild it
        for message in self._opening():
            self._begin_with(message)
        for turn in kept:
            self.append(turn)

    def messages_before(self, number: int) -> tuple[Message, ...]:
        """Returns what would have been sent before the turn with this number, even if later turns are known."""
        earlier = (m for turn in self.turns if turn.turn < number for m in (*turn.steps, turn.message))
        return view_of(self._name, (*self._opening(), *earlier), self._naming, self._descriptions)

    def turns_through(self, number: int) -> list[int]:
        return [turn.turn for turn in self.turns if turn.turn <= number]

    def has_heard(self, parts: Sequence[Part]) -> bool:
        """Checks whether the parts came with the prompt, or with a turn since the last summary."""
        turns = (message for turn in self.turns for message in (*turn.steps, turn.message))
        messages = (*([self.prompt] if self.prompt else []), *turns)
        return any(all(part in message.parts for part in parts) for message in messages)

    def _opening(self) -> Iterator[Message]:
        if self.prompt:
            yield self.prompt
        if self.summary:
            yield user(prompt("summary", summary=self.summary))

    def _begin_with(self, message: Message) -> None:
        self.tokens += estimate_message(message)
        self.view.append(message)


def tokens_of(turn: TurnFinished) -> int:
    """Returns what a turn adds to later requests: its steps and its text. Thinking is not sent again."""
    steps = sum(map(estimate_message, turn.steps))
    return steps + TOKENS_PER_MESSAGE + estimate_text(turn.message.text)
