"""Builds the shadow of a pair, with its own models and judge, so that its faults don't affect the pair."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from ..collaboration._checks import Check
from ..collaboration._comparing import BlindJudge, CheckJudge
from ..collaboration._shadow import Shadow, ShadowTerms
from ..config.collaboration import AUTO, Help, HelperSettings, ShadowSettings
from ..core.errors import ConfigError
from ..core.files import state_directory
from ..core.ledger import SpendingLimits
from ..core.traits import StrategyTraits
from ..evidence.store import EvidenceStore
from ..evidence.trials import newest_answers
from ..evidence.versions import keep_version, newest_version
from ..evidence.watch import FALLBACKS
from ..judging.calibrate import Target, calibrate
from ..judging.calibration import ALWAYS_HELP, Calibration
from ..judging.detector import StuckDetector
from ..judging.promise import digest, least_labels
from ..providers._endpoints import provider_traits
from . import strategies
from .models import BuildContext, Model, require_priced
from .recipes import Recipe

JUDGE, CHECK = "shadow.judge", "check"
RETEST_FACTOR = 2
"""After an alarm, how many verdicts test a cut, as a multiple of the fewest that can confirm the promise.

Older verdicts come from a time when less was lost."""
CALIBRATION_FACTOR = 20
"""The same multiple for a pair that calibrates itself."""


def evidence_of_runs() -> EvidenceStore:
    """Opens the store for results of discussions' shadows. Raises `StoreError` if nothing can be kept."""
    return EvidenceStore(state_directory())


def shadow_of(
    settings: ShadowSettings,
    recipe: Recipe,
    own: HelperSettings,
    context: BuildContext,
    make: Callable[[str, HelperSettings], Model],
    promised: float | None = None,
) -> Shadow:
    """Builds the shadow of a pair in which `own` answers first; `make` builds the model of each place.

    The shadow watches that no more than `promised` is lost. Raises `ConfigError` if the judge is one of the compared
    models, or if a model has no known price.
    """
    pair = recipe.help
    if not (large := strategies.large_of(pair)):
        raise ConfigError("a shadow compares two models, and here is only one; name the model that helps", "shadow")
    is_answered = strategies.traits(pair.strategy).is_answered_by_helper
    if promised:
        _require_watchable(pair.strategy, is_answered=is_answered)
    small, big = make("shadow.small", own), make("shadow.large", large)
    judges = [make(JUDGE, settings.judge)] if settings.judge.type != CHECK else []
    limits = SpendingLimits(settings.budget.cost_usd, unpriced=settings.budget.unpriced)
    _require_prices((small, big, *judges), limits)
    for judge in judges:
        _require_other(judge, (small, big))
    target = _target(promised, pair, (small, big))
    terms = ShadowTerms(
        pair=f"{small.name} + {big.name} ({pair.strategy})",
        share=settings.share,
        limits=limits,
        sees=pair.helper_sees,
        redact=context.without_secrets,
        cut=_cut_digest(recipe, promised),
        promised=promised,
        seed=settings.seed,
        is_advised=not is_answered,
        find_safe_cut=partial(_last_safe_cut, recipe, target),
        calibrates=partial(_recalibrate, target) if pair.calibration == AUTO else None,
    )
    compares = BlindJudge(judges[0].client, pair.helper_sees) if judges else CheckJudge(_require_check(recipe))
    shadow = Shadow(terms, small.client, big.client, compares)
    shadow.learn = recipe.lessons.teacher if recipe.lessons else None
    return shadow


def _require_watchable(strategy: str, *, is_answered: bool) -> None:
    if not (is_answered and "stuck_detector" in strategies.parameters(strategies.factory(strategy))):
        words = f"{strategy} can't be told to answer with the helper's words always, as takeover can; leave it out"
        raise ConfigError(words, "shadow.watch")


def _require_check(recipe: Recipe) -> Check:
    if not recipe.check:
        words = "is check, which is a tool that the pair names as check:, only in discussions, and here is none; name a"
        raise ConfigError(f"{words} model", JUDGE)
    return recipe.check


