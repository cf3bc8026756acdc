"""Runs that can be killed: `run DIR KIND` or `resume DIR KIND`; what they called and heard is noted beside DIR."""

import asyncio
import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ai_battle import ConversationManager, Participant
from ai_battle.collaboration import deliberation
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import AIBattleError
from ai_battle.core.events import AttemptFailed, Emit, Event, ModelReplied, TextDelta, TurnFinished, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage, estimate_request
from ai_battle.core.ledger import SpendingLimits
from ai_battle.core.messages import Message, ToolCall, assistant
from tests.nursery import ROOT, note, serve

from .purse import pay

CALLS = "calls"
HEARD = "heard"
SECONDS_PER_ANSWER = 0.004


class Oracle(ModelClient):
    """Its answer depends on every word of the request: a history that came back changed would change what follows."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        note(self._calls, "called")
        await asyncio.sleep(SECONDS_PER_ANSWER)
        text = hashlib.sha256(repr((request.system, request.messages)).encode()).hexdigest()
        await emit(TextDelta(text))
        usage = Usage(estimate_request(request), 10, cost_usd=0.001)
        await emit(ModelReplied("oracle", usage, SECONDS_PER_ANSWER))
        return ModelResponse(assistant(text), usage=usage, model="oracle")


def oracles(run_dir: Path, **settings: object) -> ConversationManager:
    calls = run_dir.with_name(f"{run_dir.name}.{CALLS}")
    roles: Mapping[str, Any] = {"moderator": "moderator"}
    names = ("ann", "bob", "cleo", *(["moderator"] if settings.get("speaker_selection") == "moderator" else []))
    people = [Participant(name, Oracle(calls), role=roles.get(name, "assistant")) for name in names]
    return ConversationManager(people, goal="Agree on a number.", out=run_dir, turns=5, **settings)  # type: ignore[arg-type]


def deliberating(run_dir: Path) -> ConversationManager:
    """In each turn three answer, rank, and one makes an answer of all; a kill may come in between."""
    calls = run_dir.with_name(f"{run_dir.name}.{CALLS}")
    council = deliberation.create(Oracle(calls), peers=[Oracle(calls), Oracle(calls)])
    people = [Participant("ann", Oracle(calls)), Participant("council", council)]
    return ConversationManager(people, goal="Agree on a number.", out=run_dir, turns=3)


def scripted_manager(run_dir: Path) -> ConversationManager:
    """From a file: after a crash the scripts go on where they were, failed attempts and all."""
    pause = {"delay": SECONDS_PER_ANSWER}
    fails = {"fail": "rate_limited", **pause}
    lines = {
        name: [entry for n in range(5) for entry in ([fails] * (n % 2) + [{"say": f"{name} says {n}.", **pause}])]
        for name in ("ann", "bob", "cleo")
    }
    models = {name: {"type": "scripted", "script": script} for name, script in lines.items()}
    return ConversationManager.from_config(
        {"discussion": {"goal": "Agree.", "turns": 5, "models": models}}, out=run_dir
    )


PAY, PAY_EVE = ({"call": {"tool": "pay", "parameters": {"to": to}}} for to in ("ann", "eve"))
SLOW = {"call": {"tool": "pay_slowly", "parameters": {"to": "ann"}}}
READ = {"call": {"tool": "rate", "parameters": {"of": "usd"}}}
GOOD = "Ann was paid in full today, as was agreed: the transfer is in the books."


def paying(run_dir: Path, *answers: object, **settings: Any) -> ConversationManager:
    """From a file: ann calls tools, and so does bob. After a crash both begin their turns as if nothing had been."""
    scripts = {"ann": answers or (PAY, "I have paid.")}
    scripts["bob"] = ({"call": {"tool": "pay", "parameters": {"to": "bob"}}}, "So have I.")
    models = {name: {"type": f"scripted/{name}", "script": [*script]} for name, script in scripts.items()}
    tools = {"paths": [str(Path(__file__).with_name("purse.py"))], "approval": {"default": "allow"}}
    discussion = {"goal": "Pay.", "mode": "ai-ai", "turns": 1, "models": models, "tools": tools, **settings}
    return ConversationManager.from_config({"discussion": discussion}, out=run_dir)


def call_in_text(name: str, **arguments: str) -> str:
    return f"```tool\n{json.dumps({'tool': name, 'parameters': arguments})}\n```"


class Wordy(ModelClient):
    """It calls a tool with other words each time. If it is told that it has called it, it says what it read."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        text = request.messages[-1].text
        if "broken off" in text or not request.tools or any(message.tool_results for message in request.messages):
            return ModelResponse(assistant(text or "Paid."))
        name = "bob" if "ann" in text else "ann"
        return ModelResponse(Message("assistant", (ToolCall("pay", {"to": name, "memo": os.urandom(4).hex()}, "c"),)))


