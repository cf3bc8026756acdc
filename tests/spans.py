"""OpenTelemetry's spans in memory. A process has one provider for good, whichever tests run in it."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ASKED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    if not isinstance(provider := trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(provider := TracerProvider())
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan, spans: InMemorySpanExporter) -> str:
    """The name of the span above it; empty where there is none."""
    above = {each.context.span_id: each.name for each in spans.get_finished_spans() if each.context}
    return above[span.parent.span_id] if span.parent else ""
