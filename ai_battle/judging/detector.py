"""Decides whether an answer needs help."""

from collections.abc import Mapping

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, ModelResponse
from .assessment import NO_CONTEXT, NOTHING_BROUGHT, Assessment, Context
from .calibration import Agreement, Calibration
from .case import Case
from .early_stop import Prefix
from .family import Family
from .judgements import measurements
from .weights import Score, score, shipped_weights, signals_to_show

STEP, FARTHEST = 0.1, 1.0
"""Each turn moves the cut of a help rate by `STEP` times its distance from the rate, at most `FARTHEST` in all."""


class StuckDetector:
    """Judges answers by checks on their text.

    `assess` keeps no memory. `is_stuck` counts poor answers in a row, up to `max_retries`, so each participant of each
    discussion has its own detector. `threshold` is the quality below which an answer is poor. A `calibration` or a
    `help_rate` (the share of turns that should get help) decides by the expected gain instead, so `max_retries` is 1
    then. The cut of a `help_rate` moves with each recorded turn, since this model may be better or worse than those
    that were learned from.
    """

    def __init__(
        self,
        threshold: float = 0.7,
        max_retries: int = 3,
        *,
        help_rate: float | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        for name, share in (("threshold", threshold), ("help_rate", help_rate)):
            if share is not None and not 0 <= share <= 1:
                raise ConfigError(f"{name} is a share from 0 to 1, not {share!r}.")
        if max_retries < 1:
            raise ConfigError(f"max_retries counts attempts, from 1 on; it can't be {max_retries!r}.")
        self.threshold = threshold
        self.calibration = calibration
        self.help_rate = help_rate
        self._weights = calibration.apply_to(shipped_weights()) if calibration else shipped_weights()
        self.max_retries = max_retries if calibration is None and help_rate is None else 1
        self.retry_count = 0
        self._shift = 0.0
        self._turns = self._helped = 0
        self._read: tuple[ModelRequest, ModelResponse, str, Case] | None = None

    @property
    def agreement(self) -> Agreement | None:
        """The calibration that decides when several models answer, if there is one."""
        return self.calibration.agreement if self.calibration else None

    @property
    def has_room(self) -> bool:
        """Whether another turn may get help within the help rate. The first turn always may."""
        share = self.help_rate
        return share is None or (share > 0 and self._helped <= share * self._turns)

    def count_turn(self) -> None:
        self._turns += 1

    def count_help(self, *, first: bool) -> None:
        """Counts a turn with help, once however often it gets help."""
        self._helped += first

    def is_stuck(self, response: str, prompt: str) -> bool:
        """Returns whether a hard check failed or this is the `max_retries`th poor answer in a row."""
        found = self.assess(response, prompt)
        self.retry_count = self.retry_count + 1 if found.stuck else 0
        if found.at_once or self.retry_count >= self.max_retries:
            self.retry_count = 0
            return True
        return False

    def assess(self, response: str, prompt: str, context: Context | ModelRequest | None = None) -> Assessment:
        """Assesses an answer to `prompt`. A context makes the assessment better."""
        known = Context.of(context) if isinstance(context, ModelRequest) else context or NO_CONTEXT
        return self._assessment(Case(response, prompt, known), prompt, known.evidence)

    def assess_response(self, request: ModelRequest, response: ModelResponse) -> Assessment:
        """Assesses a whole answer to the prompt of `request`."""
        return self.assess_with(request, response, NOTHING_BROUGHT)

    def assess_with(self, request: ModelRequest, response: ModelResponse, evidence: Mapping[str, float]) -> Assessment:
        """Assesses an answer with further signals. The answer is read once for all of them."""
        # A strategy assesses the same answer again with a judge's or a peer's signals. It is recognised by identity:
        # equal texts may follow different tool calls.
        if self._read is None or self._read[0] is not request or self._read[1] is not response:
            turn = Context.of(request, response)
            self._read = request, response, turn.prompt, Case(response.text, turn.prompt, turn)
        _, _, prompt, case = self._read
        return self._assessment(case, prompt, evidence)

    def record_turn(self, *, stuck: bool) -> None:
        """Moves the cut after a turn, upwards if help comes more often than its rate."""
        if self.help_rate is not None:
            self._shift = next_shift(self._shift, self.help_rate, stuck=stuck)

    def watch(self, request: ModelRequest, *, thinking: bool = False) -> Prefix:
        """Returns a reader for a streamed answer, or for its thinking, where a refusal is no reason to stop."""
        return Prefix(offers_tools=thinking or bool(request.tools))

    def _assessment(self, case: Case, prompt: str, evidence: Mapping[str, float]) -> Assessment:
        found = measurements(case, evidence)
        judged = score(found, case.family, self._weights)
        stuck = bool(found.failed) or self._needs_help(judged, case.family, prompt, case.received)
        why = judged.reason if stuck else ""
        return Assessment(judged.quality, judged.gain, stuck, signals_to_show(found), why, bool(found.failed))

    def _needs_help(self, judged: Score, family: Family, prompt: str, answer: str) -> bool:
        if self.calibration is not None:
            return self.calibration.helps(judged.gain, family, prompt, answer)
        if self.help_rate is not None:
            cut = self._weights[family].gain_of(self.help_rate) + self._shift
            return self.help_rate > 0 and judged.gain >= cut
        return judged.quality < self.threshold


def next_shift(shift: float, help_rate: float, *, stuck: bool) -> float:
    """Returns the distance of a cut from the shipped one after another turn."""
    return min(FARTHEST, max(-FARTHEST, shift + STEP * (stuck - help_rate)))
