"""Counts the faults that are named in faulty and in healthy dialogues: `python -m research.steering`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ai_battle.config.discussion import SignalThresholds
from ai_battle.signals.conversation import ConversationSignals, TurnSignals

DIALOGUES = Path(__file__).parents[1] / "tests/conversation/data/dialogues"
WITHIN = 3
"""The turns within which a fault should be named, counted from its first turn."""
THRESHOLDS = SignalThresholds().model_dump()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A healthy dialogue, or one with a `fault` from the turn `wrong_from` on. `half` is dev or held."""

    name: str
    language: str
    half: str
    goal: str
    turns: list[str] = field(default_factory=list)
    fault: str = ""
    wrong_from: int = 0

    @property
    def signals(self) -> list[TurnSignals]:
        """Returns the signals of each turn, with two speakers in turn."""
        fold = ConversationSignals(len(self.turns))
        fold.open(self.goal)
        return [fold.add("AB"[n % 2], turn) for n, turn in enumerate(self.turns)]

    @property
    def named(self) -> set[str]:
        """Returns the faults named within `WITHIN` turns of the fault, or in any turn of a healthy dialogue."""
        found = self.signals[self.wrong_from : self.wrong_from + WITHIN] if self.fault else self.signals
        return {name for each in found for name, threshold in THRESHOLDS.items() if getattr(each, name) > threshold}


def dialogues(names: tuple[str, ...] = ("steering.txt", "long.txt")) -> list[Dialogue]:
    """Reads the healthy and the faulty dialogues."""
    found: list[Dialogue] = []
    for line in "".join((DIALOGUES / name).read_text(encoding="utf-8") for name in names).splitlines():
        match line[:1], line[1:].split():
            case "=", [name, language, half]:
                found.append(healthy := Dialogue(name, language, half, ""))
            case ">", _:
                found[-1] = healthy = Dialogue(healthy.name, healthy.language, healthy.half, line[1:].strip())
            case "!", [fault, "after", number]:
                from_, kept = int(number), [*healthy.turns[: int(number)]]
                head = (healthy.name, healthy.language, healthy.half, healthy.goal)
                found.append(Dialogue(*head, kept, fault, from_))
            case mark, [_, *_] if mark != "#":
                found[-1].turns.append(line.replace("\\n", "\n"))
    return found


def _table(found: list[Dialogue]) -> Iterator[str]:
    for half in ("dev", "held"):
        in_half = [each for each in found if each.half == half]
        healthy = [each for each in in_half if not each.fault]
        false_alarms = Counter(name for each in healthy for name in each.named)
        yield f"{half}: {len(healthy)} healthy dialogues, in which are named {dict(false_alarms)}"
        for fault in THRESHOLDS:
            of_fault = [each for each in in_half if each.fault == fault]
            yield f"  {fault:12} named in {sum(fault in each.named for each in of_fault):3} of {len(of_fault)}"


if __name__ == "__main__":
    print("\n".join(_table(dialogues())))
