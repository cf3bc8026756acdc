"""OpenTelemetry spans and metrics, enabled by its environment variables and named by its semantic conventions.

Whoever starts a piece of work enters `use_telemetry`; `span` opens a child of the current span and costs next to
nothing while telemetry is off. Spans never hold the text of a conversation, nor the message of an error, which may
quote it.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from operator import attrgetter
from time import perf_counter
from typing import Any, Literal, TypeAlias

from .errors import AIBattleError
from .exchange import ModelRequest, ModelResponse
from .plugins import optional

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST_CONVENTIONS = "gen_ai_latest_experimental"
Attributes: TypeAlias = dict[str, Any]
Operation: TypeAlias = Literal["chat", "execute_tool", "invoke_agent", "invoke_workflow"]

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
    "answer": "gen_ai.response.id",
    "finish": "gen_ai.response.finish_reasons",
    "agent": "gen_ai.agent.name",
    "conversation": "gen_ai.conversation.id",
    "tool": "gen_ai.tool.name",
    "tool_call": "gen_ai.tool.call.id",
    **{option: f"gen_ai.request.{option}" for option in OPTIONS},
    **TOKENS,
}
# Names in version 1.36 of the conventions that differ; an empty one means that the attribute does not exist there.
OLDER = {"provider": "gen_ai.system", "cache_read_tokens": "", "cache_write_tokens": "", "reasoning_tokens": ""}
OTHERS = {
    "address": "server.address",
    "method": "http.request.method",
    "path": "url.path",
    "status": "http.response.status_code",
    "error": "error.type",
    "route": "ai_battle.route",
    "key": "ai_battle.key",
    "strategy": "ai_battle.strategy",
    "role": "ai_battle.role",
    "task": "ai_battle.task",
}
"""Attributes of other conventions, and our own where no convention has one."""
FINISHES = {"end": "stop", "stop_sequence": "stop"}

EXTRA = "otel"
MODULES = ("trace", "metrics", "propagate", "context")
SIGNALS = ("traces", "metrics")
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_EXPORT_SECONDS = 3.0
_REASON = re.compile(r"\] ([^'\")]+)|(\w+ timed out)|reason: (.*)")  # the rest of such a message names library classes


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The OpenTelemetry modules and instruments. Without an SDK provider they discard what they are given."""

    trace: Any
    propagate: Any
    context: Any
    names: Mapping[str, str]
    tokens: Any
    seconds: Any

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Telemetry | None":
        """Returns the telemetry, or None if the environment names no collector.

        Raises `ConfigError` if its packages are missing.
        """
        if not wanted_signals(environment):
            return None
        trace, metrics, propagate, context = (optional(f"opentelemetry.{name}", EXTRA) for name in MODULES)
        # The conventions demand that the older names stay the default until a user opts in.
        wishes = [wish.strip() for wish in environment.get(OPT_IN, "").split(",")]
        names = {**NAMES, **OTHERS, **({} if LATEST_CONVENTIONS in wishes else OLDER)}
        meter = metrics.get_meter("ai_battle")
        tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of calls of models.")
        seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "Seconds of operations.")
        return cls(trace, propagate, context, names, tokens, seconds)

    @contextmanager
    def span(self, name: str, kind: str, values: Attributes) -> Iterator[Attributes]:
        """Opens a span with the attributes of `values`, and yields a mapping for those that are known only later."""
        begun, added = perf_counter(), Attributes()
        with self.trace.get_tracer("ai_battle").start_as_current_span(
            name,
            kind=self.trace.SpanKind[kind],
            attributes=self.attributes(values),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield added
            except AIBattleError as error:
                added["error"] = type(error).__name__
                raise
            finally:
                span.set_attributes(self.attributes(added))
                if "error" in added:
                    span.set_status(self.trace.StatusCode.ERROR)
                self._measure({**values, **added}, perf_counter() - begun)

    def attributes(self, values: Attributes) -> Attributes:
        """Returns the attributes that have a value, and a name in this version of the conventions."""
        return {name: value for what, value in _expand(values) if value is not None and (name := self.names.get(what))}

    def _measure(self, values: Attributes, seconds: float) -> None:
        if "operation" not in values:
            return
        of = self.attributes({what: values.get(what) for what in ("operation", "provider", "model", "agent", "tool")})
        self.seconds.record(seconds, of | self.attributes({"error": values.get("error")}))
        if "response" in values:
            usage = values["response"].usage
            for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                self.tokens.record(tokens, {**of, "gen_ai.token.type": kind})


def _expand(values: Attributes) -> Iterator[tuple[str, Any]]:
    """Yields the values, with requests and responses expanded into what they say."""
    for what, value in values.items():
        match value:
            case ModelRequest(options=options):
                yield from ((name, options[name]) for name in OPTIONS if isinstance(options.get(name), int | float))
            case ModelResponse(stop=stop, usage=usage, model=model, id=id_):
                yield from (("answered_by", model or None), ("answer", id_ or None))
                yield ("finish", (FINISHES.get(stop, stop),))
                yield from zip(TOKENS, attrgetter(*TOKENS)(usage), strict=True)
            case _:
                yield what, value


_active: ContextVar[Telemetry | None] = ContextVar("telemetry", default=None)


@contextmanager
def use_telemetry(telemetry: Telemetry | None) -> Iterator[None]:
    """Reports all spans that are opened inside to `telemetry`, also those of tasks that are started there."""
    token = _active.set(telemetry)
    try:
        yield
    finally:
        _active.reset(token)


def span(operation: Operation, subject: str, **values: Any) -> AbstractContextManager[Attributes]:
    """Opens the span `{operation} {subject}`, which yields a mapping that takes further attributes."""
    if telemetry := _active.get():
        kind = "CLIENT" if operation == "chat" else "INTERNAL"
        return telemetry.span(f"{operation} {subject}", kind, {"operation": operation, **values})
    return nullcontext({})


@contextmanager
def request_span(
    telemetry: Telemetry | None, method: str, path: str, headers: Mapping[str, str]
) -> Iterator[Attributes]:
    """Opens the span of a request that a client sent, as a child of the trace that its headers name."""
    if not telemetry:
        yield {}
        return
    token = telemetry.context.attach(telemetry.propagate.extract(headers))
    try:
        with (
            use_telemetry(telemetry),
            telemetry.span(f"{method} {path}", "SERVER", {"method": method, "path": path}) as added,
        ):
            yield added
    finally:
        telemetry.context.detach(token)


def wanted_signals(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the signals ("traces", "metrics") for which the environment names a collector."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    named = (environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT") for signal in SIGNALS)
    return tuple(name for name, own in zip(SIGNALS, named, strict=True) if own or environment.get(_ENDPOINT))


