"""How spans of model calls are named: OpenTelemetry's conventions for generative AI, in two versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..core.exchange import ModelRequest, ModelResponse
from ..providers._names import ModelName

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST = "gen_ai_latest_experimental"
OPERATION = "chat"
ERROR = "error.type"
Attributes: TypeAlias = dict[str, Any]

# What it is, its name in version 1.36 of the conventions and its name in the latest; empty: not there.
TABLE = (
    ("operation", "gen_ai.operation.name", "gen_ai.operation.name"),
    ("provider", "gen_ai.system", "gen_ai.provider.name"),
    ("model", "gen_ai.request.model", "gen_ai.request.model"),
    ("answered_by", "gen_ai.response.model", "gen_ai.response.model"),
    ("max_tokens", "gen_ai.request.max_tokens", "gen_ai.request.max_tokens"),
    ("temperature", "gen_ai.request.temperature", "gen_ai.request.temperature"),
    ("top_p", "gen_ai.request.top_p", "gen_ai.request.top_p"),
    ("top_k", "gen_ai.request.top_k", "gen_ai.request.top_k"),
    ("seed", "gen_ai.request.seed", "gen_ai.request.seed"),
    ("frequency_penalty", "gen_ai.request.frequency_penalty", "gen_ai.request.frequency_penalty"),
    ("presence_penalty", "gen_ai.request.presence_penalty", "gen_ai.request.presence_penalty"),
    ("finish", "gen_ai.response.finish_reasons", "gen_ai.response.finish_reasons"),
    ("input_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.output_tokens"),
    ("cache_read_tokens", "", "gen_ai.usage.cache_read.input_tokens"),
    ("cache_write_tokens", "", "gen_ai.usage.cache_creation.input_tokens"),
    ("reasoning_tokens", "", "gen_ai.usage.reasoning.output_tokens"),
)
OPTIONS = ("max_tokens", "temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
PROVIDERS = {"gemini": "gcp.gemini", "azure": "azure.ai.openai", "mistral": "mistral_ai"}
FINISHES = {"end": "stop", "stop_sequence": "stop"}


@dataclass(frozen=True, slots=True)
class Conventions:
    """The names of one version, by what they mean."""

    names: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Conventions":
        """Those that are asked for; without a wish the older ones, as the conventions demand."""
        wishes = [wish.strip() for wish in environment.get(OPT_IN, "").split(",")]
        return cls({what: latest if LATEST in wishes else old for what, old, latest in TABLE})

    def asked(self, model: ModelName, request: ModelRequest) -> Attributes:
        numbers = {name: value for name in OPTIONS if isinstance(value := request.options.get(name), int | float)}
        provider = PROVIDERS.get(model.provider, model.provider)
        return self._named({"operation": OPERATION, "provider": provider, "model": model.model, **numbers})

    def answered(self, response: ModelResponse) -> Attributes:
        tokens = {name: getattr(response.usage, name) for name in TOKENS}
        finish = (FINISHES.get(response.stop, response.stop),)
        return self._named({"answered_by": response.model or None, "finish": finish, **tokens})

    def _named(self, values: Mapping[str, Any]) -> Attributes:
        return {name: value for what, value in values.items() if value is not None and (name := self.names[what])}
