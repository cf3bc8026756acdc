"""The properties of plug-ins that others need to know: a frozen value named `TRAITS` next to its `create`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .exchange import USUAL_FILES, FileTokens
from .helping import Role


@dataclass(frozen=True, slots=True)
class CalledModel:
    """When and why a strategy calls one of its models; `{name}` in `when` is the participant that is helped.

    `max_tokens` is the longest answer requested, if the strategy limits it. `calls` is the number of calls each time.
    """

    when: str = "where {name} is stuck"
    often: Literal["each turn", "when stuck", "unknown"] = "when stuck"
    role: Role = "helper"
    max_tokens: int | None = None
    calls: int = 1


def features(*able: str) -> Mapping[str, bool]:
    """Returns which features a model has; tools, images, reasoning and json_schema are False unless named."""
    return {name: name in able for name in ("tools", "images", "reasoning", "json_schema", *able)}


_LOOKS = {
    "judge": CalledModel("where its word would turn the decision", "unknown", "judge", max_tokens=16),
    "peers": CalledModel("where its word would turn the decision", "unknown", "peer"),
}


@dataclass(frozen=True, slots=True)
class StrategyTraits:
    """The properties of a strategy that commands, forecasts and checks need to know.

    `measured` is what measurements found, empty for an experimental strategy. `models` are the keys of a pair whose
    models it calls; models at other keys only check answers. `primary` among them means calls besides its answer; the
    primary is also the chair of a pair that names none. `same_twice`: one model may be in a pair twice. `samples` is
    how many answers the primary gives to each request. `drafts_alone`: the primary's answer comes first and alone, so
    it may be streamed before it is judged. `sends_request_only`: the primary gets only its request. `in_order`: several
    of these may help one participant, each knowing its place. `plans`: the secondary returns plans, which a server may
    keep.

    `replayed` is the answer that results when the small model is stuck, as far as recorded answers of both models show
    it: the helper's, the better one, or a new (unknown) one of the small model; empty if they show nothing.
    `each_step`: it is called between a model and its tools, and so sees each step of a turn. `steps_in`: so is its
    secondary, whose calls are run by the tools of the model that it replaces.
    """

    measured: str = ""
    models: Mapping[str, CalledModel] = field(default_factory=lambda: {"secondary": CalledModel()})
    samples: int = 1
    drafts_alone: bool = False
    sends_request_only: bool = False
    in_order: bool = False
    plans: bool = False
    replayed: Literal["", "helper", "better", "new"] = ""
    each_step: bool = False
    steps_in: bool = False
    same_twice: bool = False

    @property
    def is_answered_by_helper(self) -> bool:
        """Returns whether a helped answer is the helper's own, so that a calibration can promise a loss."""
        return self.replayed == "helper" or "peers" in self.models

    def call_of(self, key: str) -> CalledModel:
        """Returns when the model at `key` of a pair is called: by the strategy, or to check an answer in doubt."""
        return self.models.get(key) or _LOOKS.get(key, CalledModel())

    def own_calls(self, *, has_secondary: bool) -> tuple[CalledModel, ...]:
        """Returns what the primary is called for in addition to its answer."""
        chair = () if has_secondary else (called for called in self.models.values() if called.role == "chair")
        return *(called for key, called in self.models.items() if key == "primary"), *chair


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """The properties of a provider that clients, servers, prices and commands need to know.

    `http`: it is called over HTTP, with deadlines and the environment. `from_file`: its model type names a local file.
    `recited`: its answers were written beforehand, so nothing is refused and no limit applies to their context.
    `takes_script`: they are in the configuration, next to its type.
    `signs_calls`: it wants the signatures of its tool calls back. `api` is the name of its API, if our server speaks it
    too: such requests are passed through unchanged.

    `keys` are the environment variables that may hold its key; the first that is set counts. `human`: a person answers,
    so there are no models to list.

    `local`: its models run on this machine, unless its address says otherwise. `free`: nobody charges for its tokens,
    wherever it runs. `files` is how it counts pictures and pages. `price_list` is its name in genai-prices, `telemetry`
    in OpenTelemetry's conventions. `lists_all`: its list of models is complete.

    `advisor_tool` is the type of the tool in its API by which a model asks an advisor on the provider's side.

    `needs_model`: a type has to name a model. `dashed`: provider and model may be joined by a dash, as in
    `ollama-phi4`. `levels`: `-reasoning-high` after a model is an option. `tags`: its models have tags, as in
    `phi4:latest`.

    `starter` is a model type to begin with, `get_model` the advice for getting a first model.

    `models` are patterns of model names with their `features`; the first match counts.
    """

    http: bool = False
    from_file: bool = False
    recited: bool = False
    takes_script: bool = False
    human: bool = False
    signs_calls: bool = False
    api: str = ""
    keys: tuple[str, ...] = ()
    local: bool = False
    free: bool = False
    files: FileTokens = USUAL_FILES
    price_list: str = ""
    telemetry: str = ""
    lists_all: bool = False
    advisor_tool: str = ""
    needs_model: bool = False
    dashed: bool = False
    levels: bool = False
    tags: bool = False
    starter: str = ""
    get_model: str = "load a model"
    models: tuple[tuple[str, Mapping[str, bool]], ...] = ()
