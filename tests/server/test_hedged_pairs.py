"""`hedge` at a route: a client of a slow model hears the helper in time, and one answer alone."""

import json
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders, Fault, Reply, fault, reply

from .conftest import Upstream
from .protocol.speaking import speaking
from .serving import serving, serving_to
from .test_optimistic import BODIES, GOOD, MARK, ask

FILE = """
server:
  routes:
    pair:
      model: {upstream}/small
      secondary: {upstream}/large
      strategy: takeover
      stream: {stream}
      hedge: {{wait: 0.1}}
prices: {{{upstream}/large: {{input: 1, output: 2}}}}
"""
SLOW = "One word and then another, and a third one"
STALLED = fault("stall_mid_stream", times=9, reply=reply(SLOW, chunks=8))


@pytest.mark.parametrize(
    ("stream", "slow", "shown"),
    [
        ("judged", STALLED, False),
        ("optimistic", STALLED, True),
        ("optimistic", reply(SLOW, delay=20.0), False),
    ],
    ids=["judged", "optimistic", "silent"],
)
@pytest.mark.parametrize("api", [*BODIES])
async def test_a_client_of_a_slow_model_hears_the_helper(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, api: str, stream: str, slow: Fault | Reply, *, shown: bool
) -> None:
    upstream.fake.always(lambda body: slow if body["model"] == "small" else GOOD)
    path = tmp_path / "server.yaml"
    path.write_text(FILE.format(upstream=upstream.name, stream=stream))
    async with serving(fakes, str(path)) as address, speaking(address, "pair") as client:
        told = await ask(client, api)

    draft, mark, answer = told.rpartition(MARK)
    assert answer == GOOD
    assert SLOW.startswith(draft)
    assert bool(draft) == bool(mark) == shown
    assert sorted(question.body["model"] for question in upstream.fake.questions) == ["large", "small"]


async def test_a_helper_that_is_not_needed_any_more_has_not_failed(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.always(lambda body: reply(GOOD, delay=0.3 if body["model"] == "small" else 60.0))
    path, log = tmp_path / "server.yaml", list[bytes]()
    path.write_text(FILE.format(upstream="openai", stream="judged"))
    async with serving_to(fakes, log.append, str(path)) as (_, address), speaking(address, "pair") as client:
        assert await ask(client, "chat") == GOOD

    line = json.loads(log[-1])
    assert sorted(question.body["model"] for question in fakes.openai.questions) == ["large", "small"]
    assert (line["level"], line["helped"], "help_failed" in line) == ("info", False, False)
