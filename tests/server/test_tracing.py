"""Spans of model calls."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from ai_battle.core.exchange import Usage
from ai_battle.server.tracing import LATEST, NAMES, OLDER, OPT_IN
from ai_battle.testing import FakeProviders, fault, reply

from .serving import asked, serving, until
from .test_changing import started, write
from .test_operating import boosting

HELLO: dict[str, Any] = {
    "model": "opus", "max_tokens": 9, "temperature": 0.5, "messages": [{"role": "user", "content": "My secret-word?"}],
}  # fmt: skip
ASKED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """A process has one provider for good."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    return spans


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_each_model_call_is_a_span_in_the_trace_of_the_client(
    fakes: FakeProviders, spans: InMemorySpanExporter
) -> None:
    fakes.openai.says(reply("Yes.", usage=Usage(12, 3, cache_read_tokens=4)))
    async with serving(fakes, BIG_MODEL="openai/gpt-4o", **ASKED) as address:
        await asked(address, "/v1/messages", HELLO, {"traceparent": PARENT})

    (span,) = spans.get_finished_spans()
    assert (span.name, span.kind) == ("chat gpt-4o", trace.SpanKind.CLIENT)
    assert span.context is not None
    assert f"{span.context.trace_id:x}" == PARENT.split("-")[1].lstrip("0")
    told = attributes(span)
    assert told["gen_ai.system"] == "openai"
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "gpt-4o"
    assert (told["gen_ai.request.max_tokens"], told["gen_ai.request.temperature"]) == (9, 0.5)
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (12, 3)
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert "gen_ai.provider.name" not in told
    assert "gen_ai.usage.cache_read.input_tokens" not in told


async def test_the_latest_names_are_those_of_the_conventions(fakes: FakeProviders, spans: InMemorySpanExporter) -> None:
    fakes.gemini.says(reply("Yes.", usage=Usage(12, 3, cache_read_tokens=4)))
    wish = {OPT_IN: f"http, {LATEST}"}
    async with serving(fakes, BIG_MODEL="gemini/gemini-2.5-pro", **ASKED, **wish) as address:
        await asked(address, "/v1/messages", HELLO)

    (span,) = spans.get_finished_spans()
    assert attributes(span)["gen_ai.provider.name"] == "gcp.gemini"
    assert attributes(span)["gen_ai.usage.cache_read.input_tokens"] == 4
    assert "gen_ai.system" not in attributes(span)


def test_every_name_of_the_table_is_one_of_the_conventions() -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI")}

    assert {*NAMES.values(), *OLDER.values()} - {""} <= known


async def test_a_failure_is_told_by_its_kind_and_nothing_that_was_said_is_in_a_span(
    fakes: FakeProviders, spans: InMemorySpanExporter
) -> None:
    fakes.openai.says("Hm, secret-word.", fault(500))
    fakes.ollama.says("It is my secret-word.")
    async with serving(fakes, **boosting(fakes), **ASKED) as address:
        await asked(address, "/v1/messages", HELLO)

    told = {span.name: span for span in spans.get_finished_spans() if not span.status.is_ok}
    assert attributes(told["chat planner"])["error.type"] == "ProviderError"
    assert {span.name for span in spans.get_finished_spans()} == {"chat planner", "chat phi4"}
    assert "secret-word" not in "".join(span.to_json() for span in spans.get_finished_spans())


async def test_without_a_collector_there_are_no_spans(fakes: FakeProviders, spans: InMemorySpanExporter) -> None:
    for disabled in ({}, {**ASKED, "OTEL_SDK_DISABLED": "true"}):
        async with serving(fakes, BIG_MODEL="openai/gpt-4o", **disabled) as address:
            await asked(address, "/v1/messages", HELLO)

    assert not spans.get_finished_spans()


async def test_the_command_sends_its_spans_to_the_collector(fakes: FakeProviders, tmp_path: Path) -> None:
    sent: list[bytes] = []

    async def collect(request: web.BaseRequest) -> web.StreamResponse:
        sent.append(await request.read())
        return web.Response()

    runner = web.ServerRunner(web.Server(collect))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    collector = f"http://127.0.0.1:{runner.addresses[0][1]}"
    file = tmp_path / "server.yaml"
    write(file, "opus: openai/gpt-4o")
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    try:
        async with started(fakes, file, **environment) as server:
            await asked(server.address, "/v1/messages", HELLO)
            await until(lambda: bool(sent))
    finally:
        await runner.cleanup()

    assert b"chat gpt-4o" in b"".join(sent)
