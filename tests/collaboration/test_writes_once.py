"""What a tool changes in one turn is changed once, however many models draft its answer."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.conversation.reading import read
from ai_battle.core.events import TurnFinished
from ai_battle.core.tooling import ToolReturned

TOOLS = '''
import time
from pathlib import Path
from ai_battle import tool

@tool(writes=True, timeout=0.2 if Path("slow").exists() else 60)
def pay(to: str) -> str:
    """Pays."""
    with Path("paid").open("a") as file:
        print(to, file=file)
    if Path("slow").exists():
        time.sleep(1)
    if to == "nobody":
        raise ValueError("there is nobody of that name")
    return "receipt 4711"
'''
ANSWER = "Paid. The receipt number is 4711."


def call(to: str = "Ann") -> str:
    return f'```tool\n{{"tool": "pay", "parameters": {{"to": "{to}"}}}}\n```'


def says(*answers: str) -> dict[str, Any]:
    return {"type": "scripted", "script": [*answers], "loop": True}


STUCK = (call(), "I cannot help with that, I do not know.", call(), ANSWER)
PAYS = (call(), ANSWER)
PAIRS: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("rescue", STUCK, {"secondary": says("Say the receipt number.")}),
    ("critique", STUCK, {"secondary": says("It has no receipt number.")}),
    ("takeover", STUCK, {"secondary": says(*PAYS)}),
    ("ladder", STUCK, {"secondary": says(*PAYS)}),
    ("cascade", STUCK, {"secondary": says(*PAYS)}),
    ("vote", PAYS, {"secondary": says(*PAYS), "samples": 3}),
    ("peer", PAYS, {"peers": [says(*PAYS)]}),
    ("council", PAYS, {"peers": [says(*PAYS), says(*PAYS)]}),
    ("deliberation", PAYS, {"peers": [says(*PAYS)]}),
]


async def payments(folder: Path, script: tuple[str, ...], pair: dict[str, Any]) -> list[str]:
    """Plays a turn of a pair, and returns who was paid for it."""
    (folder / "pay.py").write_text(TOOLS)
    models = {"Asker": {**says("Pay Ann, and say the receipt number."), "role": "human"}, "Bob": says(*script)}
    collaboration = {"pairs": [{"primary": "Bob", **pair}]}
    tools = {"paths": [str(folder / "pay.py")], "approval": {"default": "allow"}}
    discussion = {"turns": 1, "goal": "Pay.", "models": models, "tools": tools, "collaboration": collaboration}
    await ConversationManager.from_config({"discussion": discussion}, out=folder / "run").run_discussion()
    return (folder / "paid").read_text().splitlines()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("strategy", "script", "pair"), PAIRS, ids=[name for name, *_ in PAIRS])
async def test_who_was_paid_for_a_dropped_draft_is_not_paid_again(
    strategy: str, script: tuple[str, ...], pair: dict[str, Any], tmp_path: Path
) -> None:
    assert await payments(tmp_path, script, {"strategy": strategy, **pair}) == ["Ann"]


async def test_another_draft_gets_the_receipt_of_the_first_one(tmp_path: Path) -> None:
    await payments(tmp_path, STUCK, {"strategy": "takeover", "secondary": says(*PAYS)})

    *_, answer = (event for _, event in read(tmp_path / "run") if isinstance(event, TurnFinished))
    assert [result.text for step in answer.steps for result in step.tool_results] == ['{"result": "receipt 4711"}']


async def test_another_draft_may_call_with_other_arguments_and_what_failed(tmp_path: Path) -> None:
    script = (call("nobody"), call(), "I cannot help with that, I do not know.", call("nobody"), call("Eve"), ANSWER)

    assert await payments(tmp_path, script, {"strategy": "rescue", "secondary": says("Pay Eve.")}) == [
        "nobody",
        "Ann",
        "nobody",
        "Eve",
    ]


async def test_another_draft_is_told_what_else_was_changed_and_may_call_once_more(tmp_path: Path) -> None:
    helper = says(call(), call(), ANSWER)
    script = (call(), call("Eve"), "I cannot help with that, I do not know.")

    assert await payments(tmp_path, script, {"strategy": "takeover", "secondary": helper}) == ["Ann", "Eve", "Ann"]
    *_, answer = (event for _, event in read(tmp_path / "run") if isinstance(event, TurnFinished))
    first, again = (result.text for step in answer.steps for result in step.tool_results)
    assert "Something else was changed since. Make the call once more only if" in first
    assert again == '{"result": "receipt 4711"}'


async def test_a_call_that_was_given_up_may_have_paid_so_no_other_draft_makes_it(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()

    assert await payments(tmp_path, PAYS, {"strategy": "peer", "peers": [says(*PAYS)]}) == ["Ann"]
    results = [event.result.text for _, event in read(tmp_path / "run") if isinstance(event, ToolReturned)]
    assert ["given up" in results[0], "The outcome is unknown" in results[1]] == [True, True]
