"""A run with something of everything, and what a hostile model may write."""

from pathlib import Path

from ai_battle.conversation.journal import Journal
from ai_battle.core.events import (
    AttemptFailed,
    Event,
    ModelReplied,
    PromptGiven,
    RunFinished,
    RunStarted,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, assistant

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\n"
    "`<b>code</b>` **<i>bold</i>** </article></main>\n\n"
    "# <svg onload=alert(3)>\n- <a href='javascript:alert(4)'>x</a>\n> <iframe>\n\n"
    "```html\n<script>alert(5)</script>\n"
)
CALL = ToolCall("web_search", {"query": "<b>x</b>"}, "call_1")
STEPS = (
    Message("assistant", (CALL,), "bob"),
    Message("tool", (ToolResult(CALL, (Text("</pre><script>alert(6)</script>"),)),), "bob"),
)
ANN = Usage(1_000, 200, cost_usd=0.5)
BOB = Usage(3_000, 100)

PROMPT = Message("user", (Image("image/png", b"\x89PNG"), Text("Discuss.")))
SEARCHED = Message("assistant", (Thinking("<u>hm</u>"), Text(HOSTILE)), "bob")

EVENTS: tuple[Event, ...] = (
    RunStarted("Robots & <b>names</b>", "run", {"ann": "openai/gpt-4o", "bob": "ollama/phi4"}),
    PromptGiven(PROMPT),
    TurnStarted(1, 1, "ann"),
    ModelReplied("gpt-4o", ANN, 1.0, speaker="ann"),
    TurnFinished(1, 1, "ann", assistant("Plain **words**, and `code`.", "ann"), ANN, "gpt-4o", 61.0),
    TurnStarted(2, 1, "bob"),
    AttemptFailed("phi4", 1, "cut <off>", 0.5, partial="He", speaker="bob"),
    ModelReplied("phi4", BOB, 1.0, estimated=True, speaker="bob"),
    TurnFinished(2, 1, "bob", SEARCHED, BOB, "phi4", 2.0, 2, "length", STEPS),
    TurnStarted(3, 2, "ann"),
    ModelReplied("gpt-4o", Usage(10, 0, cost_usd=0.0), 1.0, speaker="ann", failed=True),
    TurnFailed(3, 2, "ann", "no <connection>", "skip", Usage(10, 0, cost_usd=0.0)),
    ModelReplied("gpt-4o", Usage(50, 5, cost_usd=0.0), 1.0, speaker="ann"),
    Summarised(2, "They <em>met</em>.", Usage(50, 5, cost_usd=0.0), "gpt-4o"),
    TurnStarted(4, 2, "bob"),
    ModelReplied("phi4", BOB, 1.0, speaker="bob"),
    TurnFinished(4, 2, "bob", assistant("=HYPERLINK(1)\n\x1b[31mred\x00", "bob"), BOB, "phi4", 2.0),
    RunFinished("limit", "cost_usd", 3, NOTHING_USED),
)


async def write_run(run_dir: Path, *events: Event) -> Path:
    journal = Journal.create(run_dir)
    for event in events or EVENTS:
        await journal(event)
    await journal.close()
    return run_dir
