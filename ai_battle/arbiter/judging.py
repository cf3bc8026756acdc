"""Asks models to judge a run: each in both orders of the participants, and once more for invalid scores."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..assembly.models import BuildContext, Model, judge_models
from ..config.collaboration import HelperSettings
from ..config.documents import environment_redactor
from ..config.environment import with_dotenv
from ..config.judge import Rubric, load_rubric
from ..conversation.outcome import json_in
from ..conversation.participant import Participant, request_aside
from ..core.errors import AIBattleError, BadReply, ConfigError, ProviderError
from ..core.events import Emit, as_role, ignore
from ..core.exchange import WHOLE_ANSWER, ModelRequest, object_schema
from ..core.files import lock_directory, prompt_template
from ..core.ledger import NO_LIMITS, Budget, SpendingLimits, charge_to
from ..core.messages import Message, assistant, user
from ..core.texts import printable
from .transcript import LONGEST, Labels, Transcript
from .verdict import Rating, Verdict, keep

MOST, ANSWER_ROOM = 100_000, 12_000
"""How many tokens of a run a judge reads at most, and how many of its context stay free."""
FEW, ENTRY = 12, 400
"""How many scores fit into any model's default answer, and the tokens to request for each if there are more."""
REPAIR = "That is not the JSON that was asked for. Give the same judgement once more, as JSON alone."


@dataclass(frozen=True, slots=True)
class Arbiter:
    """Judges runs by a rubric; `models` are the judges by name."""

    models: Mapping[str, Model]
    rubric: Rubric

    async def judge(self, run_dir: Path, emit: Emit = ignore) -> Verdict:
        """Returns the verdict. The notes name judges that failed.

        Raises `ConfigError` if nothing was said, `ProviderError` if no score is valid, and `JournalError`.
        """
        transcript, spent = Transcript.read(run_dir), Budget()
        ratings: list[Rating] = []
        cuts: dict[str, None] = {}
        faults: list[str] = []
        for name, model in self.models.items():
            shown = transcript.within(_room(model))
            cuts |= dict.fromkeys(filter(None, [shown.note]))
            try:
                with charge_to(spent):
                    ratings += await self._ratings(name, model, shown, as_role(emit, "arbiter"))
            except ProviderError as error:
                faults.append(f"{name} did not judge: {error}")
        if not any(rating.score is not None for rating in ratings):
            raise ProviderError("; ".join(faults) or "no score has a quotation that is in the transcript")
        scale, usage = (self.rubric.scale[0], self.rubric.scale[1]), spent.ledger.usage
        names = transcript.participants, tuple(self.models)
        return Verdict(*names, self.rubric.weights, scale, tuple(ratings), usage, (*cuts, *faults))

    async def _ratings(self, name: str, model: Model, shown: Transcript, emit: Emit) -> Sequence[Rating]:
        """Returns one judge's ratings, or raises `ProviderError` if it fails in either order."""
        await model.require_listener()
        judge = Participant(name, model.client)
        sittings = [JudgePass(judge, self.rubric, shown, swapped, emit) for swapped in (False, True)]
        return [rating for sitting in sittings for rating in await sitting.rate()]

    async def aclose(self) -> None:
        for model in self.models.values():
            await model.client.aclose()


