"""Spans of model calls for OpenTelemetry, where its variables ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.client import ModelClient
from ..core.errors import AIBattleError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.plugins import optional
from ..providers._names import ModelName
from .genai import ERROR, OPERATION, Conventions

EXTRA = "otel"
MODULES = ("trace", "propagate", "context")
ASKING = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True, slots=True)
class Tracing:
    """`trace` is OpenTelemetry's module of that name; without a provider that was set up, its spans go nowhere."""

    trace: Any
    propagate: Any
    context: Any
    conventions: Conventions

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Tracing | None":
        """None where no collector is named; raises `ConfigError` where the packages for it are missing."""
        if not is_asked_for(environment):
            return None
        trace, propagate, context = (optional(f"opentelemetry.{name}", EXTRA) for name in MODULES)
        return cls(trace, propagate, context, Conventions.of(environment))

    def traced(self, client: ModelClient, model: ModelName) -> ModelClient:
        return Traced(client, model, self)

    def continued(self, headers: Mapping[str, str]) -> None:
        """Spans of this task belong to the trace that the client began."""
        self.context.attach(self.propagate.extract(headers))


class Traced(ModelClient):
    """Each answer is a span. No text is in it, also none of an error's message, which may quote the conversation."""

    def __init__(self, client: ModelClient, model: ModelName, tracing: Tracing) -> None:
        self.client = client
        self.model = model
        self._tracing = tracing
        self._tracer = tracing.trace.get_tracer("ai_battle")

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        trace, names = self._tracing.trace, self._tracing.conventions
        with self._tracer.start_as_current_span(
            f"{OPERATION} {self.model.model}",
            kind=trace.SpanKind.CLIENT,
            attributes=names.asked(self.model, request),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                response = await self.client.complete(request, emit)
            except AIBattleError as error:
                span.set_attribute(ERROR, type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)
                raise
            span.set_attributes(names.answered(response))
            return response

    async def aclose(self) -> None:
        await self.client.aclose()


def is_asked_for(environment: Mapping[str, str]) -> bool:
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and any(environment.get(name) for name in ASKING)


def set_up(environment: Mapping[str, str]) -> None:
    """Spans of this process go to the collector that the environment names. Raises `ConfigError`."""
    if is_asked_for(environment):
        sdk, export = optional("opentelemetry.sdk.trace", EXTRA), optional("opentelemetry.sdk.trace.export", EXTRA)
        exporter = optional("opentelemetry.exporter.otlp.proto.http.trace_exporter", EXTRA)
        provider = sdk.TracerProvider()
        provider.add_span_processor(export.BatchSpanProcessor(exporter.OTLPSpanExporter()))
        optional("opentelemetry.trace", EXTRA).set_tracer_provider(provider)
