"""The schema of a server file: `server`, and how its models are reached."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from ..core.errors import ConfigError
from ..core.plugins import near
from ..core.texts import public_url
from .collaboration import Helper, UsedHelp
from .documents import ConfigDocument, FileKind, Source, checked_section, read_document
from .participants import ModelFile
from .problems import KeyPath, Problem
from .rewriting import rename_keys_below, with_default
from .tree import Node
from .values import (
    AS_NUMBER,
    MAX_COUNT,
    TEXT,
    Amount,
    Count,
    Flag,
    Listed,
    Name,
    Positive,
    Seconds,
    Section,
    ShortSpelling,
    short_for,
)

Port = Annotated[int, Field(ge=0, le=65535), AS_NUMBER]


def _advisor(raw: Any) -> Any:
    return ({"refuse": True} if raw == "refuse" else {"model": raw}) if isinstance(raw, str) else raw


class RouteSettings(UsedHelp):
    """A model name for clients: a model, possibly with helpers. A plain string is short for a model."""

    model: Helper = Field(description="The model that answers.", examples=["ollama/phi4"])
    advisor: Helper | None = Field(
        default=None,
        description="A model that it may ask without clients noticing: short for `secondary` and strategy advisor.",
    )
    headers: dict[str, str] = Field(default={}, description="HTTP headers for its provider.", repr=False)
    api_key: str = Field(default="", description="Key for its provider, if it is another than usual.", repr=False)


def with_advisor(route: RouteSettings) -> RouteSettings:
    """Expands a route's advisor to the pair that it is short for. Raises `ConfigError` if the route has a pair too."""
    if route.advisor is None:
        return route
    if route.model_fields_set & {"secondary", "strategy"}:
        raise ConfigError("advisor is short for secondary and strategy: advisor; leave one of the two out", "advisor")
    values = {key: getattr(route, key) for key in route.model_fields_set - {"advisor"}}
    return RouteSettings.model_validate({**values, "secondary": route.advisor, "strategy": "advisor"})


class AdvisorSettings(Section):
    """Who answers for an advisor that a client names. A plain string is short for a model, or `refuse`."""

    model: Helper | None = Field(
        default=None,
        description="The model or route that answers; by default the one that the client names.",
        examples=["ollama/phi4"],
    )
    refuse: Flag = Field(default=False, description="Whether requests with such an advisor are refused.")
    native: Flag | None = Field(
        default=None,
        description="Whether the upstream asks the advisor itself if it can. By default it does if it knows both "
        "models and no other key is set here.",
    )
    max_uses: Positive | None = Field(default=None, description="The most questions per request.")
    max_tokens: Positive | None = Field(default=None, description="The longest advice, in tokens.")


class ServeKey(Section):
    """A client's key and its limits; a plain string is short for `{key: ...}`."""

    key: Name = Field(description="The key; better from the environment.", examples=["${TEAM_KEY}"], repr=False)
    name: str = Field(default="", description="Name of the key in logs and metrics.", examples=["team"])
    budget_usd: Amount | None = Field(default=None, description="Dollars that it may spend, over all workers.")
    concurrent: Positive | None = Field(default=None, description="Its requests at once, over all workers.")
    per_minute: Positive | None = Field(
        default=None, description="Its requests per minute, over all workers; more get a 429."
    )


class Tiers(Section):
    """Models for the names that carry a tier: opus, sonnet, haiku."""

    big: Helper | None = Field(default=None, description="For names with opus; BIG_MODEL.")
    middle: Helper | None = Field(default=None, description="For names with sonnet; MIDDLE_MODEL.")
    small: Helper | None = Field(default=None, description="For names with haiku; SMALL_MODEL.")