async def allow(call: ToolCall, speaker: str) -> bool:
    return True


def with_bank(run_dir: Path) -> ConversationManager:
    server = {"command": sys.executable, "args": ["-m", "tests.conversation.bank", str(Path.cwd())], "cwd": str(ROOT)}
    tools = {"mcp": {"servers": {"bank": server}}, "approval": {"default": "allow"}}
    return paying(run_dir, {"call": {"tool": "bank:pay", "parameters": {"to": "ann"}}}, "I have paid.", tools=tools)


def with_helper(run_dir: Path) -> ConversationManager:
    """Ann's draft calls a tool and is poor; so is what the advised ann says next, and the helper takes over."""
    pair = {"primary": "ann", "secondary": {"type": "scripted/helper", "script": ["Look again."] * 9 + [GOOD]}}
    return paying(run_dir, PAY, "I do not know.", PAY, GOOD, collaboration={"pairs": [{**pair, "strategy": "rescue"}]})


PAYING: Mapping[str, Callable[[Path], ConversationManager]] = {
    "native": paying,
    "in text": lambda run_dir: paying(run_dir, call_in_text("pay", to="ann"), "I have paid."),
    "in a round": lambda run_dir: paying(run_dir, execution={"parallel": True}),
    "in a draft": with_helper,
}
FURTHER: Mapping[str, Callable[[Path], ConversationManager]] = {
    "of a server": with_bank,
    "rounds": lambda run_dir: paying(run_dir, PAY, PAY_EVE, READ, "I have paid."),
    "rounds in parallel": lambda run_dir: paying(
        run_dir, PAY, PAY_EVE, READ, "I have paid.", execution={"parallel": True}
    ),
    "wordy": lambda run_dir: ConversationManager(
        [Participant("ann", Wordy()), Participant("bob", Wordy())],
        goal="Pay.",
        turns=1,
        out=run_dir,
        tools=[pay],
        approve=allow,
    ),
}
KINDS: Mapping[str, Callable[[Path], ConversationManager]] = {
    "plain": oracles,
    "random": lambda run_dir: oracles(run_dir, speaker_selection="random", seed=7),
    "parallel": lambda run_dir: oracles(run_dir, parallel=True, durability="every_turn"),
    "moderated": lambda run_dir: oracles(run_dir, speaker_selection="moderator"),
    "limited": lambda run_dir: oracles(run_dir, limits=SpendingLimits(tokens=4_000)),
    "folded": lambda run_dir: oracles(run_dir, max_conversation_tokens=400),
    "synced": lambda run_dir: oracles(run_dir, durability="every_turn"),
    "scripted": scripted_manager,
    "deliberating": deliberating,
}


async def play(action: str, run_dir: Path, kind: str) -> None:
    calls, heard = (run_dir.with_name(f"{run_dir.name}.{name}") for name in (CALLS, HEARD))

    async def listen(event: Event) -> None:
        if isinstance(event, TurnFinished):
            note(heard, f"{event.turn} {event.message.text}")
        elif kind == "scripted" and isinstance(event, ModelReplied | AttemptFailed):
            note(calls, "called")

    manager = {**KINDS, **PAYING, **FURTHER}[kind](run_dir)
    if action == "run":
        await manager.run_discussion(listen)
    else:
        await manager.resume(run_dir, listen)


def child(action: str, folder: str, kind: str) -> int:
    run_dir = Path(folder)
    try:
        asyncio.run(play(action, run_dir, kind))
    except AIBattleError as error:
        note(run_dir.with_name(f"{run_dir.name}.errors"), str(error))
        return 1
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


if __name__ == "__main__":
    serve(child)
