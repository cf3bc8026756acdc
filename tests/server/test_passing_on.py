"""A client of the API that the model behind its route speaks: it hears what the client says, as the client says it."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProvider, FakeProviders, fault

from .protocol.speaking import speaking
from .serving import ask_server, serving

APIS = {"messages": ("anthropic", {"anthropic-version": "2023-06-01"}), "chat": ("openai", {})}
PATHS = {"messages": "/v1/messages", "chat": "/v1/chat/completions"}
SECRET = "hunter2-of-the-fleet"

both = pytest.mark.parametrize("api", [*APIS])


class Passing:
    """A server with a route `m` to a model that speaks the API of its client."""

    def __init__(self, api: str, fakes: FakeProviders) -> None:
        self.api, (self.provider, self.headers) = api, APIS[api]
        self.fakes = fakes

    @property
    def upstream(self) -> FakeProvider:
        fake: FakeProvider = getattr(self.fakes, self.provider)
        return fake

    async def ask(self, body: bytes, file: str = "", **environment: str) -> tuple[int, Any]:
        headers = {**self.headers, "content-type": "application/json"}
        variables = {"BIG_MODEL": f"{self.provider}/claude-haiku-4-5", **environment}
        async with serving(self.fakes, file, **variables) as address, speaking(address) as client:
            answered = await client.post(self.api, body, headers)
        return answered.status, answered.body


@pytest.fixture
def passing(api: str, fakes: FakeProviders) -> Passing:
    return Passing(api, fakes)


def body(messages: str, **fields: Any) -> bytes:
    """Spaced as none of ours is, so that what was written anew shows."""
    head = json.dumps({"model": "opus", "max_tokens": 9, **fields})[1:-1]
    return f'{{{head}, "messages" :  {messages}}}'.encode()


@both
async def test_all_but_the_name_of_the_model_goes_through(passing: Passing) -> None:
    messages = '[ {"role":"user", "content": "Hi\\u00e9", "x-own":[ 1.50 ]} ]'
    status, answer = await passing.ask(body(messages, metadata={"user_id": "u"}))

    [question] = passing.upstream.questions
    assert messages.encode() in question.raw
    assert {**question.body, "model": "opus"} == json.loads(body(messages, metadata={"user_id": "u"}))
    assert question.body["model"] == "claude-haiku-4-5"
    assert (status, answer["model"]) == (200, "opus")


async def test_a_stream_is_asked_what_it_costs_though_its_client_does_not_want_to_know(fakes: FakeProviders) -> None:
    async with serving(fakes, BIG_MODEL="openai/m") as address:
        asks = {"model": "opus", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        status, text = await ask_server(address, PATHS["chat"], asks)

    assert fakes.openai.questions[0].body["stream_options"] == {"include_usage": True}
    assert status == 200
    assert '"usage"' not in text


@both
async def test_a_secret_in_a_new_message_is_masked_though_the_talk_before_it_was_looked_through(
    api: str, fakes: FakeProviders, tmp_path: Path
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("{server: {}, providers: {ollama: {headers: {x-fleet: '${FLEET_TOKEN}'}}}}")
    provider, headers = APIS[api]
    talk = (
        '{"role":"user","content":"A \\"role\\" in quotes, and \\\\\\"role\\""}, {"role":"assistant","content":"Yes"}'
    )
    variables = {"BIG_MODEL": f"{provider}/claude-haiku-4-5", "FLEET_TOKEN": SECRET}
    async with serving(fakes, str(file), **variables) as address, speaking(address) as client:
        for said in ("Go on", f'\\"role\\"{SECRET}', f'{SECRET}\\"role\\"'):
            again = body(f'[{talk}, {{"role":"user","content":"{said}"}}]')
            assert (await client.post(api, again, {**headers, "content-type": "application/json"})).status == 200

    sent = [question.raw.decode() for question in getattr(fakes, provider).questions]
    assert "Go on" in sent[0]
    assert [text.count("${FLEET_TOKEN}") for text in sent] == [0, 1, 1]
    assert SECRET not in "".join(sent)


async def test_a_secret_is_masked_wherever_it_comes_into_a_talk_that_was_looked_through(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("{server: {}, providers: {ollama: {headers: {x-fleet: '${FLEET_TOKEN}'}}}}")
    talks = ["a", "b", "c"], ["a", SECRET, "c", "d"], ["a", SECRET, "c", "d", "e"], ["a", "b", "c", "d", SECRET, "f"]
    async with serving(fakes, str(file), BIG_MODEL="openai/m", FLEET_TOKEN=SECRET) as address:
        for talk in talks:
            messages = [{"role": ("user", "assistant")[n % 2], "content": said} for n, said in enumerate([*talk, "Go"])]
            await ask_server(address, PATHS["messages"], {"model": "opus", "max_tokens": 9, "messages": messages})

    sent = [question.raw.decode() for question in fakes.openai.questions]
    assert [text.count("${FLEET_TOKEN}") for text in sent] == [0, 1, 1, 1]
    assert SECRET not in "".join(sent)


@both
@pytest.mark.parametrize("spelled", [SECRET, SECRET.replace("h", "\\u0068"), SECRET.replace("-", "\\u002D")])
async def test_secrets_are_masked_however_the_client_spells_them(
    passing: Passing, spelled: str, tmp_path: Path
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("{server: {}, providers: {ollama: {headers: {x-fleet: '${FLEET_TOKEN}'}}}}")
    status, _ = await passing.ask(body(f'[{{"role":"user","content":"{spelled}"}}]'), str(file), FLEET_TOKEN=SECRET)

    assert status == 200
    assert "${FLEET_TOKEN}" in passing.upstream.questions[0].raw.decode()


@both
async def test_what_the_upstream_refuses_is_named_by_its_place(passing: Passing) -> None:
    """The words are those that a client hears before any other upstream."""
    passing.upstream.says(fault(400))
    status, answer = await passing.ask(body('[{"role":"user","content":"Hi"}, {"role":"user","content":7}]'))

    assert (status, len(passing.upstream.questions)) == (400, 1)
    assert "messages[1].content must be text or a list of" in answer["error"]["message"]


UNANSWERED = {
    "messages": '[{"role":"user","content":"Read."},{"role":"assistant","content":[{"type":"tool_use","id":"a",'
    '"name":"read","input":{}}]},{"role":"user","content":"And?"}]',
    "chat": '[{"role":"user","content":"Read."},{"role":"assistant","content":null,"tool_calls":[{"id":"a",'
    '"type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"user","content":"And?"}]',
}


@both
async def test_what_the_upstream_refuses_is_mended_where_that_helps(passing: Passing, api: str) -> None:
    """Nobody answered the call; sent as it is, no API takes that."""
    passing.upstream.says(fault(400), "Here I am.")
    status, _ = await passing.ask(body(UNANSWERED[api]))

    came, mended = passing.upstream.questions
    assert status == 200
    assert b"interrupted" not in came.raw
    assert b"There is no result: the call was interrupted." in mended.raw


@both
async def test_an_answer_is_kept_to_the_bound_of_the_server(passing: Passing) -> None:
    await passing.ask(body('[{"role":"user","content":"Hi"}]', max_tokens=99), MAX_TOKENS_LIMIT="5")

    assert passing.upstream.questions[0].body["max_tokens"] == 5


async def test_fields_that_a_server_may_not_know_are_written_as_it_knows_them(fakes: FakeProviders) -> None:
    messages = [{"role": "developer", "content": "Be short."}, {"role": "user", "content": "Hi"}]
    thoughts = [*messages[1:], {"role": "assistant", "content": "Ho", "reasoning_content": "Hm."}, *messages[1:]]
    async with serving(fakes, BIG_MODEL="openai/m") as address:
        for said in (messages, thoughts):
            await ask_server(address, PATHS["chat"], {"model": "opus", "messages": said})

    first, second = fakes.openai.questions
    assert first.body["messages"][0] == {"role": "system", "content": "Be short."}
    assert b"reasoning_content" not in second.raw
