"""Reads labelled answers from a file of JSON lines, and calibrates on them, including answers of peers."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import assistant, user
from .agreement import DOUBT_FEATURE, Ballot, VoteCount, ballot, features, is_refuted
from .assessment import Assessment, Context
from .calibrate import REFITS, UNREACHABLE_CUT, Report, Target, cut_at, no_use, promised_cut, ranks_of, share_for
from .calibrate import calibrate as calibrate_one
from .calibration import Agreement, Rank, rank
from .detector import StuckDetector
from .labels import LabelledAnswer, losses_of, tested_places
from .measures import mean
from .promise import digest
from .regression import LogisticModel, Row, fit_model, folds

ANSWER = ("response", "small_response", "answer")
GOOD_KEYS = ("correct", "small_correct", "good")
HELPER_GOOD = ("helper_correct", "large_correct")


def read_answers(path: Path) -> list[LabelledAnswer]:
    """Returns the answers of a file.

    Each line is `{prompt, response, correct, helper_correct, tools, system, peers, peers_correct}`; only the first two
    are required. The names in recorded pairs (`small_response`, `small_correct`, `large_correct`) are accepted too.
    Raises `ConfigError` naming the line.
    """
    return [answer for _, answer in _read(path)]


def lines_by_rank(path: Path) -> list[str]:
    """Returns the lines of a file of answers, the last to get help first. Raises `ConfigError`."""
    lines, answers = zip(*_read(path), strict=True)
    if any(answer.peers for answer in answers):
        polled = list(map(_poll, answers))
        ranks = _ranks(_scores_by_votes(polled), polled)
    else:
        ranks = ranks_of(answers)
    return [line for _, line in sorted(zip(ranks, lines, strict=True), key=lambda each: each[0])]


def _read(path: Path) -> list[tuple[str, LabelledAnswer]]:
    """Returns each line of a file with its answer."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            read = [(line, _answer(line, f"{path}:{n}")) for n, line in enumerate(lines, 1) if line.strip()]
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} can't be read: it is not UTF-8") from error
    if not read:
        raise ConfigError(f'{path} is empty: each line holds an answer, as {{"prompt": ..., "response": ...}}.')
    return read


def _answer(line: str, where: str) -> LabelledAnswer:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where}: is not JSON: {error}") from error
    if not isinstance(row, Mapping):
        raise ConfigError(f"{where}: must be an object, not {type(row).__name__}")
    prompt, response = _text(row, ("prompt",), where), _text(row, ANSWER, where)
    context = Context(tools=tuple(_tools(row.get("tools") or (), where)))
    good, helper_good = _quality(row, GOOD_KEYS, where), _quality(row, HELPER_GOOD, where)
    system = digest(_text(row, ("system",), where)) if "system" in row else ""
    return LabelledAnswer(prompt, response, good, helper_good, context, *_peers(row, where), system)