@dataclass(slots=True)
class JudgePass:
    """One judge's reading of the run in one order of the participants."""

    judge: Participant
    rubric: Rubric
    transcript: Transcript
    swapped: bool
    emit: Emit
    labels: Labels = field(init=False)

    def __post_init__(self) -> None:
        self.labels = self.transcript.labels(swapped=self.swapped)

    async def rate(self) -> Sequence[Rating]:
        """Returns the ratings. Raises `ProviderError` if the judge can't be asked, or answers in prose twice."""
        question = (user(self._question),)
        answer = await self._ask(question)
        if (entries := _entries(answer)) is None:
            answer = await self._ask((*question, assistant(answer), user(REPAIR)))
            if (entries := _entries(answer)) is None:
                raise BadReply(f"it answers in prose: {self._with_names(' '.join(answer[:200].split()))}")
        ratings = [*self._read(entries)]
        if not (faulty := [rating for rating in ratings if rating.fault]):
            return ratings
        again = None
        with suppress(ProviderError):  # without a second answer, the valid scores of the first still count
            again = _entries(await self._ask((*question, assistant(answer), user(self._complaint(faulty)))))
        mended = {(r.participant, r.criterion): r for r in self._read(again or ())}
        return [_merge_ratings(rating, mended[rating.participant, rating.criterion]) for rating in ratings]

    async def _ask(self, messages: tuple[Message, ...]) -> str:
        entries = len(self._judged) * len(self.rubric.criteria)
        options = {"max_tokens": entries * ENTRY} if entries > FEW else {}
        request = ModelRequest(
            messages, self._instructions, tool_choice="none", output_schema=self._schema, options=options
        )
        answer, _ = await request_aside(self.judge, request, self.emit, WHOLE_ANSWER)
        if isinstance(answer, AIBattleError):
            raise ProviderError(str(answer)) from answer
        if answer.stop == "length":
            raise ProviderError("its answer was cut off at its length limit")
        return answer.text

    @property
    def _judged(self) -> Mapping[str, str]:
        """The judged participants by label, in the order of the labels."""
        by_label = {label: name for name, label in self.labels.items() if name in self.transcript.participants}
        return dict(sorted(by_label.items(), key=lambda item: (len(item[0]), item[0])))

    @property
    def _instructions(self) -> str:
        low, high = (f"{end:g}" for end in self.rubric.scale)
        first, criterion = next(iter(self._judged)), next(iter(self.rubric.criteria))
        return prompt_template(__package__, "judge").substitute(low=low, high=high, first=first, criterion=criterion)

    @property
    def _question(self) -> str:
        criteria = (f"- {name}: {criterion.asks}" for name, criterion in self.rubric.criteria.items())
        rated = f"Rate {', '.join(self._judged)}, in this order, by these criteria:"
        shown = ("The goal of the discussion, and what was said:", self.transcript.fenced_text(self.labels))
        return "\n\n".join(filter(None, (*shown, self.transcript.note, rated, "\n".join(criteria))))

    @property
    def _schema(self) -> dict[str, Any]:
        texts = {"type": "string"}
        entry = {
            "participant": {**texts, "enum": [*self._judged]},
            "criterion": {**texts, "enum": [*self.rubric.criteria]},
            "quotation": texts,
            "reason": texts,
            "score": {"type": "number"},
        }
        return object_schema({"scores": {"type": "array", "items": object_schema(entry)}})

    def _read(self, entries: Sequence[Mapping[str, Any]]) -> Iterator[Rating]:
        """Yields a rating for each participant and criterion, even if the answer has none."""
        given = {(str(each.get("participant")).strip(), str(each.get("criterion")).strip()): each for each in entries}
        for label, name in self._judged.items():
            for criterion in self.rubric.criteria:
                empty = Rating(self.judge.name, self.swapped, name, criterion)
                entry = given.get((label, criterion))
                yield self._rating(empty, entry) if entry else replace(empty, fault="there is no score")

    def _rating(self, empty: Rating, entry: Mapping[str, Any]) -> Rating:
        low, high = self.rubric.scale
        quotation, score = str(entry.get("quotation") or "").strip(), _number(entry.get("score"))
        rating = replace(empty, reason=self._with_names(entry.get("reason")))
        if score is None or not low <= score <= high:
            return replace(rating, fault=f"the score is not a number from {low:g} to {high:g}")
        if not (found := self.transcript.find(quotation, empty.participant, self.labels)):
            false = (self._with_names(quotation),) if quotation else ()
            return replace(rating, fault="the quotation is not in the turns of the participant", false_quotations=false)
        return replace(rating, score=score, turn=found[0], quotation=found[1])

    def _with_names(self, text: object) -> str:
        return self.transcript.with_names(printable(str(text or "")).strip()[:LONGEST], self.labels)

    def _complaint(self, faulty: Sequence[Rating]) -> str:
        lines = [f"- {self.labels[each.participant]}, {each.criterion}: {each.fault}" for each in faulty]
        return "\n".join(("These scores do not count. Give them once more, and only them:", *lines))


def _merge_ratings(first: Rating, second: Rating) -> Rating:
    """Replaces a faulty rating by the second answer's, and keeps the false quotations of both."""
    if not first.fault:
        return first
    kept = second if second.score is not None or second.false_quotations else first
    return replace(kept, false_quotations=(*first.false_quotations, *second.false_quotations))


def _entries(answer: str) -> Sequence[Mapping[str, Any]] | None:
    """Returns the scores in an answer, ignoring text around them; None if it contains no JSON."""
    match json.loads(json_in(answer) or "null"):
        case {"scores": [*entries]} | [*entries]:
            return [entry for entry in entries if isinstance(entry, dict)]
    return None


def _number(value: object) -> float | None:
    try:
        # A JSON true is not a score, though float(True) is 1.
        return None if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _room(model: Model) -> int:
    """Returns how many tokens of a transcript fit into the model's context."""
    return min(MOST, max(model.window - ANSWER_ROOM, model.window // 2)) if model.window else MOST


def _require_prices(models: Mapping[str, Model], limits: SpendingLimits) -> None:
    """Raises `ConfigError` if a limit in dollars can't hold. There is no file here that could state a price."""
    unknown = ", ".join(name for name, model in models.items() if model.price is None)
    if unknown and limits.cost_usd is not None and limits.unpriced == "refuse":
        words = f"The price of {unknown} is not known, so a limit in dollars can't hold"
        raise ConfigError(f"{words}; leave the limit out, or take a judge that `ai-battle models` has a price for.")


async def judge_run(
    run_dir: str | os.PathLike[str],
    models: Sequence[str],
    rubric: Rubric | None = None,
    *,
    limits: SpendingLimits = NO_LIMITS,
    emit: Emit = ignore,
) -> Verdict:
    """Judges a run by a rubric, by default the packaged one, and adds the verdict to its `judgements.jsonl`.

    `models` are model types; `limits` hold for all calls of this judgement; `emit` hears each reply (`ModelReplied`).
    Raises `ConfigError` for an unknown model and a run in which nobody spoke, `ProviderError` if no score is valid, and
    `JournalError`.
    """
    environment = with_dotenv(os.environ, Path.cwd())
    redactor = environment_redactor(environment)
    context = BuildContext(environment=environment, redactor=redactor)
    if not models:
        raise ConfigError("There is no judge; name a model, such as gpt-4o.")
    judges = judge_models([HelperSettings(type=model) for model in models], context)
    arbiter = Arbiter(judges, rubric or load_rubric())
    try:
        _require_prices(arbiter.models, limits)
        # Lock first, so that no judgement is paid for that can't be written afterwards.
        with redactor.errors(), lock_directory(Path(run_dir)), charge_to(Budget(limits, payer="the judge")):
            verdict = redactor.value(await arbiter.judge(Path(run_dir), emit))
            keep(Path(run_dir), verdict)
    finally:
        await arbiter.aclose()
    return verdict
