"""Builds routes from settings."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from urllib.parse import urlsplit

from pydantic import ValidationError

from .. import assembly
from ..assembly import strategies
from ..assembly.models import BuildContext, Model, helper_model, spelling
from ..config.collaboration import AUTO, Help, HelperSettings, UsedHelp
from ..config.problems import Problem
from ..config.server import AdvisorSettings, BoostSettings, LoadedServer, RouteSettings, Server, with_advisor
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.plugins import near
from ..providers._endpoints import GATEWAY, provider_traits
from ..providers._names import parse
from ..providers.person import NAME as PERSON
from .advisors import AdvisorPolicy, AdvisorRule
from .clients import PlanCachingClient, Route, Routes, SigningClient, ToolFallback
from .state import Deployment, require_webhook

TIER_WORDS = {"opus": "big", "sonnet": "middle", "haiku": "small"}
TIER_NAMES = {"big": "claude-opus", "middle": "claude-sonnet", "small": "claude-haiku"}
VARIABLES = {"big": "BIG_MODEL", "middle": "MIDDLE_MODEL", "small": "SMALL_MODEL"}
ROUTES = ("server", "routes")
NO_HEADERS: Mapping[str, str] = {}
MOST_KEPT = 256
"""How many routes for model types that clients named are kept."""


class RouteErrors(ConfigError):
    """Routes and advisors of a file that can't be built."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.problems = problems


