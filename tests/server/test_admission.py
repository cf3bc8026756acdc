"""How much is taken on, and what becomes of too much."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.server.stores import SqliteCounts
from ai_battle.testing import FakeProviders, fault, reply
from tests.clocks import set_forward, stop_clock

from .protocol.speaking import speaking
from .serving import ask_server, connect, serving, serving_to, until

HELLO: dict[str, Any] = {"model": "large", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
SECONDS = 60.0  # of an answer that is there when the clock has been set forward
FILE = "server: {{limits: {{{limits}}}, routes: {{large: openai/large}}}}"
HEAD = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"


def write_config(folder: Path, limits: str) -> str:
    path = folder / "server.yaml"
    path.write_text(FILE.format(limits=limits))
    return str(path)


async def post(address: str, body: bytes, path: str = "/v1/messages") -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(address + path, data=BytesIO(body)) as answer:
        return answer.status, await answer.json()


async def test_twenty_megabytes_pass(fakes: FakeProviders, tmp_path: Path) -> None:
    stop_clock()
    picture = {"type": "base64", "media_type": "image/png", "data": "A" * 20 * 1024 * 1024}
    content = [{"type": "image", "source": picture}, {"type": "text", "text": "What is it?"}]
    body = {**HELLO, "messages": [{"role": "user", "content": content}]}

    async with serving(fakes, write_config(tmp_path, "")) as address:
        status, _ = await ask_server(address, "/v1/messages", body)

    assert status == 200
    assert len(fakes.openai.questions[0].raw) > 20 * 1024 * 1024


@pytest.mark.parametrize(("path", "kind"), [("/v1/messages", "request_too_large"), ("/v1/chat/completions", "")])
async def test_more_than_the_limit_is_413(fakes: FakeProviders, tmp_path: Path, path: str, kind: str) -> None:
    async with serving(fakes, write_config(tmp_path, "body_mb: 1")) as address:
        status, answer = await post(address, b'"' + b"x" * 1024 * 1024 + b'"', path)
        again, _ = await ask_server(address, path, HELLO)

    assert status == 413
    assert answer["error"]["message"] == "The request is larger than 1 MB, the most that is taken here."
    assert kind in ("", answer["error"]["type"])
    assert again == 200


async def test_a_body_that_does_not_tell_its_length_is_stopped_at_the_limit(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    async def endless() -> Any:
        for _ in range(200):
            yield b"x" * 100_000

    async with (
        serving(fakes, write_config(tmp_path, "body_mb: 1")) as address,
        aiohttp.ClientSession() as session,
        session.post(f"{address}/v1/messages", data=endless()) as answer,
    ):
        assert answer.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"messages":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"model": "large\xff", "messages": []}',
        b"\x80",
        b"null",
        b'"large"',
        b"[]",
        b"<html>",
    ],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
async def test_what_is_no_json_object_is_400_in_the_shape_of_the_api(
    fakes: FakeProviders, tmp_path: Path, path: str, body: bytes
) -> None:
    async with serving(fakes, write_config(tmp_path, "")) as address:
        status, answer = await post(address, body, path)

    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


async def test_a_body_that_is_not_packed_as_it_says_is_400_and_a_bomb_is_413(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    statuses = []
    async with (
        serving(fakes, write_config(tmp_path, "body_mb: 1")) as address,
        aiohttp.ClientSession(address, headers={"content-encoding": "gzip"}) as session,
    ):
        for body in (b"not packed at all", gzip.compress(b" " * 50_000_000)):
            async with session.post("/v1/messages", data=body) as answer:
                statuses.append((answer.status, (await answer.json())["error"]["type"]))

    assert statuses == [(400, "invalid_request_error"), (413, "request_too_large")]


@pytest.mark.parametrize("encoding", ["br", "zstd"])
async def test_a_body_in_an_encoding_that_is_not_read_is_415_and_says_what_is(
    fakes: FakeProviders, tmp_path: Path, encoding: str
) -> None:
    async with (
        serving(fakes, write_config(tmp_path, "")) as address,
        aiohttp.ClientSession(address, headers={"content-encoding": encoding}) as session,
        session.post("/v1/messages", data=b"\x28\xb5\x2f\xfd") as answer,
    ):
        error = (await answer.json())["error"]

    assert (answer.status, error["type"]) == (415, "invalid_request_error")
    assert encoding in error["message"]
    assert "gzip" in error["message"]


def members(data: bytes) -> bytes:
    return gzip.compress(data[:9]) + gzip.compress(data[9:]) + bytes(512)


def raw(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-zlib.MAX_WBITS)


@pytest.mark.parametrize("pack", [gzip.compress, members, zlib.compress, raw])
async def test_a_compressed_body_is_read(fakes: FakeProviders, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    body = pack(json.dumps({"model": "nobody", "max_tokens": 9, "messages": []}).encode())
    encoding = "gzip" if pack in (gzip.compress, members) else "deflate"
    async with (
        serving(fakes, write_config(tmp_path, "")) as address,
        aiohttp.ClientSession(address, headers={"content-encoding": encoding}) as session,
        session.post("/v1/messages", data=body) as answer,
    ):
        assert "nobody" in (await answer.json())["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
async def test_a_byte_order_mark_before_a_body_is_ignored(fakes: FakeProviders, tmp_path: Path, path: str) -> None:
    said = {"model": "nobody", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}], "input": "Hello."}
    async with serving(fakes, write_config(tmp_path, "")) as address:
        status, answer = await post(address, b"\xef\xbb\xbf" + json.dumps(said).encode(), path)

    assert (status, "nobody" in answer["error"]["message"]) == (404, True)


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/messages/nothing", "/nothing"])
async def test_an_address_that_is_none_is_told_in_json(fakes: FakeProviders, tmp_path: Path, path: str) -> None:
    async with serving(fakes, write_config(tmp_path, "")) as address:
        status, answer = await post(address, b"{}", path)

    assert (status, answer["error"]["type"]) == (404, "not_found_error")


async def test_a_head_that_does_not_end_is_hung_up_on(fakes: FakeProviders, tmp_path: Path) -> None:
    async with (
        serving(fakes, write_config(tmp_path, "header_seconds: 0.1")) as address,
        connect(address) as (silent, _),
        connect(address) as (half, writer),
    ):
        writer.write(HEAD)
        async with asyncio.timeout(30):
            assert await silent.read() == b""
            assert await half.read() == b""


async def test_a_body_that_does_not_end_is_408(fakes: FakeProviders, tmp_path: Path) -> None:
    async with (
        serving(fakes, write_config(tmp_path, "body_seconds: 0.1")) as address,
        connect(address) as (reader, writer),
    ):
        writer.write(HEAD + b"\r\n{")
        async with asyncio.timeout(30):
            said = await reader.readuntil(b'"}')

    assert said.startswith(b"HTTP/1.1 408")
    assert b"did not arrive within 0.1 s" in said


async def test_more_connections_than_may_be_are_told_so(fakes: FakeProviders, tmp_path: Path) -> None:
    async with serving(fakes, write_config(tmp_path, "connections: 2")) as address:
        async with connect(address), connect(address):
            await asyncio.sleep(0.05)
            async with connect(address) as (reader, _):
                said = await reader.read()
        await asyncio.sleep(0.05)
        status, _ = await ask_server(address, "/v1/messages", HELLO)

    assert said.startswith(b"HTTP/1.1 503")
    assert status == 200


async def test_requests_wait_for_their_turn_and_more_than_that_are_turned_away(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    fakes.openai.always(reply("Yes.", delay=0.15))
    async with serving(fakes, write_config(tmp_path, "concurrent: 2, queue: 2")) as address:
        answers = await asyncio.gather(*(ask_server(address, "/v1/messages", HELLO) for _ in range(6)))
        after, _ = await ask_server(address, "/v1/messages", HELLO)

    assert sorted(status for status, _ in answers) == [200] * 4 + [529] * 2
    assert {answer["error"]["type"] for status, answer in answers if status == 529} == {"overloaded_error"}
    assert after == 200


async def test_who_leaves_the_queue_takes_nobodys_place(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.says(reply("Yes.", delay=SECONDS))
    async with serving(fakes, write_config(tmp_path, "concurrent: 1, queue: 3")) as address:
        first = asyncio.create_task(ask_server(address, "/v1/messages", HELLO))
        await until(lambda: len(fakes.openai.questions) == 1)
        leaving = [asyncio.create_task(ask_server(address, "/v1/messages", HELLO)) for _ in range(2)]
        await asyncio.sleep(0.05)
        for task in leaving:
            task.cancel()
        await asyncio.wait(leaving)
        last = asyncio.create_task(ask_server(address, "/v1/messages", HELLO))
        set_forward(SECONDS)
        answers = await asyncio.gather(first, last)

    assert [status for status, _ in answers] == [200, 200]
    assert len(fakes.openai.questions) == 2


async def test_an_answer_is_no_longer_than_the_limit(fakes: FakeProviders, tmp_path: Path) -> None:
    async with serving(fakes, write_config(tmp_path, "max_tokens: 100")) as address:
        for tokens in (7, 100, 5000):
            await ask_server(address, "/v1/messages", {**HELLO, "max_tokens": tokens})
        await ask_server(address, "/v1/chat/completions", {"model": "large", "messages": HELLO["messages"]})

    sent = [json.loads(question.raw) for question in fakes.openai.questions]
    assert [body.get("max_tokens", body.get("max_completion_tokens")) for body in sent] == [7, 100, 100, 100]


KEYS = """
server:
  limits: {{{limits}}}
  keys:
    - {{key: key-of-a, name: a, {of_a}}}
    - {{key: key-of-b, name: b}}
  routes: {{large: openai/large}}
