"""Tells whether an answer needs help."""

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Message
from .assessment import NO_CONTEXT, Assessment, Context
from .hard import WHY, hard_signals


class StuckDetector:
    """Judges answers by checks on their text.

    `assess` keeps no memory. `is_stuck` counts the poor answers in a row, up to `max_retries`, so each participant of
    each discussion has a detector of its own.
    """

    def __init__(self, threshold: float = 0.7, max_retries: int = 3) -> None:
        if not 0 <= threshold <= 1:
            raise ConfigError(f"threshold is a quality from 0 to 1, not {threshold!r}.")
        if max_retries < 1:
            raise ConfigError(f"max_retries counts attempts, from 1 on; it can't be {max_retries!r}.")
        self.threshold = threshold
        self.max_retries = max_retries
        self.retry_count = 0

    def is_stuck(self, response: str, prompt: str) -> bool:
        """A failed hard check at once; otherwise the `max_retries`th poor answer in a row."""
        judged = self.assess(response, prompt)
        self.retry_count = self.retry_count + 1 if judged.stuck else 0
        if judged.at_once or self.retry_count >= self.max_retries:
            self.retry_count = 0
            return True
        return False

    def assess(self, response: str, prompt: str, context: Context | ModelRequest | None = None) -> Assessment:
        """What is known about an answer to `prompt`; more when its context is given."""
        known = Context.of(context) if isinstance(context, ModelRequest) else context or NO_CONTEXT
        failed = hard_signals(response, known)
        if failed:
            return Assessment(0.0, 1.0, True, failed, f"{WHY[next(iter(failed))]}.", at_once=True)
        return Assessment(1.0, 0.0, False)

    def assess_response(self, request: ModelRequest, response: ModelResponse) -> Assessment:
        """`assess` of a whole answer: the prompt is what the user said last."""
        return self.assess(response.text, asked(request.messages), Context.of(request, response))


def asked(messages: tuple[Message, ...]) -> str:
    """The text of the last message of a user."""
    return next((message.text for message in reversed(messages) if message.role == "user"), "")