class ServerLimits(Section):
    """Limits of one worker."""

    body_mb: Annotated[float, Field(gt=0, le=1024), AS_NUMBER] = Field(default=32, description="The largest request.")
    concurrent: Positive = Field(default=512, description="Requests that are answered at once.")
    queue: Count = Field(default=512, description="Requests that wait for their turn; further ones are rejected.")
    header_seconds: Seconds = Field(default=10, description="Seconds for the head of a request.")
    body_seconds: Seconds = Field(default=30, description="Seconds for the body of a request.")
    grace_seconds: Seconds = Field(default=60, description="Seconds for running answers when the server stops.")
    connections: Positive = Field(default=4096, description="Open connections.")
    stored_mb: Annotated[float, Field(ge=0, le=65536), AS_NUMBER] = Field(
        default=64, description="Answers of the Responses API that clients may refer to; 0 keeps none."
    )
    max_tokens: Positive | None = Field(default=None, description="The longest answer that is asked for, in tokens.")
    unpriced: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="Whether a model of unknown price may answer for keys with a budget; it counts as nothing.",
    )


class WhenAway(Section):
    """What happens to requests while the shared counts can't be reached: refused (closed), or not counted (open)."""

    budgets: Literal["closed", "open"] = Field(default="closed", description="Requests of keys with a budget.")
    requests: Literal["closed", "open"] = Field(
        default="open", description="Requests of keys with `concurrent` or `per_minute`; open: each worker counts them."
    )


class PlanCache(Section):
    """Boost plans that are kept for equal requests."""

    size: Annotated[int, Field(ge=0, le=MAX_COUNT), AS_NUMBER] = Field(default=0, description="How many; 0 keeps none.")
    seconds: Seconds = Field(default=600, description="How long each is good for.")


class Server(Section):
    """The server's address, its keys, and the models that answer."""

    host: str = Field(default="127.0.0.1", description="Address to listen on; a public one needs keys.")
    port: Port = Field(default=8787, description="Port to listen on; 0 takes a free one.")
    workers: Positive = Field(default=1, description="Processes that answer; each uses one core.")
    keys: Listed[Annotated[ServeKey, short_for("key")]] = Field(default=(), description="What clients present.")
    routes: dict[Name, Annotated[RouteSettings, short_for("model")]] = Field(
        default={}, description="What answers to which model name.", examples=[{"small+big": {"model": "ollama/phi4"}}]
    )
    tiers: Tiers = Field(default=Tiers(), description="Models by tier.")
    request_timeout: Seconds = Field(default=600, description="Seconds that an answer may take.")
    limits: ServerLimits = Field(default=ServerLimits(), description="What one worker takes on.")
    advisors: dict[Name, Annotated[AdvisorSettings, ShortSpelling(_advisor, TEXT)]] = Field(
        default={},
        description="Who answers for the advisors that clients name, by a pattern; the first that fits holds.",
        examples=[{"claude-opus-*": "ollama/qwen3:32b"}],
    )
    plans: PlanCache = Field(default=PlanCache(), description="Cache of boost plans.")
    state: str = Field(
        default="",
        description="Where workers count together what keys use: a folder of this machine, usually one in "
        "XDG_STATE_HOME, or the address of a Redis, for several machines.",
        examples=["redis://:${REDIS_PASSWORD}@10.0.0.5:6379/0"],
        repr=False,
    )
    when_away: WhenAway = Field(default=WhenAway(), description="What happens while that can't be reached.")
    log_content: bool = Field(default=False, description="Whether requests and answers go into the log.")


class ServerFile(ModelFile):
    """A server, and how its models are reached."""

    server: Server = Field(default=Server(), description="The server.")


@dataclass(frozen=True, slots=True)
class LoadedServer(ConfigDocument):
    """A checked server file."""

    file: ServerFile = field(repr=False)


VARIABLES: Mapping[KeyPath, str] = {
    ("server", "host"): "HOST",
    ("server", "port"): "PORT",
    ("server", "request_timeout"): "REQUEST_TIMEOUT",
    ("server", "tiers", "big"): "BIG_MODEL",
    ("server", "tiers", "middle"): "MIDDLE_MODEL",
    ("server", "tiers", "small"): "SMALL_MODEL",
    ("server", "limits", "max_tokens"): "MAX_TOKENS_LIMIT",
}
ROUTE_SPELLING = ("server", "routes"), "primary", "model"
NO_BOOST = "boost is not configured for the tiers"


def _with_variables(tree: Node, variables: Mapping[str, str]) -> Node:
    for path, name in VARIABLES.items():
        if value := variables.get(name, "").strip():
            # Text, not a plain scalar: a model or a host may be called `null`, and numbers are read from text too.
            tree = with_default(tree, path, Node(value.replace("${", "$${"), f"The variable {name} for"))
    return tree


