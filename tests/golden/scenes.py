"""The recorded runs: each is a function that plays one, and its docstring is what it shows."""

import json
import subprocess
import time
from typing import Any
from urllib.request import Request, urlopen

from ai_battle.testing import call, fault, reply
from tests.collaboration.deliberating import member

from .world import Scene, World

UNSURE = "I do not know. " * 40
WRONG = "7 * 24 = 158, so 158 pots are needed."
RIGHT = "7 * 24 = 168, so 168 pots are needed."
SMALL, LARGE = {"type": "ollama/phi4"}, "gpt-4o"
SUM = "Seven beds take 24 pots each. How many pots are needed?"
TALK = {"type": "scripted", "script": ["How many pots?", "And what is planted first?"], "loop": True}


def tools_native(world: World) -> None:
    """Native calls: two at once, one that fails, one that is denied."""
    sums = (call("calculator", expression="7 * 24"), call("calculator", expression="1 / 0"))
    world.fakes.openai.says(reply("I calculate.", calls=sums), "168 pots.", "Seeds come next.")
    world.fakes.anthropic.says(call("calculator", expression="168 / 4"), "42 trays of four.", "Carrots.")
    world.discuss(tools={"registry": ["calculator", "current_time"], "approval": {"default": "allow"}})


def tools_denied(world: World) -> None:
    """A call that needs a person where there is none."""
    world.fakes.openai.says(call("calculator", expression="7 * 24"), "I can't calculate that here.")
    world.discuss(turns=1, tools={"registry": ["calculator"], "approval": {"default": "deny"}})


def tools_in_text(world: World) -> None:
    """Calls in fenced blocks, one of them broken, and one that is only offered."""
    wanted = json.dumps({"tool": "calculator", "parameters": {"expression": "7 * 24"}})
    world.fakes.openai.says(
        f"Let me see.\n```tool\n{wanted}\n```", "168.", f"Shall I run this?\n```tool\n{wanted}\n```", "As you like."
    )
    world.fakes.anthropic.says("```tool\n{broken\n```", "Never mind.", "Peas.")
    world.discuss(tools={"registry": ["calculator"], "approval": {"default": "allow"}, "calling": "text"})


def thoughts(world: World) -> None:
    """A model that thinks aloud."""
    world.fakes.anthropic.always(reply("Beans.", thinking="What grows beside maize?"))
    world.discuss()


def faults(world: World) -> None:
    """A server error, a stream that breaks, a rate limit; all are tried again."""
    broken = fault("close_mid_stream", reply=reply("Half of it is said.", chunks=2))
    world.fakes.openai.says(fault("http_500"), broken, "Well.", "Good.")
    world.fakes.anthropic.says(fault("rate_limited", seconds=0.01), "Rain first.", "Then sun.")
    world.discuss(timeouts={"retry_count": 3})


def failed_turn(world: World) -> None:
    """A participant that can't answer, and one that is missed."""
    world.fakes.openai.says("Peas.", fault("http_400"))
    world.discuss()


def outcome(world: World) -> None:
    """A discussion with an outcome, an observer and conditions to stop."""
    models = {"Ann": {"type": "gpt-4o"}, "Bob": {"type": "gpt-4o"}, "Eve": {"type": "gpt-4o", "role": "observer"}}
    world.fakes.openai.says("Peas.", "Beans.", "Peas, then.", "Agreed.", "Nobody asked for water.", "Peas and beans.")
    world.discuss(models=models, outcome="Sum up what was planned.", stop={"any": [{"max_messages": 4}]})


def no_meta(world: World) -> None:
    """The control group: no instruction at all."""
    world.discuss(mode="no-meta")


def human_ai(world: World) -> None:
    """One plays a person, with persona and facts."""
    models = {
        "Ann": {"type": "gpt-4o", "role": "human", "persona": "You have a balcony."},
        "Bob": {"type": "anthropic/claude-sonnet-4-5", "role": "assistant"},
    }
    world.discuss(mode="human-ai", models=models, established_facts={"light": "four hours a day"})


def parallel(world: World) -> None:
    """All answer at once, each by its own provider."""
    models = {
        "Ann": {"type": "scripted", "script": ["Peas.", "Beans."]},
        "Bob": {"type": "scripted", "script": [{"say": "Kale.", "delay": 0.3}, {"say": "Leek.", "delay": 0.3}]},
    }
    world.discuss(models=models, execution={"parallel": True})


