"""Makes the shadow of a pair: both arms and a judge, as models of its own, so that their faults are nobody else's."""

from collections.abc import Callable, Iterable

from .. import assembly
from ..collaboration import Shadow, ShadowTerms
from ..config.collaboration import Help, HelperSettings, ShadowSettings
from ..core.errors import ConfigError
from ..core.ledger import SpendingLimits
from ..core.redaction import without_keys
from ..providers._endpoints import provider_traits
from . import strategies
from .models import BuildContext, Model, require_priced

JUDGE = "shadow.judge"


def shadow_of(
    said: ShadowSettings,
    pair: Help,
    own: HelperSettings,
    context: BuildContext,
    make: Callable[[str, HelperSettings], Model],
) -> Shadow:
    """Return the shadow that `pair` is to have, in which `own` answers first; `make` makes a model for its place.

    Raises `ConfigError` for a judge that gives one of the answers, and for models of unknown price.
    """
    if not (large := strategies.large_of(pair)):
        raise ConfigError("a shadow compares two models, and here is only one; name the model that helps", "shadow")
    _require_judge(said, (own, *(helper for _, helper in strategies.helpers_of(pair))), context)
    arms = {"shadow.small": own, "shadow.large": large, JUDGE: said.judge}
    models = {place: make(place, settings) for place, settings in arms.items()}
    budget = said.budget
    limits = SpendingLimits(budget.cost_usd, unpriced=budget.unpriced)
    _require_prices(models.values(), limits)
    small, big, judge = models.values()
    redactor = context.redactor
    terms = ShadowTerms(
        pair=f"{small.name} + {big.name} ({pair.strategy})",
        share=said.share,
        limits=limits,
        sees=pair.helper_sees,
        redact=lambda text: without_keys(redactor.text(text)),
    )
    return Shadow(terms, small.client, big.client, judge.client)


def _require_prices(models: Iterable[Model], limits: SpendingLimits) -> None:
    try:
        for model in models:
            require_priced(model, limits)
    except ConfigError as error:
        raise ConfigError(str(error), "shadow.budget") from error


def _require_judge(said: ShadowSettings, arms: Iterable[HelperSettings], context: BuildContext) -> None:
    """Raise `ConfigError` for one that would judge its own answer; two scripts of one name are not one model."""
    judge = assembly.spelling(said.judge.type, context.providers)
    is_script = provider_traits(judge.partition("/")[0]).takes_script
    if not is_script and any(assembly.spelling(arm.type, context.providers) == judge for arm in arms):
        words = f"{said.judge.type!r} gives one of the answers, and can't judge between them; name a third model"
        raise ConfigError(words, JUDGE)
