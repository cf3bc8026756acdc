"""What others have to know of a plug-in: a frozen value called `TRAITS` beside its `create`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .helping import Role
from .tokens import USUAL_FILES, FileTokens


@dataclass(frozen=True, slots=True)
class CalledModel:
    """When a strategy calls one of its models, and what for; `{name}` in `when` is the participant that is helped.

    `max_tokens` is the most that it is asked to write, where the strategy bounds it. `calls` is how often it is called
    each time.
    """

    when: str = "where {name} is stuck"
    often: Literal["each turn", "when stuck", "unknown"] = "when stuck"
    role: Role = "helper"
    max_tokens: int | None = None
    calls: int = 1


def features(*able: str) -> Mapping[str, bool]:
    """Returns what a model can do; of tools, images, reasoning and json_schema it also says what it can't."""
    return {name: name in able for name in ("tools", "images", "reasoning", "json_schema", *able)}


_LOOKS = {
    "judge": CalledModel("where its word would turn the decision", "unknown", "judge", max_tokens=16),
    "peers": CalledModel("where its word would turn the decision", "unknown", "peer"),
}


@dataclass(frozen=True, slots=True)
class StrategyTraits:
    """What commands, forecasts and checks have to know of a strategy.

    `measured` says what was measured of it, empty for an experimental one. `models` are the keys of a pair whose models
    it calls; others only look at answers. At `primary` stands what that is called for beside its answer; a chair that a
    pair does not name is the primary too. `same_twice`: one model may be in a pair twice. `samples` is how many answers
    its primary gives to each request, where it is several. `drafts_alone`: the primary's answer comes first, and
    nothing beside it, so it may be read before it is judged. `sends_request_only`: its primary gets nothing but its
    request. `in_order`: several of it may help one participant, each knowing its place. `plans`: its secondary's
    answers are plans, which a server may keep.
    `replayed` is what it gives where the small model is stuck, told from recorded answers of both models: the helper's,
    the better one, or a new one of the small model, which nobody knows; empty where they tell nothing.
    `each_step`: it stands between a model and its tools, and so sees each step of a turn. `steps_in`: so does its
    secondary then, whose calls are run by the tools of the one that it stands in for.
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
        """Whether the helper's answer is that of the pair where it helps, so that a calibration can promise a loss."""
        return self.replayed == "helper" or "peers" in self.models

    def call_of(self, key: str) -> CalledModel:
        """Returns when the models at `key` of a pair are called: by the strategy, or to look at an answer in doubt."""
        return self.models.get(key) or _LOOKS.get(key, CalledModel())

    def own_calls(self, *, has_secondary: bool) -> tuple[CalledModel, ...]:
        """Returns what the primary is called for beside its answer."""
        chair = () if has_secondary else (called for called in self.models.values() if called.role == "chair")
        return *(called for key, called in self.models.items() if key == "primary"), *chair


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """What whoever makes clients, a server, prices and commands have to know of a provider.

    `http`: it is asked over HTTP, and takes deadlines and the environment. `from_file`: its model type names a file of
    this machine. `recited`: its answers were written beforehand, so that nothing is refused and nothing need fit a
    limit. `signs_calls`: it wants the signatures of its calls back with them. `api` is the name of the API that it
    speaks, where servers speak it too: what their clients ask then goes through as it came.

    `keys` are the environment variables that may hold its key, the first that is set counts.

    `human`: a person answers, so there are no models to list.

    `local`: its models run on this machine, unless its address says otherwise. `free`: nobody charges for its tokens,
    wherever it runs. `files` is how it counts pictures and pages. `price_list` is its name in genai-prices, `telemetry`
    in OpenTelemetry's conventions. `lists_all`: a model that it does not list is not there.

    `advisor_tool` is the type of the tool with which it asks an advisor itself, in the API that it speaks.

    `needs_model`: a type has to name a model. `dashed`: a dash may stand between the two, as in `ollama-phi4`.
    `levels`: `-reasoning-high` behind a model is an option. `tags`: its models have tags, as in `phi4:latest`.

    `starter` is a model type to begin with, `get_model` how a first model is got.

    `models` are patterns of its models' names with the `features` of those; the first that fits counts.
    """

    http: bool = False
    from_file: bool = False
    recited: bool = False
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

    @property
    def takes_script(self) -> bool:
        """Whether it says what stands in the file beside its type."""
        return self.recited and not self.from_file
