"""Runs that were never played: their journals are written as a run would have written them."""

import random
from collections.abc import Sequence
from pathlib import Path

from ai_battle.conversation.journal import Journal
from ai_battle.core.events import Event, PromptGiven, RunFinished, RunStarted, TurnFinished, TurnStarted
from ai_battle.core.exchange import Usage
from ai_battle.core.messages import assistant, user

FAULTS = ("contradicts", "invents", "repeats")
FACTS = (
    "A hive needs about twenty kilograms of honey to get through the winter.",
    "Linden trees near the roof bloom in June, when the meadows are mown.",
    "A neighbour with an allergy has to be asked before anything is bought.",
    "Two hives tell more than one, since a weak one can be compared.",
    "The roof carries three hundred kilograms, so the weight is no problem.",
    "Swarms leave in May, and somebody has to be there on weekdays.",
    "Water has to stand nearby, or the bees find the pool next door.",
    "An old beekeeper in the street would lend his centrifuge.",
)


async def write_run(
    run_dir: Path, said: Sequence[tuple[str, str]], goal: str = "Bees on the roof?", config: str = ""
) -> Path:
    """A run in which each of these speaks, by name and text."""
    names = dict.fromkeys((name for name, _ in said), "scripted")
    used = Usage(10, 5, cost_usd=0.0)
    events: list[Event] = [RunStarted("bees", str(run_dir), names, {"config": config}), PromptGiven(user(goal))]
    for number, (name, text) in enumerate(said, 1):
        events.append(TurnStarted(number, number, name))
        events.append(TurnFinished(number, number, name, assistant(text, name), used, "scripted", 0.1))
    events.append(RunFinished("done", "turns", len(said), used))
    async with Journal.create(run_dir) as journal:
        for event in events:
            await journal(event)
    return run_dir


def plant_fault(number: int) -> tuple[list[tuple[str, str]], str, str]:
    """The `number`th transcript with a fault in it: the turns, who has it, and which it is."""
    chance = random.Random(number)
    fault, guilty = FAULTS[number % len(FAULTS)], ("Ann", "Bob")[number // len(FAULTS) % 2]
    facts = chance.sample(FACTS, 6)
    said = [(("Ann", "Bob")[place % 2], fact) for place, fact in enumerate(facts)]
    own = [place for place, (name, _) in enumerate(said) if name == guilty]
    spoilt = {
        "contradicts": f"It is not true that {said[own[0]][1][0].lower()}{said[own[0]][1][1:]}",
        "invents": f"Professor Quandel proved in {1900 + number} that bees read newspapers.",
        "repeats": said[own[0]][1],
    }[fault]
    said[own[-1]] = (guilty, spoilt)
    return said, guilty, fault
