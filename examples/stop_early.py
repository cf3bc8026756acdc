"""A discussion that ends when it is done: conditions nest with any and all, and limits keep it in bounds.

It prints:

    phrase: DEAL and turns: 4 -> done after 4 turns
    tokens: 12900 of 24000, and a turn may take 4300 -> limit after 4 turns
    the last word was: So we stop here, at nine.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ai_battle import ConversationManager, Participant, RunResult, Usage, create_client
from ai_battle.testing import FakeProviders, ScriptedClient, reply


async def until_there_is_a_deal(run_dir: Path) -> RunResult:
    """The phrase alone does not do: somebody may be quick to say it."""
    seller = ScriptedClient("DEAL at twelve!", "Nine, then.")
    buyer = ScriptedClient("Eight.", "Nine it is: deal.")
    stop: dict[str, Any] = {"any": [{"all": [{"phrase": "DEAL"}, {"turns": 4}]}, {"no_novelty": True}]}
    participants = [Participant("Seller", seller), Participant("Buyer", buyer)]
    return await ConversationManager(participants, goal="Agree.", turns=20, stop=stop, out=run_dir).run_discussion()


async def until_the_budget_is_used(run_dir: Path) -> RunResult:
    """Near its limit the run asks for one last contribution that sums up."""
    async with FakeProviders() as fakes:
        fakes.openai.always(haggling)
        clients = [create_client(name, base_url=f"{fakes.openai.url}/v1", api_key="any") for name in ("gpt-4o", "o3")]
        participants = [Participant(name, client) for name, client in zip(("Seller", "Buyer"), clients, strict=True)]
        limits = {"tokens": 24_000}
        return await ConversationManager(participants, goal="Agree.", limits=limits, out=run_dir).run_discussion()


def haggling(body: Mapping[str, Any]) -> Any:
    asked_to_end = "Wrap up" in str(body["messages"][-1])
    return reply("So we stop here, at nine." if asked_to_end else "Ten.", usage=Usage(4_000, 300))


async def main() -> None:
    with TemporaryDirectory() as folder:
        deal = await until_there_is_a_deal(Path(folder, "deal"))
        print(f"{deal.stop_reason} -> {deal.status} after {deal.turns} turns")
        spent = await until_the_budget_is_used(Path(folder, "spent"))
        print(f"{spent.stop_reason} -> {spent.status} after {spent.turns} turns")
        print(f"the last word was: {spent.messages[-1].text}")


if __name__ == "__main__":
    asyncio.run(main())