def _same_keys(file: ServerFile) -> Iterator[Problem]:
    """Yields keys that stand there twice: only one of the names and budgets would hold."""
    first = dict[str, int]()
    for number, each in enumerate(file.server.keys):
        if (earlier := first.setdefault(each.key, number)) != number:
            words = f"is the same as server.keys[{earlier}].key; each entry needs a key of its own"
            yield Problem(("server", "keys", number, "key"), words)


SERVER = FileKind(
    "server",
    LoadedServer,
    ServerFile,
    lambda tree, variables: (rename_keys_below(_with_variables(tree, variables), *ROUTE_SPELLING), ()),
    _same_keys,
)


def load_server(source: Source, environment: Mapping[str, str], overrides: Sequence[str] = ()) -> LoadedServer:
    """Loads a server file. The environment fills in what it leaves out. Raises `ConfigError` with all problems."""
    return read_document(SERVER, source, environment, overrides)


TIERS = ("BIG_MODEL", "MIDDLE_MODEL", "SMALL_MODEL")
NO_TIER = "NONE"
REQUIRED = ("BOOST_BASE_URL", "BOOST_API_KEY", "BOOST_MODEL")


def _tiers(written: str) -> tuple[str, ...]:
    names = [name.strip().upper() for name in written.split(",") if name.strip()]
    for name in names:
        if name not in (*TIERS, NO_TIER):
            raise ConfigError(f"ENABLE_BOOST_SUPPORT has no {name!r}{near(name, [*TIERS, NO_TIER])}")
    if NO_TIER in names and len(set(names)) > 1:
        raise ConfigError(f"ENABLE_BOOST_SUPPORT is {written!r}: {NO_TIER} stands alone.")
    return tuple(tier for tier in TIERS if tier in names)


def _http_address(written: str) -> str:
    problem = PydanticCustomError("address", "is not an address; write it as https://host/v1")
    try:
        parts = urlsplit(written)
        _ = parts.port
    except ValueError as error:
        raise problem from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise problem
    return written.rstrip("/")


class BoostSettings(Section):
    """The boost model that the environment names, and the tiers of models that it plans for."""

    base_url: Annotated[str, AfterValidator(_http_address)] = Field(alias="BOOST_BASE_URL", repr=False)
    api_key: str = Field(alias="BOOST_API_KEY", repr=False)
    model: str = Field(alias="BOOST_MODEL")
    tiers: tuple[str, ...] = Field(default=(), alias="ENABLE_BOOST_SUPPORT")
    template: str = Field(default="", alias="BOOST_WRAPPER_TEMPLATE", description="A path, or a text.")
    timeout: Seconds = Field(default=60.0, alias="BOOST_TIMEOUT", description="For all attempts at one request.")

    @property
    def pair(self) -> dict[str, object]:
        """The pair with this model, as a file would define it."""
        return {"strategy": "boost", "helper_timeout": self.timeout, "options": {"template": self.template}}

    def __str__(self) -> str:
        return f"boost model {self.model} at {public_url(self.base_url)}, for {', '.join(self.tiers) or NO_TIER}"


BOOST_VARIABLES = {field.alias or name for name, field in BoostSettings.model_fields.items()}


def boost_settings(environment: Mapping[str, str]) -> tuple[BoostSettings | None, str]:
    """Returns the settings and a status for the user. Without some of the variables, boost stays off.

    Raises `ConfigError` for a variable with a wrong value.
    """
    variables = {name: value.strip() for name, value in environment.items() if value.strip()}
    tiers = _tiers(variables.get("ENABLE_BOOST_SUPPORT", NO_TIER))
    missing = [name for name in REQUIRED if name not in variables]
    if not missing:
        values = {name: variables[name] for name in variables.keys() & BOOST_VARIABLES}
        settings = checked_section(BoostSettings, {**values, "ENABLE_BOOST_SUPPORT": tiers})
        return settings, str(settings) if tiers else NO_BOOST
    if len(missing) == len(REQUIRED) and not tiers:
        return None, NO_BOOST
    half = f"The boost model is half configured, without {' and '.join(missing)}."
    return None, f"{NO_BOOST}, requests are served directly. {half}"
