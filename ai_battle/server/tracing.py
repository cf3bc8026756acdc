"""Spans of model calls for OpenTelemetry, where its variables ask for them, under the names of its conventions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import AIBattleError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.plugins import optional
from ..providers._names import ModelName

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST = "gen_ai_latest_experimental"
OPERATION = "chat"
ERROR = "error.type"
Attributes: TypeAlias = dict[str, Any]

OPTIONS = ("max_tokens", "temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")
TOKENS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
NAMES = {
    "operation": "gen_ai.operation.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "answered_by": "gen_ai.response.model",
    "finish": "gen_ai.response.finish_reasons",
    **{option: f"gen_ai.request.{option}" for option in OPTIONS},
    **TOKENS,
}
# Where version 1.36 of the conventions has another name; empty: none.
OLDER = {"provider": "gen_ai.system", "cache_read_tokens": "", "cache_write_tokens": "", "reasoning_tokens": ""}
PROVIDERS = {"gemini": "gcp.gemini", "azure": "azure.ai.openai", "mistral": "mistral_ai"}
FINISHES = {"end": "stop", "stop_sequence": "stop"}


@dataclass(frozen=True, slots=True)
class SpanNames:
    """The names of one version, by what they mean."""

    names: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "SpanNames":
        """Those that are asked for; without a wish the older ones, as the conventions demand."""
        wishes = [wish.strip() for wish in environment.get(OPT_IN, "").split(",")]
        return cls(NAMES if LATEST in wishes else {**NAMES, **OLDER})

    def request_attributes(self, model: ModelName, request: ModelRequest) -> Attributes:
        numbers = {name: value for name in OPTIONS if isinstance(value := request.options.get(name), int | float)}
        provider = PROVIDERS.get(model.provider, model.provider)
        return self._attributes({"operation": OPERATION, "provider": provider, "model": model.model, **numbers})

    def response_attributes(self, response: ModelResponse) -> Attributes:
        tokens = {name: getattr(response.usage, name) for name in TOKENS}
        finish = (FINISHES.get(response.stop, response.stop),)
        return self._attributes({"answered_by": response.model or None, "finish": finish, **tokens})

    def _attributes(self, values: Mapping[str, Any]) -> Attributes:
        return {name: value for what, value in values.items() if value is not None and (name := self.names[what])}


EXTRA = "otel"
MODULES = ("trace", "propagate", "context")
ASKING = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True, slots=True)
class Tracing:
    """`trace` is OpenTelemetry's module of that name; without a provider that was set up, its spans go nowhere."""

    trace: Any
    propagate: Any
    context: Any
    names: SpanNames

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Tracing | None":
        """None where no collector is named; raises `ConfigError` where the packages for it are missing."""
        if not is_tracing_wanted(environment):
            return None
        trace, propagate, context = (optional(f"opentelemetry.{name}", EXTRA) for name in MODULES)
        return cls(trace, propagate, context, SpanNames.of(environment))

    def trace_client(self, client: ModelClient, model: ModelName) -> ModelClient:
        return TracedClient(client, model, self)

    def continue_trace(self, headers: Mapping[str, str]) -> None:
        """Spans of this task belong to the trace that the client began."""
        self.context.attach(self.propagate.extract(headers))


class TracedClient(ClientWrapper):
    """Each answer is a span. No text is in it, also none of an error's message, which may quote the conversation."""

    def __init__(self, client: ModelClient, model: ModelName, tracing: Tracing) -> None:
        super().__init__(client)
        self.model = model
        self._tracing = tracing
        self._tracer = tracing.trace.get_tracer("ai_battle")

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        trace, names = self._tracing.trace, self._tracing.names
        with self._tracer.start_as_current_span(
            f"{OPERATION} {self.model.model}",
            kind=trace.SpanKind.CLIENT,
            attributes=names.request_attributes(self.model, request),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                response = await self.client.complete(request, emit)
            except AIBattleError as error:
                span.set_attribute(ERROR, type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)
                raise
            span.set_attributes(names.response_attributes(response))
            return response


def is_tracing_wanted(environment: Mapping[str, str]) -> bool:
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and any(environment.get(name) for name in ASKING)


def set_up_tracing(environment: Mapping[str, str]) -> None:
    """Spans of this process go to the collector that the environment names. Raises `ConfigError`."""
    if is_tracing_wanted(environment):
        sdk, export = optional("opentelemetry.sdk.trace", EXTRA), optional("opentelemetry.sdk.trace.export", EXTRA)
        exporter = optional("opentelemetry.exporter.otlp.proto.http.trace_exporter", EXTRA)
        provider = sdk.TracerProvider()
        provider.add_span_processor(export.BatchSpanProcessor(exporter.OTLPSpanExporter()))
        optional("opentelemetry.trace", EXTRA).set_tracer_provider(provider)
