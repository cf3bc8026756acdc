"""When a client is told to come back."""

import pytest

from ai_battle.core.errors import AIBattleError, BudgetExceeded, RateLimited, Unreachable
from ai_battle.server.refusing import Denied, headers_of
from ai_battle.testing import FakeProviders, fault

from .protocol.speaking import speaking
from .serving import serving


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (RateLimited("slow", retry_after=7.0), {"retry-after": "7"}),
        (RateLimited("slow", retry_after=6.5), {"retry-after": "7", "retry-after-ms": "6500"}),
        (Unreachable("down", retry_after=0.0), {"retry-after": "0"}),
        (Denied(529, "busy", retry_after=1.0), {"retry-after": "1"}),
        (Unreachable("down"), {}),
        (RateLimited("used up"), {"x-should-retry": "false"}),
        (BudgetExceeded("used up"), {"x-should-retry": "false"}),
    ],
    ids=str,
)
def test_headers_say_when_and_whether_to_come_back(error: AIBattleError, headers: dict[str, str]) -> None:
    assert headers_of(error) == headers


async def test_nobody_tries_again_where_the_credit_is_used_up(fakes: FakeProviders) -> None:
    fakes.openai.says(fault("insufficient_quota"), fault("http_429"))
    hello = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
    async with serving(fakes, BIG_MODEL="openai/large") as address, speaking(address) as client:
        used_up, busy = await client.post("chat", hello), await client.post("chat", hello)

    assert (used_up.status, used_up.headers.get("x-should-retry")) == (429, "false")
    assert (busy.status, busy.headers.get("x-should-retry")) == (429, None)