"""


def write_keys(folder: Path, limits: str, of_a: str = "") -> str:
    path = folder / "server.yaml"
    path.write_text(KEYS.format(limits=limits, of_a=of_a))
    return str(path)


def ask(address: str, key: str, words: str) -> asyncio.Task[tuple[int, Any]]:
    body = {**HELLO, "messages": [{"role": "user", "content": words}]}
    return asyncio.create_task(ask_server(address, "/v1/messages", body, {"x-api-key": f"key-of-{key}"}))


def order(fakes: FakeProviders) -> list[str]:
    return [question.body["messages"][-1]["content"] for question in fakes.openai.questions]


async def test_one_key_never_takes_all_places(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(lambda body: fault("stall_before_headers") if "a" in str(body["messages"]) else "Yes.")
    async with serving_to(fakes, len, write_keys(tmp_path, "concurrent: 4, queue: 40")) as (served, address):
        greedy = [ask(address, "a", "a") for _ in range(20)]
        await until(lambda: served.admission.running + served.admission.queued == 20)
        other, _ = await ask(address, "b", "b")
        running = served.admission.running
        for task in greedy:
            task.cancel()
        await until(lambda: not served.admission.running + served.admission.queued)
        after, _ = await ask(address, "b", "b")

    assert (other, running, after) == (200, 3, 200)


async def test_free_places_go_round_the_keys_that_wait(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.says(fault("stall_before_headers"))
    async with serving_to(fakes, len, write_keys(tmp_path, "concurrent: 1, queue: 40")) as (served, address):
        asking = []
        for key, words in zip("aaaabb", "1234xy", strict=True):
            asking.append(ask(address, key, words))
            await until(lambda: served.admission.running + served.admission.queued == len(asking))
        await until(lambda: len(fakes.openai.questions) == 1)
        asking[0].cancel()
        statuses = [status for status, _ in await asyncio.gather(*asking[1:])]

    assert statuses == [200] * 5
    assert order(fakes) == ["1", "x", "2", "y", "3", "4"]


async def test_one_key_never_takes_all_of_the_queue(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(reply("Yes.", delay=0.2))
    async with serving_to(fakes, len, write_keys(tmp_path, "concurrent: 1, queue: 4")) as (served, address):
        greedy = [ask(address, "a", "a") for _ in range(6)]
        await until(lambda: served.admission.running + served.admission.queued == 4)
        other, _ = await ask(address, "b", "b")
        outcomes = await asyncio.gather(*greedy)

    assert other == 200
    assert sorted(status for status, _ in outcomes) == [200] * 4 + [429] * 2
    assert {answer["error"]["type"] for status, answer in outcomes if status == 429} == {"rate_limit_error"}


async def test_a_key_has_its_own_limit_of_requests_at_once(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(reply("Yes.", delay=0.05))
    async with serving_to(fakes, len, write_keys(tmp_path, "concurrent: 8", "concurrent: 2")) as (served, address):
        asking = [ask(address, "a", "a") for _ in range(6)]
        await until(lambda: served.admission.queued == 4)
        running = served.admission.running
        statuses = [status for status, _ in await asyncio.gather(*asking)]

    assert running == 2
    assert statuses == [200] * 6


async def test_without_a_place_to_count_requests_a_worker_counts_its_own(fakes: FakeProviders, tmp_path: Path) -> None:
    """A budget does not do without: that server does not start."""
    (tmp_path / "file").write_text("")
    nowhere, log = f"unpriced: allow}}\n  state: {tmp_path / 'file'}\n  plans: {{", list[bytes]()
    async with serving_to(fakes, log.append, write_keys(tmp_path, nowhere, "per_minute: 1")) as (_, address):
        statuses = [(await ask(address, "a", "Hello?"))[0] for _ in range(2)]

    assert statuses == [200, 429]
    assert b"Each worker counts requests of keys for itself." in log[0]
    with pytest.raises(ConfigError, match=r"can't be (opened|used)"):
        async with serving(fakes, write_keys(tmp_path, nowhere, "budget_usd: 1")):
            pass


async def test_a_key_has_its_own_limit_of_requests_a_minute(fakes: FakeProviders, tmp_path: Path) -> None:
    now = 1000.0
    body = {**HELLO, "messages": [{"role": "user", "content": "Hello?"}]}
    async with (
        serving_to(fakes, len, write_keys(tmp_path, "concurrent: 8", "per_minute: 3")) as (served, address),
        speaking(address, "large") as client,
    ):
        assert served.budgets.counts
        store = served.budgets.counts.store
        assert isinstance(store, SqliteCounts)
        store.clock = lambda: now
        answers = []
        for at in (0.0, 10.0, 20.0, 30.0, 61.0, 62.0):
            now = 1000.0 + at
            answers.append(await client.post("messages", body, {"x-api-key": "key-of-a"}))
        free = [(await ask(address, "b", "b"))[0] for _ in range(5)]

    assert [answer.status for answer in answers] == [200, 200, 200, 429, 200, 429]
    assert answers[3].headers["retry-after"] == "30"
    assert answers[3].body["error"] == {"type": "rate_limit_error", "message": "This key may ask 3 times a minute."}
    assert free == [200] * 5
