"""Runs as data to train on: what OpenAI's fine-tuning takes, of runs that ended well, badly, or not yet."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager
from ai_battle.testing import FakeProviders, call, fault

from ..cli.conftest import Run
from .test_collaboration import STUCK, discussion

GOOD = "The number is seven."
TALK: dict[str, Any] = {
    "turns": 2,
    "mode": "ai-ai",
    "goal": "Find the number.",
    "models": {
        "Ann": {"type": "gpt-4o", "persona": "You count."},
        "Bob": {"type": "scripted", "script": ["Is it six?", "Then seven."]},
    },
}
KEYS = {"role", "content", "name", "tool_calls", "tool_call_id"}


async def run(out: Path, talk: dict[str, Any]) -> Path:
    manager = CollaborativeConversationManager.from_config({"discussion": talk}, out=out)
    return (await manager.run_discussion()).run_dir


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def roles(example: dict[str, Any]) -> list[str]:
    return [message["role"] for message in example["messages"]]


async def test_each_model_becomes_an_example_with_roles_that_alternate(
    fakes: FakeProviders,
    tmp_path: Path,
    ai_battle: Run,
) -> None:
    fakes.openai.says("It is six.", "It is seven.")
    done = ai_battle("export", await run(tmp_path / "run", TALK), "--format", "finetune")

    ann, bob = lines(done.out)
    assert roles(ann) == ["system", "user", "assistant", "user", "assistant"]
    assert "You count." in ann["messages"][0]["content"]
    assert [each["content"] for each in ann["messages"][1:]] == [
        "Find the number.", "It is six.", "Is it six?", "It is seven.",
    ]  # fmt: skip
    assert roles(bob) == ["system", "user", "assistant", "user", "assistant"]
    assert bob["messages"][-1]["content"] == "Then seven."
    assert {key for example in (ann, bob) for message in example["messages"] for key in message} <= KEYS


async def test_calls_of_tools_and_their_results_are_in_it_with_the_tools(
    fakes: FakeProviders,
    tmp_path: Path,
    ai_battle: Run,
) -> None:
    fakes.openai.says(call("calculator", expression="3+4"), "It is seven.", "Yes.")
    talk = {**TALK, "tools": {"registry": ["calculator"], "approval": {"default": "allow"}}}
    example = lines(ai_battle("export", await run(tmp_path / "run", talk), "--format", "finetune").out)[0]

    assert roles(example)[:5] == ["system", "user", "assistant", "tool", "assistant"]
    asked, returned = example["messages"][2:4]
    assert asked["tool_calls"][0]["id"] == returned["tool_call_id"]
    assert [tool["function"]["name"] for tool in example["tools"]] == ["calculator"]


async def test_a_person_is_nobody_to_train(
    tmp_path: Path,
    ai_battle: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = iter(["Is it six?", None])

    async def ask(prompt: str) -> str | None:
        return next(said)

    models = {"Me": {"role": "user"}, "Bob": {"type": "scripted", "script": ["No, seven."]}}
    manager = CollaborativeConversationManager.from_config(
        {"discussion": {**TALK, "models": models}}, out=folder / "run", ask=ask
    )
    [bob] = lines(ai_battle("export", (await manager.run_discussion()).run_dir, "--format", "finetune").out)
    assert bob["messages"][-1] == {"role": "assistant", "content": "No, seven."}


async def test_a_long_run_becomes_several_examples_that_each_begin_with_the_prompt(
    tmp_path: Path,
    ai_battle: Run,
) -> None:
    models = {name: {"type": "scripted", "script": ["word " * 8_000], "loop": True} for name in ("Ann", "Bob")}
    examples = lines(ai_battle("export", await run(tmp_path / "run", {**TALK, "models": models, "turns": 6}),
                               "--format", "finetune").out)  # fmt: skip

    assert len(examples) > 4
    for example in examples:
        assert roles(example)[-1] == "assistant"
        assert example["messages"][1]["content"].startswith("Find the number.")
        assert len(json.dumps(example)) < 300_000


async def test_a_draft_that_was_found_poorer_makes_a_pair_with_the_answer(
    fakes: FakeProviders,
    tmp_path: Path,
    ai_battle: Run,
) -> None:
    fakes.ollama.says(STUCK, GOOD)
    fakes.openai.says("Count the dwarfs.")
    run_dir = await run(tmp_path / "run", discussion({})["discussion"])
    [pair] = lines(ai_battle("export", run_dir, "--format", "dpo").out)

    assert pair["preferred_output"] == [{"role": "assistant", "content": GOOD}]
    assert pair["non_preferred_output"] == [{"role": "assistant", "content": STUCK}]
    assert roles(pair["input"]) == ["system", "user"]
    assert pair["input"]["messages"][-1]["content"] == "Find the number."


@pytest.mark.parametrize("kept", [True, False])
async def test_a_run_without_pairs_says_why_and_leaves_no_file(
    fakes: FakeProviders,
    folder: Path,
    ai_battle: Run,
    kept: bool,
) -> None:
    fakes.ollama.says(*([GOOD] if kept else [STUCK, GOOD]))
    fakes.openai.says("Count the dwarfs.")
    run_dir = await run(folder / "run", discussion({}, journal={"drafts": kept})["discussion"])
    done = ai_battle("export", run_dir, "--format", "dpo", "-o", "pairs.jsonl")

    assert done.code == 2
    assert "has no pairs: in none of its turns was a draft found poorer than the answer" in done.err
    assert not (folder / "pairs.jsonl").exists()


async def test_of_a_run_that_failed_what_was_said_before_is_exported(
    fakes: FakeProviders,
    folder: Path,
    ai_battle: Run,
) -> None:
    fakes.openai.says("It is six.")
    fakes.openai.always(fault("http_401"))
    run_dir = await run(folder / "run", {**TALK, "turns": 3})

    for shape in ("md", "html", "csv", "jsonl", "openai", "finetune"):
        done = ai_battle("export", run_dir, "--format", shape)
        assert done.code == 0
        assert "It is six." in done.out
        assert "The run failed (" in done.err
        assert "earlier turns are exported" in done.err


async def test_of_a_run_in_which_nobody_answered_there_is_nothing_to_train_on(
    fakes: FakeProviders,
    folder: Path,
    ai_battle: Run,
) -> None:
    fakes.openai.always(fault("http_401"))
    run_dir = await run(folder / "run", TALK)
    done = ai_battle("export", run_dir, "--format", "finetune", "-o", "out")

    assert done.code == 2
    assert "has nothing to train on: no model has answered in it." in done.err
    assert not (folder / "out").exists()


async def test_a_run_that_is_being_written_can_be_looked_at_and_exported(
    folder: Path,
    ai_battle: Run,
) -> None:
    run_dir = await run(folder / "run", {**TALK, "models": {**TALK["models"], "Ann": TALK["models"]["Bob"]}})
    journal = (run_dir / "journal.jsonl").read_text().splitlines(keepends=True)
    (run_dir / "journal.jsonl").write_text("".join(journal[:-3]) + journal[-3][:20])

    for shape in ("md", "html", "finetune"):
        done = ai_battle("export", run_dir, "--format", shape)
        assert done.code == 0
        assert "Is it six?" in done.out
        assert "The run has not ended; this is what there is of it so far." in done.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"v":1', '"v":2', "written in journal format 2, this ai-battle reads up to 1; upgrade it"),
        (
            '"type":"turn_started"',
            '"type":"turn_foreseen"',
            "there is no event of type 'turn_foreseen'; it may be of a newer ai-battle: pip install -U",
        ),
    ],
)
async def test_a_run_of_a_newer_version_is_refused_with_the_way_out(
    folder: Path,
    ai_battle: Run,
    old: str,
    new: str,
    words: str,
) -> None:
    run_dir = await run(folder / "run", {**TALK, "models": {**TALK["models"], "Ann": TALK["models"]["Bob"]}})
    journal = run_dir / "journal.jsonl"
    journal.write_text(journal.read_text().replace(old, new))
    done = ai_battle("export", run_dir, "--format", "html")

    assert done.code == 1
    assert words in done.err
