"""Requests that are too long for the small model of a pair."""

from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders, fault

from .serving import ask_server, serving

FILE = "server: {{routes: {{pair: {{primary: ollama/phi4, secondary: openai/gpt-4o, strategy: {strategy}{more}}}}}}}"
BODY = {"model": "pair", "max_tokens": 50, "messages": [{"role": "user", "content": "Sum up this long report."}]}


@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        *((each, "") for each in ("rescue", "critique", "draft_verify", "takeover", "ladder", "cascade", "handover")),
        ("vote", ""),
        ("advisor", ""),
        ("takeover", ", hedge: {wait: 5}"),
        ("peer", ", peers: [ollama/gemma3:1b]"),
    ],
)
async def test_the_large_model_answers_once_what_is_too_long_for_the_small_one(
    fakes: FakeProviders, tmp_path: Path, strategy: str, more: str
) -> None:
    fakes.ollama.always(fault("context_length"))
    fakes.openai.always("It is about trade.")
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(strategy=strategy, more=more))
    async with serving(fakes, str(path)) as address:
        status, answer = await ask_server(address, "/v1/messages", BODY)

    assert (status, answer["content"][0]["text"]) == (200, "It is about trade.")
    assert len(fakes.openai.questions) == 1


async def test_the_boost_model_is_told_to_answer_what_is_too_long_for_the_auxiliary_one(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    fakes.ollama.always(fault("context_length"))
    fakes.openai.says("GUIDANCE:\nRead the chapter on trade.", "SUMMARY:\nIt is about trade.")
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(strategy="boost", more=""))
    async with serving(fakes, str(path)) as address:
        status, answer = await ask_server(address, "/v1/messages", BODY)

    assert (status, answer["content"][0]["text"]) == (200, "It is about trade.")
    assert "too long for the auxiliary model" in str(fakes.openai.questions[1].body)
    assert len(fakes.ollama.questions) == 1


@pytest.mark.parametrize("planned", ["It is about trade.", "GUIDANCE:\nRead the chapter on trade."])
async def test_a_boost_model_whose_replies_led_to_nothing_answers_what_is_too_long_for_the_auxiliary_one(
    fakes: FakeProviders, tmp_path: Path, planned: str
) -> None:
    fakes.ollama.always(fault("context_length"))
    fakes.openai.says(*[planned] * 3, "It is about trade.")
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(strategy="boost", more=""))
    async with serving(fakes, str(path)) as address:
        status, answer = await ask_server(address, "/v1/messages", BODY)

    assert (status, answer["content"][0]["text"]) == (200, "It is about trade.")
    assert "too long for the auxiliary model" in str(fakes.openai.questions[-1].body)


@pytest.mark.parametrize("strategy", ["rescue", "advisor"])
async def test_a_request_that_is_too_long_for_both_is_told_as_such(
    fakes: FakeProviders, tmp_path: Path, strategy: str
) -> None:
    fakes.ollama.always(fault("context_length"))
    fakes.openai.always(fault("context_length"))
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(strategy=strategy, more=""))
    async with serving(fakes, str(path)) as address:
        status, answer = await ask_server(address, "/v1/messages", BODY)

    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert "prompt is too long" in answer["error"]["message"]
    assert len(fakes.openai.questions) == 1
