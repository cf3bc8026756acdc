"""What a server tells OpenTelemetry: requests, the calls of models below them, and what the log says of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from ai_battle.core.exchange import Usage
from ai_battle.core.telemetry import LATEST_CONVENTIONS, NAMES, OLDER, OPT_IN
from ai_battle.testing import FakeProviders, fault, reply
from tests.spans import ASKED, attributes, spans

from .serving import ask_server, serving, until
from .starting import start_server
from .test_changing import write
from .test_operating import boosting

HELLO: dict[str, Any] = {
    "model": "opus", "max_tokens": 9, "temperature": 0.5, "messages": [{"role": "user", "content": "My secret-word?"}],
}  # fmt: skip
__all__ = ["spans"]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_each_model_call_is_a_span_in_the_trace_of_the_client(
    fakes: FakeProviders, spans: InMemorySpanExporter
) -> None:
    fakes.openai.says(reply("Yes.", usage=Usage(12, 3, cache_read_tokens=4)))
    async with serving(fakes, BIG_MODEL="openai/gpt-4o", **ASKED) as address:
        await ask_server(address, "/v1/messages", HELLO, {"traceparent": PARENT})

    span, _ = spans.get_finished_spans()
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
    assert told["gen_ai.response.id"] == "chatcmpl-fake"
    assert "gen_ai.provider.name" not in told
    assert "gen_ai.usage.cache_read.input_tokens" not in told


IDS = {"openai/gpt-4o": "chatcmpl-fake", "anthropic/claude-haiku-4-5": "msg_fake", "gemini/gemini-2.5-pro": "fake"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("model", "id_"), IDS.items())
async def test_the_id_that_the_provider_gave_its_answer_is_told(
    fakes: FakeProviders, spans: InMemorySpanExporter, model: str, id_: str, stream: bool
) -> None:
    for fake in fakes.all:
        fake.always("Yes.")
    async with serving(fakes, BIG_MODEL=model, **ASKED) as address:
        await ask_server(address, "/v1/messages", {**HELLO, "stream": stream})

    assert attributes(spans.get_finished_spans()[0])["gen_ai.response.id"] == id_


async def test_each_request_is_a_span_that_tells_its_route_and_key_with_its_calls_below_it(
    fakes: FakeProviders, spans: InMemorySpanExporter
) -> None:
    fakes.openai.says("Yes.")
    async with serving(fakes, BIG_MODEL="openai/gpt-4o", **ASKED) as address:
        await ask_server(address, "/v1/messages", HELLO)

    call, request = spans.get_finished_spans()
    assert (request.name, request.kind) == ("POST /v1/messages", trace.SpanKind.SERVER)
    assert attributes(request) == {
        "http.request.method": "POST",
        "url.path": "/v1/messages",
        "http.response.status_code": 200,
        "ai_battle.route": "claude-opus",
    }
    assert call.parent is not None
    assert request.context is not None
    assert call.parent.span_id == request.context.span_id
    assert attributes(call)["server.address"] == "127.0.0.1"


async def test_the_latest_names_are_those_of_the_conventions(fakes: FakeProviders, spans: InMemorySpanExporter) -> None:
    fakes.gemini.says(reply("Yes.", usage=Usage(12, 3, cache_read_tokens=4)))
    wish = {OPT_IN: f"http, {LATEST_CONVENTIONS}"}
    async with serving(fakes, BIG_MODEL="gemini/gemini-2.5-pro", **ASKED, **wish) as address:
        await ask_server(address, "/v1/messages", HELLO)

    span, _ = spans.get_finished_spans()
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
        await ask_server(address, "/v1/messages", HELLO)

    told = {span.name: span for span in spans.get_finished_spans() if not span.status.is_ok}
    assert attributes(told["chat planner"])["error.type"] == "ProviderError"
    names = {span.name for span in spans.get_finished_spans()}
    assert names == {"chat planner", "chat phi4", "invoke_agent boost", "POST /v1/messages"}
    assert "secret-word" not in "".join(span.to_json() for span in spans.get_finished_spans())


async def test_without_a_collector_there_are_no_spans(fakes: FakeProviders, spans: InMemorySpanExporter) -> None:
    for disabled in ({}, {**ASKED, "OTEL_SDK_DISABLED": "true"}):
        async with serving(fakes, BIG_MODEL="openai/gpt-4o", **disabled) as address:
            await ask_server(address, "/v1/messages", HELLO)

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
        async with start_server(fakes, file, "--port", "0", **environment) as server:
            await ask_server(server.address, "/v1/messages", HELLO)
            await until(lambda: bool(sent))
    finally:
        await runner.cleanup()

    assert b"chat gpt-4o" in b"".join(sent)


async def test_the_log_stays_json_where_the_collector_is_away_and_says_so_once(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    file = tmp_path / "server.yaml"
    write(file, "opus: openai/gpt-4o")
    often = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_EXPORTER_OTLP_TIMEOUT": "0.2"}
    async with start_server(fakes, file, "--port", "0", **ASKED, **often) as server:
        await ask_server(server.address, "/v1/messages", HELLO)
        warning = json.loads(await server.hears("Telemetry is lost"))
        for _ in range(3):
            await ask_server(server.address, "/v1/messages", HELLO)
            json.loads(await server.hears("time"))

    assert warning["level"] == "warning"
    assert "".join(server.said).count("Telemetry is lost") == 1


PARROT = """
from ai_battle import Message, ModelClient, ModelResponse, Text, Usage
from ai_battle.core.traits import ProviderTraits

TRAITS = ProviderTraits(local=True, telemetry="birds.parrot")


class Parrot(ModelClient):
    async def complete(self, request, emit=None):
        return ModelResponse(Message("assistant", (Text("Hello."),)), usage=Usage(3, 7))


def create(model):
    return Parrot()
"""


async def test_a_provider_of_ones_own_says_its_name_in_traces(
    fakes: FakeProviders, spans: InMemorySpanExporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_birds").mkdir()
    (tmp_path / "own_birds" / "parrot.py").write_text(PARROT)
    monkeypatch.syspath_prepend(tmp_path)
    async with serving(fakes, BIG_MODEL="own_birds.parrot/grey", **ASKED) as address:
        status, _ = await ask_server(address, "/v1/messages", HELLO)

    assert status == 200
    (span, _) = spans.get_finished_spans()  # the call of the model, in the request
    assert (span.name, attributes(span)["gen_ai.system"]) == ("chat grey", "birds.parrot")