@dataclass(slots=True)
class RouteBuilder:
    """Builds the routes of one configuration into its deployment, with all models on the way."""

    server: Server
    context: BuildContext
    deployment: Deployment
    boost: BoostSettings | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    _tiers: dict[str, Route] = field(default_factory=dict)
    _others: dict[str, Route | None] = field(default_factory=dict)

    def build(self) -> None:
        """Raises `RouteErrors` for what can't be built of the file's routes and advisors, `ConfigError` for a tier."""
        self.deployment.routes = routes = self._routes()
        rules = [self._advisor_rule(*each, routes) for each in self.server.advisors.items()]
        self.deployment.advisors = AdvisorPolicy(rules)

    def _routes(self) -> Routes:
        named, problems = dict[str, Route](), list[Problem]()
        for name, settings in self.server.routes.items():
            try:
                named[name] = self._route(name, with_advisor(settings))
            except ConfigError as error:
                problems.append(strategies.problem_of(settings, (*ROUTES, name), error))
        if problems:
            raise RouteErrors(problems)
        self._tiers = {tier: self._tier_route(tier, settings) for tier, settings in self._tier_models()}
        listed = {route.name: route for route in self._tiers.values()}
        return Routes({**listed, **named}, self._route_by_tier)

    def _tier_models(self) -> Iterator[tuple[str, HelperSettings]]:
        """Yields each tier with its model. A tier without one uses that of the next larger tier."""
        tiers, larger = self.server.tiers, None
        for tier in ("big", "middle", "small"):
            larger = getattr(tiers, tier) or larger
            if larger:
                yield tier, larger

    def _route(self, name: str, settings: RouteSettings) -> Route:
        settings = strategies.with_file(settings, self.context.base)
        with about("model"):
            model = self._model(name, settings.model, settings.headers, settings.api_key)
        if not settings.model_fields_set & UsedHelp.model_fields.keys():
            return _direct_route(name, model)
        strategies.check(settings)
        _require_others(settings, self.context)
        plans = strategies.traits(settings.strategy).plans
        make = partial(self._helper, name, plans)
        recipe = assembly.recipes.Recipe.of(name, model, settings, make, self.context)
        if settings.calibration == AUTO:
            assembly.shadows.require_self_calibrating(settings, settings.shadow, recipe.traits)
        if recipe.lessons:
            self.deployment.lessons.append(recipe.lessons)
        return self._with_shadow(_pair_route(name, recipe), recipe, settings)

    def _with_shadow(self, route: Route, recipe: "assembly.recipes.Recipe", settings: RouteSettings) -> Route:
        if not (shadow_settings := settings.shadow):
            return route
        make = partial(self._shadow_model, route.name, settings)
        promised = assembly.shadows.promised_loss(shadow_settings, settings)
        shadow = assembly.shadows.shadow_of(shadow_settings, recipe, settings.model, self.context, make, promised)
        self.deployment.shadows[route.name] = shadow
        if promised is None:
            return replace(route, make=lambda: shadow.follow(route.make()))
        require_webhook(shadow_settings.watch.webhook if shadow_settings.watch else "")
        calibrated = partial(assembly.shadows.with_calibration, recipe)
        makers = lru_cache(2)(lambda made: calibrated(made).maker() if made else route.make)
        return replace(route, make=lambda: shadow.follow(makers(shadow.calibration)()))

    def _shadow_model(self, route: str, settings: RouteSettings, place: str, spec: HelperSettings) -> Model:
        """Builds a model that only the shadow uses, and closes."""
        apart = replace(self._in_role(f"{route}.shadow"), deployment=replace(self.deployment, models=[]))
        access = (settings.headers, settings.api_key) if spec is settings.model else ()
        with about(place):
            return apart._model(f"{route}.{place}", spec, *access)

    def _helper(self, route: str, plans: bool, speaker: str, settings: HelperSettings) -> Model:
        with about(speaker.removeprefix(f"{route}.")):
            model = self._in_role(speaker)._model(speaker, settings)
            return self._with_plans(model) if plans else model

    def _in_role(self, role: str) -> "RouteBuilder":
        """Returns a builder whose models have their own circuit breakers, so that roles do not affect each other."""
        return replace(self, context=replace(self.context, retry=replace(self.context.retry, role=role)))

    def _advisor_rule(self, pattern: str, settings: AdvisorSettings, routes: Routes) -> AdvisorRule:
        route = self._advisor_route(pattern, settings.model, routes) if settings.model else None
        return AdvisorRule(pattern, route, settings)

    def _advisor_route(self, pattern: str, settings: HelperSettings, routes: Routes) -> Route:
        """Returns the route of that name, as for a request, or one for a model of the rule's own."""
        if settings.model_fields_set == {"type"} and (route := routes.named.get(settings.type)):
            return route
        try:
            return _direct_route(pattern, self._in_role("advisor")._model(f"advisors.{pattern}", settings))
        except ConfigError as error:
            words = f"{error} It is not a route either{near(settings.type, [*routes.named])}"
            raise RouteErrors([Problem(("server", "advisors", pattern, "model"), words)]) from error

    def _tier_route(self, tier: str, settings: HelperSettings) -> Route:
        try:
            model = self._model(tier, self._of_gateway(settings))
            if self.boost and VARIABLES[tier] in self.boost.tiers:
                return self._boost_route(tier, model, self.boost)
        except ConfigError as error:
            raise ConfigError(f"{VARIABLES[tier]}: {error}") from error
        return _direct_route(TIER_NAMES[tier], model)

    def _boost_route(self, tier: str, model: Model, boost: BoostSettings) -> Route:
        section = {"base_url": boost.base_url, "api_key": boost.api_key}
        context = self._in_role(f"{tier}.boost").context
        context = replace(context, providers={**context.providers, GATEWAY: section})
        planner = helper_model("boost", HelperSettings(type=f"{GATEWAY}/{boost.model}"), context)
        planner = self._with_plans(self._register(planner))
        help_ = Help.model_validate(boost.pair)
        return _pair_route(TIER_NAMES[tier], assembly.recipes.Recipe(model, help_, {"secondary": planner}))

    def _of_gateway(self, settings: HelperSettings) -> HelperSettings:
        """Prefixes a bare model name with `openai/` if the environment sets `OPENAI_BASE_URL`."""
        address = (self.context.environment or {}).get("OPENAI_BASE_URL")
        bare = "/" not in settings.type and ":" not in settings.type
        return settings.model_copy(update={"type": f"{GATEWAY}/{settings.type}"}) if address and bare else settings

    def _model(
        self, speaker: str, settings: HelperSettings, headers: Mapping[str, str] = NO_HEADERS, api_key: str = ""
    ) -> Model:
        model = helper_model(speaker, settings, self._with_section(settings, headers, api_key))
        if model.name.provider == PERSON:
            raise ConfigError(f"{model.name} is a person, and nobody sits at a server; name a model.")
        return self._register(_with_tool_fallback(model, dict(settings.capabilities).get("tools")))

    def _with_plans(self, model: Model) -> Model:
        if not (plans := self.deployment.plans).size:
            return model
        return replace(model, client=PlanCachingClient(model.client, str(model.name), plans))

    def _register(self, model: Model) -> Model:
        wrapped = self._wrap(model)
        self.deployment.models.append(wrapped)
        return wrapped

    def _with_section(
        self, settings: HelperSettings, headers: Mapping[str, str] = NO_HEADERS, api_key: str = ""
    ) -> BuildContext:
        """Returns the context with the provider's headers and key, and the headers for all upstreams."""
        more = {**self.headers, **headers}
        provider = parse(settings.type, self.context.providers).provider
        if not (more or api_key) or _is_of_this_machine(provider):
            return self.context
        section = self.context.providers.get(provider, {})
        section = {**section, "headers": {**section.get("headers", {}), **more}}
        if api_key:
            section["api_key"] = api_key
        return replace(self.context, providers={**self.context.providers, provider: section})

    def _wrap(self, model: Model) -> Model:
        if host := urlsplit(model.endpoint).hostname:
            self.deployment.hosts.add(host)
        self.deployment.upstreams.add(str(model.name))
        if provider_traits(model.name.provider).signs_calls:
            return replace(model, client=SigningClient(model.client, self.deployment.signatures))
        return model

    def _route_by_tier(self, name: str) -> Route | None:
        """Returns the route for a name that contains a tier's word or is a model type with its provider."""
        if route := self._others.get(name):  # a tier's names are never kept here
            return route
        tier = next((tier for word, tier in TIER_WORDS.items() if word in name.lower()), "")
        if route := self._tiers.get(tier):
            return route
        if name not in self._others:
            if len(self._others) >= MOST_KEPT:
                self._others.pop(next(iter(self._others)))
            self._others[name] = self._by_type(name)
        return self._others[name]

    def _by_type(self, name: str) -> Route | None:
        try:
            settings = HelperSettings(type=name)
            context = self._with_section(settings)
            if not _says_provider(name):
                return None
            return _direct_route(name, self._wrap(_with_tool_fallback(helper_model(name, settings, context), None)))
        except (ConfigError, ValidationError):  # the latter for a name that is too long for any model
            return None


