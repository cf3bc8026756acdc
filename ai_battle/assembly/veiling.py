"""Puts a model behind a veil, which replaces private data with placeholders."""

from dataclasses import replace

from ..config.participants import VeilSettings
from ..core.errors import ConfigError
from ..providers._private import KINDS, VeilRules, check_patterns
from ..providers._veil import PrivacyFinder, VeiledClient
from .models import BuildContext, Model, is_gateway, model, supporting_model


def with_veil(made: Model, settings: VeilSettings, context: BuildContext) -> Model:
    """Returns the model behind a veil. Raises `ConfigError` for a model on this machine.

    A vendor's API at a local address is a gateway that forwards what it gets, so it may be veiled.
    """
    if made.local and not context.recording and not is_gateway(made):
        raise ConfigError(f"veil does nothing for {made.name}, which is on this machine: nothing leaves. Remove it.")
    patterns = {name.upper(): pattern for name, pattern in settings.patterns.items()}
    if taken := patterns.keys() & {*KINDS}:
        raise ConfigError(f"veil.patterns.{min(taken).lower()} is the name of a built-in pattern; choose another.")
    check_patterns(tuple(patterns.items()))
    rules = VeilRules(settings.names, settings.terms, sends_files=settings.files == "send", patterns=patterns)
    return replace(made, client=VeiledClient(made.client, str(made.name), rules, _finder(settings, context)))


def _finder(settings: VeilSettings, context: BuildContext) -> PrivacyFinder | None:
    if settings.finder is None:
        return None
    made = model(supporting_model(settings.finder, "veil.finder", context), {}, context)
    if not made.local and not context.recording:
        raise ConfigError(f"veil.finder: {made.name} is not on this machine, so private data would leave.")
    return PrivacyFinder(made.client, str(made.name), may_fail=settings.without_finder == "send")
