"""Whatever the two models of the boost loop say, and over whichever API: what always holds."""

import asyncio
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle import create_client
from ai_battle.collaboration.boost import BoostLoop
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ProviderError
from ai_battle.core.events import ModelReplied
from ai_battle.core.exchange import NOTHING_USED, ModelRequest
from ai_battle.core.helping import BoostStep, DraftDropped, HelpFailed
from ai_battle.core.messages import Message, Text, Thinking, ToolCall, ToolResult, user
from ai_battle.testing import FakeProvider, FakeProviders, call, fault

from .acting import HelpLog, Model, large, model, same
from .boosting import GUIDANCE, ONCE, OTHER, READ, SUMMARY, model_request, text_of

LONG = "SUMMARY:\n" + "A long answer with many words in it.\n" * 10
PLANNED = st.sampled_from([
    SUMMARY, LONG, GUIDANCE, OTHER, "", " ", "ANALYSIS: only", "I'm sorry, but I can't help with that.",
    call("invented"), {"fail": "unreachable"}, {"say": LONG, "fail": "cut"}, {"fail": "refused"},
    {"think": "hm", "say": GUIDANCE},
])  # fmt: skip
ANSWERED = st.sampled_from([
    "An answer.", "", "I searched the web: 12.", call("read_file", path="a"),
    {"say": "Let me look.", "call": {"tool": "read_file", "parameters": {"path": "a"}}},
    {"fail": "unreachable"}, {"say": "An ans", "fail": "cut"},
])  # fmt: skip
CALLED = ToolCall("read_file", {"path": "a.txt"}, id="call_1")
TYPES = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-haiku-4-5",
    "ollama": "ollama/qwen3",
    "gemini": "gemini/gemini-2.5-flash",
}


async def play(boost: Model, auxiliary: Model, request: ModelRequest, max_loops: int) -> tuple[str | None, HelpLog]:
    loop = BoostLoop(boost.client, auxiliary.client, max_loops)
    heard = HelpLog()
    try:
        response = await loop.complete(request, heard)
    except ProviderError:
        return None, heard
    assert same(response.usage, heard.usage())
    assert heard.text == response.text
    return response.text, heard


@given(
    st.lists(PLANNED, min_size=4, max_size=4),
    st.lists(ANSWERED, min_size=5, max_size=5),
    st.integers(1, 4),
    st.sampled_from(["auto", "none", "required"]),
    st.booleans(),
)
def test_whatever_they_say_the_loop_ends_and_accounts_for_all(
    planned: list[Any], answered: list[Any], max_loops: int, choice: str, offered: bool
) -> None:
    boost, auxiliary = large(*planned), model(*answered)
    request = model_request("What is it?", *([READ] if offered else []), tool_choice=choice if offered else "auto")
    text, heard = asyncio.run(play(boost, auxiliary, request, max_loops))
    steps = heard.of(BoostStep)

    assert 1 <= boost.calls <= max_loops
    assert auxiliary.calls <= max_loops + 1
    assert [step.loop for step in steps] == list(range(boost.calls))
    assert all(not sent.tools and sent.messages[-1].text.strip() for sent in boost.requests)
    assert all(sent.tools == request.tools and sent.tool_choice == request.tool_choice for sent in auxiliary.requests)
    assert [step.outcome for step in steps][:-1].count("summary") == 0
    assert ("fallback" not in [step.outcome for step in steps]) or heard.of(HelpFailed)
    dropped = sum((event.usage for event in heard.of(DraftDropped)), NOTHING_USED)
    replied = sum((event.usage for event in heard.of(ModelReplied)), NOTHING_USED)
    assert dropped.total_tokens <= replied.total_tokens
    assert text is not None or auxiliary.calls


def agent_turn() -> ModelRequest:
    steps = (
        user("What is in a.txt?"),
        Message("assistant", (Thinking("hm"), Text("Let me look."), CALLED)),
        Message("tool", (ToolResult(CALLED, (Text("sales rose sharply"),)),)),
    )
    return ModelRequest(steps, "You are an agent.", (READ,))


@pytest.mark.parametrize(("boost", "auxiliary"), list(permutations(TYPES, 2)))
async def test_it_works_between_any_two_apis(fakes: FakeProviders, boost: str, auxiliary: str) -> None:
    """In the midst of an agent's work: one gets all as text and no tools, the other the conversation as it was."""
    planning, executing = (fakes_of(fakes, name) for name in (boost, auxiliary))
    planning.says(GUIDANCE, fault(500))
    executing.says(call("read_file", path="b.txt"), "It rose.")
    loop = BoostLoop(client(boost), client(auxiliary))
    first = await loop.complete(agent_turn())
    second = await loop.complete(agent_turn())
    await loop.aclose()

    assert (first.tool_calls[0].name, second.text) == ("read_file", "It rose.")
    sent = planning.questions[0].body
    assert "tools" not in sent
    assert all(text in text_of(sent) for text in ("What is in a.txt?", "sales rose sharply", "You are an agent."))
    assert "tools" in executing.questions[0].body
    assert "The file has to be read." in text_of(executing.questions[0].body)
    assert "The file has to be read." not in text_of(executing.questions[1].body)


def fakes_of(fakes: FakeProviders, name: str) -> FakeProvider:
    found: FakeProvider = getattr(fakes, name)
    return found


def client(name: str) -> ModelClient:
    return create_client(TYPES[name], retry=ONCE)