@contextmanager
def about(key: str) -> Iterator[None]:
    """Adds `key` to a `ConfigError` as its place."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(str(error), key) from error


def _require_others(settings: RouteSettings, context: BuildContext) -> None:
    own = spelling(settings.model.type, context.providers)
    if strategies.traits(settings.strategy).same_twice or provider_traits(own.partition("/")[0]).takes_script:
        return
    for steps, helper_ in strategies.helpers_of(settings):
        if spelling(helper_.type, context.providers) == own:
            words = strategies.words_on_itself(repr(settings.model.type), steps)
            raise ConfigError(words, ".".join(map(str, steps)))


def _with_tool_fallback(model: Model, native: bool | None) -> Model:
    return replace(model, client=ToolFallback(model.client, native, (model.upstream, model.name.model)))


def _pair_route(name: str, recipe: "assembly.recipes.Recipe") -> Route:
    """Returns the route of a pair. Builds one client at once, to find errors before the first request."""
    make = recipe.maker()
    make()
    names = (recipe.model.name, *(each.name for each in recipe.helpers.values()))
    return Route(name, make, recipe.help.strategy, tuple(map(str, names)))


def named_code(document: LoadedServer) -> tuple[str, ...]:
    """Returns the modules that serving a file would import: they have to be trusted first."""
    server = document.file.server
    names = [provider_of(type_, document.file.providers) for type_ in _model_types(server)]
    names += [strategies.with_file(route, document.base).strategy for route in server.routes.values()]
    return tuple(dict.fromkeys(name for name in names if "." in name))


def _model_types(server: Server) -> Iterator[str]:
    tiers = (getattr(server.tiers, tier) for tier in TIER_WORDS.values())
    advisors = (each.model for each in server.advisors.values())
    routes = server.routes.values()
    answering = (model for route in routes for model in (route.model, route.advisor))
    yield from (model.type for model in (*tiers, *advisors, *answering) if model)
    for route in routes:
        yield from strategies.types_of(route)


def provider_of(type_: str, custom: Collection[str]) -> str:
    """Returns a type's provider, or nothing if the type is malformed: building its model reports that."""
    with suppress(ConfigError):
        return parse(type_, custom).provider
    return ""


def _says_provider(name: str) -> bool:
    """Checks whether a name has a provider that clients may use: neither code nor files of this machine."""
    provider = name.partition("/")[0].partition(":")[0]
    return provider != name and "." not in provider and not _is_of_this_machine(provider)


def _is_of_this_machine(provider: str) -> bool:
    """Checks whether a provider's models are files or texts, which need no headers and keys."""
    traits = provider_traits(provider)
    return traits.from_file or traits.recited


def _direct_route(name: str, model: Model) -> Route:
    client: ModelClient = model.client
    api = provider_traits(model.name.provider).api
    return Route(name, lambda: client, models=(str(model.name),), api=api)