def moderation(world: World) -> None:
    """A moderator opens, chooses who speaks, and closes."""
    world.fakes.gemini.says("Welcome.", "Bob", "Ann", "Bob", "Ann", "Thank you.")
    models = {
        "Chair": {"type": "gemini-2.5-pro", "role": "moderator"},
        "Ann": {"type": "gpt-4o"},
        "Bob": {"type": "anthropic/claude-sonnet-4-5"},
    }
    world.discuss(models=models, speaker_selection="moderator")


def person(world: World) -> None:
    """A person at the keyboard, who passes once and then leaves."""
    world.discuss(stdin="I have a balcony.\n\n", models={"You": {"role": "user"}, "Ann": {"type": "gpt-4o"}}, turns=3)


def little_context(world: World) -> None:
    """A context that is too small for the whole discussion."""
    world.fakes.openai.always("word " * 60)
    world.discuss(execution={"max_conversation_tokens": 128}, turns=4)


def limits(world: World) -> None:
    """A limit in dollars ends the run."""
    world.discuss(turns=20, limits={"cost_usd": 0.01})


def kill(world: World) -> None:
    """A run that is killed in its third turn goes on where it was."""
    world.fakes.openai.says("Peas.", fault("stall_before_headers"), "Beans.")
    models = {"Ann": {"type": "gpt-4o"}, "Bob": {"type": "anthropic/claude-sonnet-4-5"}}
    world.write("talk.yaml", {"discussion": {"turns": 2, "goal": "Plan.", "mode": "ai-ai", "models": models}})
    argv = world.argv("run", "talk.yaml", "--out", "run")
    with subprocess.Popen(argv, cwd=world.place, env=world.environment, stdout=subprocess.DEVNULL) as process:
        while len(world.fakes.openai.questions) < 2:
            time.sleep(0.01)
        process.kill()
    world.command("resume", "run")
    world.export()


def _discuss_in_pair(world: World, **pair: Any) -> None:
    """A small model on this machine is asked for a sum, and is wrong at first."""
    models = {"Asker": {**TALK, "role": "human"}, "Small": {**SMALL, "role": "assistant"}}
    pairs = [{"primary": "Small", **({} if "peers" in pair or "judge" in pair else {"secondary": LARGE}), **pair}]
    world.discuss(mode="human-ai", goal=SUM, turns=1, models=models, collaboration={"pairs": pairs})


def _help_scene(strategy: str, *small: Any, large: tuple[Any, ...] = (), **pair: Any) -> Scene:
    def scene(world: World) -> None:
        world.fakes.ollama.says(*small)
        world.fakes.openai.says(*large)
        _discuss_in_pair(world, strategy=strategy, **pair)

    scene.__doc__ = f"The strategy {strategy}, where the small model is wrong or unsure."
    return scene


def deliberation(world: World) -> None:
    """Three models answer and rank each other, and the chair makes one answer of all."""
    world.fakes.ollama.always(member(WRONG, (RIGHT, UNSURE, WRONG)))
    world.fakes.openai.always(member(RIGHT, (RIGHT, UNSURE, WRONG)))
    world.fakes.gemini.always(member(UNSURE, (RIGHT, UNSURE, WRONG)))
    _discuss_in_pair(world, strategy="deliberation", peers=[LARGE, "gemini-2.5-pro"])


def boost(world: World) -> None:
    """The large model plans with the tools as text, the small one carries the plan out."""
    world.fakes.openai.says("PLAN:\n1. Calculate 7 * 24 with the calculator.", "FINAL:\n168 pots are needed.")
    world.fakes.ollama.says(call("calculator", expression="7 * 24"), "SUMMARY: it is 168.", "168 pots are needed.")
    models = {"Asker": {**TALK, "role": "human"}, "Small": {**SMALL, "role": "assistant"}}
    pairs = [{"primary": "Small", "secondary": LARGE, "strategy": "boost"}]
    tools = {"registry": ["calculator"], "approval": {"default": "allow"}}
    world.discuss(
        mode="human-ai", goal=SUM, turns=1, models=models, tools=tools, collaboration={"pairs": pairs}
    )  # fmt: skip