def set_up_telemetry(environment: Mapping[str, str], warn: Callable[[str], object]) -> None:
    """Sends spans and metrics to the collector that the environment names; calls `warn` once if it can't be reached.

    Raises `ConfigError` if the packages for it are missing.
    """
    wanted = wanted_signals(environment)
    if not wanted:
        return
    log = logging.getLogger("opentelemetry")
    log.handlers, log.propagate = [_FaultListener(warn)], False
    exporters = "opentelemetry.exporter.otlp.proto.http"
    # A process that ends waits until the rest is exported. If the collector is down, it must not wait longer than this.
    seconds = None if environment.get("OTEL_EXPORTER_OTLP_TIMEOUT") else _EXPORT_SECONDS
    if "traces" in wanted:
        sdk, export = optional("opentelemetry.sdk.trace", EXTRA), optional("opentelemetry.sdk.trace.export", EXTRA)
        provider = sdk.TracerProvider()
        exporter = optional(f"{exporters}.trace_exporter", EXTRA).OTLPSpanExporter(timeout=seconds)
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
        optional("opentelemetry.trace", EXTRA).set_tracer_provider(provider)
    if "metrics" in wanted:
        metrics = optional("opentelemetry.sdk.metrics", EXTRA)
        reader = optional("opentelemetry.sdk.metrics.export", EXTRA).PeriodicExportingMetricReader(
            optional(f"{exporters}.metric_exporter", EXTRA).OTLPMetricExporter(timeout=seconds)
        )
        optional("opentelemetry.metrics", EXTRA).set_meter_provider(metrics.MeterProvider([reader]))


class _FaultListener(logging.Handler):
    """Reports the first fault of the exporters in one line; the later ones repeat it."""

    def __init__(self, warn: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._warn: Callable[[str], object] | None = warn

    def emit(self, record: logging.LogRecord) -> None:
        warn, self._warn = self._warn, None
        if warn:
            line = record.getMessage().splitlines()[0]
            found = _REASON.search(line)
            reason = found[found.lastindex or 0] if found else line
            warn(f"Telemetry is lost: the collector that {_ENDPOINT} names does not accept it ({reason[:200]}).")