def promised_loss(settings: ShadowSettings, pair: Help) -> float | None:
    """Returns the share of requests that a pair may lose, or None if it is not watched. Raises `ConfigError`."""
    promised = pair.promise.loss if pair.promise else None
    if settings.watch and not (promised := settings.watch.loss or promised):
        raise ConfigError("has no loss, and the pair has no promise; write for example loss: 0.03", "shadow.watch")
    return promised


def require_self_calibrating(pair: Help, settings: ShadowSettings | None, traits: StrategyTraits) -> None:
    """Raises `ConfigError` if a pair can't calibrate itself."""
    if not pair.promise:
        raise ConfigError("auto needs a promise; write for example promise: {loss: 0.03}", "calibration")
    if not settings:
        raise ConfigError("auto learns from what the pair's shadow finds; write a shadow:", "calibration")
    if pair.peers or traits.replayed != "helper":
        words = "auto judges the answer of one model, and here are those of several, or none; name a file"
        raise ConfigError(words, "calibration")


def with_calibration(recipe: Recipe, calibration: Calibration) -> Recipe:
    """Returns the pair with a detector that uses the calibration."""
    return replace(recipe, detector=StuckDetector(recipe.help.threshold, calibration=calibration))


def _target(promised: float | None, pair: Help, models: Iterable[Model]) -> Target:
    """Returns the target that a cut has to meet."""
    target = Target("promise", promised or 0.0, models=tuple(str(model.name) for model in models))
    return replace(target, confidence=pair.promise.confidence) if pair.promise else target


def _last_safe_cut(
    recipe: Recipe, target: Target, store: EvidenceStore, pair: str, fallback: Calibration | None
) -> Calibration:
    """Returns the calibration with the least help whose promise the newest verdicts confirm.

    Returns `ALWAYS` if there is none, if the cut asks for help no more often than the one that lost too much, or if
    several models' answers are judged.
    """
    if recipe.traits.replayed != "helper":
        return ALWAYS_HELP
    answers = newest_answers(store, pair, RETEST_FACTOR * least_labels(target.value, target.confidence))
    try:
        found = calibrate(answers, target).calibration
    except ConfigError:  # the verdicts are too few, or all of one kind
        return ALWAYS_HELP
    before = fallback or (recipe.detector.calibration if recipe.detector else None)
    if before and not before.corrections and (found.cut, found.tie_break) >= (before.cut, before.tie_break):
        return ALWAYS_HELP
    return found


def _recalibrate(target: Target, store: EvidenceStore, pair: str) -> None:
    """Keeps a new version of the pair's calibration, if enough verdicts are newer than the last version and any alarm.

    Enough means the fewest verdicts that can confirm the promise. Verdicts from before an alarm are ignored.
    """
    known, alarms = newest_version(store, pair), store.records(FALLBACKS, pair, newest=1)
    alarm, enough = max((record.time for record in alarms), default=0.0), least_labels(target.value, target.confidence)
    if len(newest_answers(store, pair, enough, since=max(alarm, known.time if known else 0.0))) < enough:
        return
    answers = newest_answers(store, pair, CALIBRATION_FACTOR * enough, since=alarm)
    with suppress(ConfigError):  # too few verdicts of one kind so far
        made = calibrate(answers, target).calibration
        keep_version(store, pair, made, len(answers), after=known.number if known else 0)


def _cut_digest(recipe: Recipe, promised: float | None) -> str:
    """Returns the same digest for pairs that ask for help in the same cases and may lose as much."""
    pair, detector = recipe.help, recipe.detector
    calibration = detector.calibration.as_json() if detector and detector.calibration else None
    return digest([calibration, pair.threshold, pair.max_retries, pair.help_rate, pair.max_cost, promised])


def _require_prices(models: Iterable[Model], limits: SpendingLimits) -> None:
    try:
        for model in models:
            require_priced(model, limits)
    except ConfigError as error:
        raise ConfigError(str(error), "shadow.budget") from error


def _require_other(judge: Model, arms: Iterable[Model]) -> None:
    """Raises `ConfigError` if the judge would judge its own answer. Scripts with the same name are different models."""
    if str(judge.name) in [str(arm.name) for arm in arms] and not provider_traits(judge.name.provider).takes_script:
        words = f"{str(judge.name)!r} gives one of the answers, and can't judge between them; name a third model"
        raise ConfigError(words, JUDGE)