def advisor(world: World) -> None:
    """A small model is made to ask where its calls fail, asks where nothing is wrong, and answers."""
    failing = [call("calculator", expression=f"{number} / 0") for number in (1, 2)]
    asking = [call("advisor", question=question) for question in ("Is it 7 * 24?", "Really?")]
    world.fakes.ollama.says(*failing, call("calculator", expression="7 * 24"), *asking, WRONG, RIGHT)
    world.fakes.openai.says("Multiply 7 by 24.", "It is 168.")
    models = {"Asker": {**TALK, "role": "human"}, "Small": {"type": "ollama/qwen3", "role": "assistant"}}
    pairs = [{"primary": "Small", "secondary": LARGE, "strategy": "advisor"}]
    tools = {"registry": ["calculator"], "approval": {"default": "allow"}, "runner": {"max_rounds": 9}}
    world.discuss(mode="human-ai", goal=SUM, turns=1, models=models, tools=tools, collaboration={"pairs": pairs})


def benchmark(world: World) -> None:
    """The benchmark to begin with, its results and its report."""
    world.command("bench", "run", "first-steps", "--out", "out")


def server(world: World) -> None:
    """A model and a pair, asked over three APIs, plain and streamed; then what the server wrote."""
    world.fakes.ollama.says("Peas.", "Beans.", "Kale.", UNSURE, "Leek.", "Chard.")
    world.fakes.openai.always("Count the beds.")
    routes = {"plain": "ollama/phi4", "helped": {"primary": "ollama/phi4", "secondary": "gpt-4o"}}
    world.write("server.yaml", {"server": {"routes": routes}})
    argv = world.argv("serve", "server.yaml", "--port", "0")
    with subprocess.Popen(argv, cwd=world.place, env=world.environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            first = process.stderr.readline()
            for path, body in ASKED:
                _ask(world, first.split()[-1] + path, body)
        finally:
            process.terminate()
        world.note("the server's log", first + process.stderr.read())


def _ask(world: World, url: str, body: dict[str, Any]) -> None:
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
        world.note(f"POST {url} {json.dumps(body)}", answer.read().decode())


KEY = "test-key"
_TALK = [{"role": "user", "content": SUM}]
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/messages", {"model": "plain", "max_tokens": 100, "messages": _TALK}),
    ("/v1/chat/completions", {"model": "plain", "messages": _TALK, "stream": True}),
    ("/v1/responses", {"model": "plain", "input": SUM}),
    ("/v1/messages", {"model": "helped", "max_tokens": 100, "messages": _TALK, "stream": True}),
    ("/v1/chat/completions", {"model": "helped", "messages": _TALK}),
)

SCENES: dict[str, Scene] = {
    "tools-native": tools_native, "tools-denied": tools_denied, "tools-in-text": tools_in_text, "thoughts": thoughts,
    "faults": faults, "failed-turn": failed_turn, "outcome": outcome, "no-meta": no_meta, "human-ai": human_ai,
    "parallel": parallel, "moderated": moderation, "person": person, "little-context": little_context, "limits": limits,
    "killed": kill, "boost": boost, "advisor": advisor, "benchmark": benchmark, "server": server,
    "rescue": _help_scene("rescue", UNSURE, RIGHT, large=("Count the beds.",)),
    "critique": _help_scene("critique", WRONG, RIGHT, large=("7 * 24 is not 158.",)),
    "draft-verify": _help_scene("draft_verify", WRONG, RIGHT, large=("7 * 24 is 168.",)),
    "takeover": _help_scene("takeover", WRONG, large=(RIGHT,), max_retries=1),
    "handover": _help_scene("handover", WRONG, large=(RIGHT,)),
    "ladder": _help_scene("ladder", WRONG, large=(RIGHT,), max_retries=1),
    "cascade": _help_scene("cascade", WRONG, large=(RIGHT,), max_retries=1),
    "minion": _help_scene("minion", RIGHT, large=("What is 7 * 24?", RIGHT)),
    "peer": _help_scene("peer", WRONG, large=(RIGHT,), peers=[LARGE]),
    "council": _help_scene("council", WRONG, large=(RIGHT, RIGHT), peers=[LARGE, "openai/gpt-4o-mini"]),
    "vote": _help_scene("vote", WRONG, RIGHT, RIGHT, samples=3),
    "deliberation": deliberation,
}  # fmt: skip