def _peers(row: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Returns the answers of peers, and their qualities for all or none."""
    answers, good = _list(row, "peers", where), _list(row, "peers_correct", where)
    if not all(isinstance(each, str) for each in answers):
        raise ConfigError(f"{where}: peers must be a list of texts, what each of them answered")
    if len(good) not in (0, len(answers)):
        raise ConfigError(f"{where}: peers_correct must be a list with true or false for each of peers")
    qualities = (_quality({"peers_correct": each}, ("peers_correct",), where) for each in good)
    return tuple(answers), tuple(each or 0.0 for each in qualities)


def _list(row: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = row.get(name) or []
    if not isinstance(found, list):
        raise ConfigError(f"{where}: {name} must be a list of texts, what each of them answered, or of true and false")
    return found


def _text(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    found = next((row[name] for name in names if name in row), None)
    if not isinstance(found, str):
        raise ConfigError(f"{where}: {names[0]} {'is missing' if found is None else 'must be text'}")
    return found


def _quality(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> float | None:
    name = next((name for name in names if row.get(name) is not None), "")
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise ConfigError(f"{where}: {name} must be true, false or a share from 0 to 1, not {value!r}")
    return float(value)


def _tools(written: Any, where: str) -> Iterator[ToolSpec]:
    for entry in written if isinstance(written, list | tuple) else ():
        described = entry.get("function", entry) if isinstance(entry, Mapping) else entry
        if not isinstance(described, Mapping) or not isinstance(described.get("name"), str):
            raise ConfigError(f"{where}: each of tools is an object with a name")
        yield ToolSpec(described["name"], str(described.get("description") or ""), described.get("parameters") or {})


WEIGHT_PENALTY = 30.0
VOTE_MODEL = LogisticModel(0.0, {DOUBT_FEATURE: (0.0, 1.0, 1.0)})
"""The weights without labels: votes alone."""
HARD_SCORE = 1e3


@dataclass(frozen=True, slots=True)
class PollRecord:
    """What is known about the answers to one prompt, with the qualities of the served answer and the helper's."""

    known: Row
    at_once: bool
    served: float = 0.0
    helper: float = 0.0
    prompt: str = ""
    text: str = ""

    @property
    def pattern(self) -> Row:
        """What is known, without the effect of votes, whose weight is to be learned."""
        return {name: value for name, value in self.known.items() if name != DOUBT_FEATURE}

    @property
    def gain(self) -> float:
        return float(self.helper > self.served)


def calibrate(answers: Sequence[LabelledAnswer], target: Target) -> Report:
    """Calibrates for one model, or for several if there are peers. Raises `ConfigError` for unusable answers."""
    report = calibrate_one(answers, target)
    beside = sum(bool(answer.peers) for answer in answers)
    if not beside:
        return report
    if beside < len(answers):
        raise ConfigError("Some answers have peers and others have none; calibrate on each kind by itself.")
    if report.labels and target.kind == "promise":
        return _by_promise(report, answers, target)
    if report.labels:
        return _by_labels(report, [_poll(answer) for answer in answers if answer.is_labelled], target)
    return _cut(report, list(map(_poll, answers)), VOTE_MODEL, target.value, target)


def _by_labels(report: Report, polled: Sequence[PollRecord], target: Target) -> Report:
    weights, scores = _weights_and_scores(polled)
    small, large = [each.served for each in polled], [each.helper for each in polled]
    report = replace(report, refit=weights is not VOTE_MODEL, helps=mean(large) > mean(small))
    if report.helps:
        made = _cut(report, polled, weights, share_for(target, _ranks(scores, polled), small, large), target)
    else:
        never = replace(report.calibration, cut=UNREACHABLE_CUT, agreement=Agreement(UNREACHABLE_CUT, weights))
        made = replace(report, calibration=never, note=no_use(mean(small), mean(large)))
    return made.with_curve(scores, small, large)


def _by_promise(report: Report, answers: Sequence[LabelledAnswer], target: Target) -> Report:
    """Calibrates with the shipped weights of votes: a test needs scores that have not seen its labels."""
    polled = list(map(_poll, answers))
    scores = _scores_by_votes(polled)
    tested = tested_places(answers, _ranks(scores, polled))
    answers = [answers[at] for at in tested]
    polled, scores = [polled[at] for at in tested], [scores[at] for at in tested]
    small, large = [each.served for each in polled], [each.helper for each in polled]
    found, promise = promised_cut(_ranks(scores, polled), losses_of(answers, small, large), target, answers)
    agreement = Agreement(found.cut, VOTE_MODEL, found.tie_break)
    made = replace(report.calibration, agreement=agreement, help_rate=found.help_rate, error=found.error, promise=None)
    report = replace(report, calibration=made.with_promise(promise), labels=sum(each.is_labelled for each in answers))
    return report.with_curve(scores, small, large) if report.labels == len(answers) else replace(report, curve=())


def _scores_by_votes(polled: Sequence[PollRecord]) -> list[float]:
    return [_score(each, VOTE_MODEL.score(each.known)) for each in polled]


def _weights_and_scores(polled: Sequence[PollRecord]) -> tuple[LogisticModel, list[float]]:
    """Returns weights, and scores by weights that have not seen the answer. Few labels leave the weights as shipped."""
    gains = [each.gain for each in polled]
    if len(polled) < REFITS or not 0 < mean(gains) < 1:
        return VOTE_MODEL, _scores_by_votes(polled)
    rows = [each.pattern for each in polled]
    unseen: dict[int, float] = {}
    for fold in folds(rows, gains):
        unseen.update(fold.held)
    return fit_model(rows, gains, WEIGHT_PENALTY), [_score(each, unseen[place]) for place, each in enumerate(polled)]


def _cut(report: Report, polled: Sequence[PollRecord], weights: LogisticModel, rate: float, target: Target) -> Report:
    agreement = Agreement(0.0, weights)
    scores = [_score(each, agreement.score(each.known)) for each in polled]
    cut = cut_at(rate, _ranks(scores, polled), {}, target.kind)
    known = replace(agreement, cut=cut.cut, tie_break=cut.tie_break)
    calibration = replace(report.calibration, help_rate=cut.help_rate, error=cut.error, agreement=known)
    return replace(report, calibration=calibration, scores=tuple(scores))


def _ranks(scores: Sequence[float], polled: Sequence[PollRecord]) -> list[Rank]:
    return [rank(score, each.prompt, each.text) for score, each in zip(scores, polled, strict=True)]


def _score(polled: PollRecord, score: float) -> float:
    """Returns the gain. Answers that fail a hard check come first, as they get help in any case."""
    return score + HARD_SCORE if polled.at_once else score


def _poll(answer: LabelledAnswer) -> PollRecord:
    """Returns what a poll of these answers would decide. An answer that fails a hard check has no vote."""
    request = ModelRequest((user(answer.prompt),), tools=answer.context.tools)
    judged, ballots = zip(*(_judgement(request, text) for text in (answer.response, *answer.peers)), strict=True)
    place = next(iter(VoteCount.of(ballots).leading), 0)
    known = features(judged[place], ballots, place, answer.prompt)
    text = (answer.response, *answer.peers)[place]
    good, helper = _is_good(answer, place), answer.helper_good or 0.0
    return PollRecord(known, judged[place].at_once, good, helper, answer.prompt, text)


def _judgement(request: ModelRequest, text: str) -> tuple[Assessment, Ballot | None]:
    response = ModelResponse(assistant(text))
    judged = StuckDetector().assess_response(request, response)
    return judged, None if is_refuted(judged) else ballot(request, response)


def _is_good(answer: LabelledAnswer, place: int) -> float:
    if not place or answer.good is None:
        return answer.good or 0.0
    if not answer.peers_good:
        raise ConfigError(
            f"Where peers outvote an answer, their own counts: say peers_correct, as in [true, false] "
            f"(for {answer.prompt[:60]!r})."
        )
    return answer.peers_good[place - 1]
