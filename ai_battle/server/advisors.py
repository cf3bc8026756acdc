"""Advisors that clients declare in their requests: which model answers as the advisor, and on which terms."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from .. import server
from ..config.server import AdvisorSettings
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, RawBody
from ..core.messages import Message, Text
from ..providers._endpoints import provider_traits
from ..wire.advice import (
    ANTHROPIC_TOOL,
    AdvisorEntry,
    consultations_in,
    decode_entries,
    forces_question,
    without_entries,
)
from ..wire.bodies import PatternSearch
from .apis import MESSAGES
from .clients import Route, Routes
from .errors import Denied, NoRoute
from .streaming import ServedRequest

ENCRYPTED_ADVICE = PatternSearch(rb'"advisor_redacted_result"', 25)
MAX_USES, MAX_TOKENS = 3, 4_096
"""Uses in a request and tokens of each advice, unless the client or the operator sets a bound."""
STRATEGY = "advisor"
NO_QUESTION = "Another model asks you how to go on, and says no more than that."


@dataclass(frozen=True, slots=True)
class AdvisorRule:
    """The operator's terms for advisors whose names match `pattern`; `route` answers in their place, if set."""

    pattern: str = "*"
    route: Route | None = None
    settings: AdvisorSettings = field(default_factory=AdvisorSettings)

    @property
    def changes_terms(self) -> bool:
        return bool(self.route or self.settings.max_uses or self.settings.max_tokens)


DEFAULT_RULE = AdvisorRule()


@dataclass(frozen=True, slots=True)
class ClientAdvisor:
    """An advisor that a client declared, the model that answers for it, and its terms."""

    entry: AdvisorEntry
    client: ModelClient
    max_uses: int
    max_tokens: int

    @property
    def name(self) -> str:
        return self.entry.name or "advisor"

    def prepare(self, request: ModelRequest, question: str) -> ModelRequest:
        """Returns a request for advice with the client's options for such requests."""
        if not self.entry.sees_conversation:
            request = replace(request, system="", messages=(Message("user", (Text(question or NO_QUESTION),)),))
        system = "\n\n".join(filter(None, (self.entry.instructions, request.system)))
        options = {**self.entry.options, **request.options, "max_tokens": self.max_tokens}
        return replace(request, system=system, options=options)


@dataclass(frozen=True, slots=True)
class AdvisorPolicy:
    """The operator's rules. The first that matches an advisor applies."""

    rules: Sequence[AdvisorRule] = ()

    def apply(self, call: ServedRequest, body: RawBody, routes: Routes) -> ServedRequest:
        """Returns the request with a client that consults its advisors, or unchanged if it declares none.

        Raises `ConfigError` naming the place of a mistake, and `Denied` for an advisor that is refused.
        """
        if not (entries := decode_entries(body.fields.get("tools"))):
            _require_readable(call, body)
            return call
        ruled = [(entry, self._rule(entry)) for entry in entries]
        if all(_is_native(call, entry, rule) for entry, rule in ruled):
            return call
        advisors = [_client_advisor(call.route, entry, rule, routes) for entry, rule in ruled]
        return _with_advisors(call, body, advisors)

    def _rule(self, entry: AdvisorEntry) -> AdvisorRule:
        rule = next((rule for rule in self.rules if fnmatchcase(entry.model, rule.pattern)), DEFAULT_RULE)
        if rule.settings.refuse:
            raise Denied(403, f"{entry.place}: {entry.model!r} is refused as an advisor here; leave the tool out.")
        return rule


def _with_advisors(call: ServedRequest, body: RawBody, advisors: Sequence[ClientAdvisor]) -> ServedRequest:
    route, is_forced = call.route, forces_question(body.fields.get("tool_choice"))
    client = server.consulting.ConsultingClient(
        route.make(), advisors, call.api.name, is_direct=route.is_direct, is_forced=is_forced
    )
    request = without_entries(call.asked.request)
    route = replace(route, make=lambda: client, strategy=route.strategy or STRATEGY, api="")
    return replace(call, asked=replace(call.asked, request=request), route=route)


def _require_readable(call: ServedRequest, body: RawBody) -> None:
    """Raises `ConfigError` for earlier advice that is encrypted if no upstream of the request can read it."""
    if call.api is MESSAGES and _has_encrypted(body) and not _runs_advisors(call):
        for found in consultations_in(call.asked.request.messages):
            found.require_readable()


def _has_encrypted(body: RawBody) -> bool:
    messages = body.fields["messages"]
    return ENCRYPTED_ADVICE.finds(messages if isinstance(messages, bytes) else body.data)


def _is_native(call: ServedRequest, entry: AdvisorEntry, rule: AdvisorRule) -> bool:
    """Checks whether the upstream gets the client's tool unchanged and asks the advisor itself."""
    if _runs_advisors(call) != entry.type:
        return False
    if rule.settings.native is not None:
        return rule.settings.native
    knows_both = entry.type != ANTHROPIC_TOOL or ("claude" in call.route.models[0] and "claude" in entry.model)
    return knows_both and not rule.changes_terms


def _runs_advisors(call: ServedRequest) -> str:
    """Returns the type of the tool by which the upstream asks advisors itself, or nothing if it has none."""
    return provider_traits(call.route.provider).advisor_tool if call.route.api == call.api.name else ""


def _client_advisor(worker: Route, entry: AdvisorEntry, rule: AdvisorRule, routes: Routes) -> ClientAdvisor:
    if not (entry.model or rule.route):
        way = 'name one of this server\'s models in it, or let the operator map "*" under advisors:'
        raise ConfigError(f"{entry.place}: the model of the advisor is missing; {way}.")
    advisor = rule.route or _named_route(worker, entry, routes)
    if advisor.models == worker.models:
        way = "name another model as the advisor, or leave the tool out"
        raise ConfigError(f"{entry.place}: {entry.model!r} is the model that answers, and can't advise itself; {way}.")
    uses = min(filter(None, (entry.max_uses, rule.settings.max_uses)), default=MAX_USES)
    tokens = min(filter(None, (entry.options.get("max_tokens"), rule.settings.max_tokens)), default=MAX_TOKENS)
    return ClientAdvisor(entry, advisor.make(), uses, tokens)


def _named_route(worker: Route, entry: AdvisorEntry, routes: Routes) -> Route:
    """Returns the route with an advisor's name, or the model with that name at the worker's provider."""
    for name in (entry.model, f"{worker.provider}/{entry.model}"):
        with suppress(NoRoute):
            return routes.find(name)
    raise NoRoute(f"{entry.place}: there is no model {entry.model[:80]!r} here to advise; map it under advisors:.")
