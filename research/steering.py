"""Which faults are named in dialogues that go wrong on purpose, and in healthy ones: `python -m research.steering`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ai_battle.config.discussion import SignalThresholds
from ai_battle.signals.conversation import ConversationSignals, TurnSignals

DIALOGUES = Path(__file__).parents[1] / "tests/conversation/data/dialogues"
WITHIN = 3
"""Turns in which a fault should be named, from its first turn on."""
THRESHOLDS = SignalThresholds().model_dump()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One that goes well, or one that goes wrong from a turn on, in the way of `fault`; `half` is dev or held."""

    name: str
    language: str
    half: str
    goal: str
    turns: list[str] = field(default_factory=list)
    fault: str = ""
    wrong_from: int = 0

    @property
    def signals(self) -> list[TurnSignals]:
        """The measures of each turn, two speaking in turn."""
        fold = ConversationSignals(len(self.turns))
        fold.open(self.goal)
        return [fold.add("AB"[n % 2], turn) for n, turn in enumerate(self.turns)]

    @property
    def named(self) -> set[str]:
        """The faults named within the first turns that go wrong; of a healthy dialogue in any turn."""
        found = self.signals[self.wrong_from : self.wrong_from + WITHIN] if self.fault else self.signals
        return {name for each in found for name, threshold in THRESHOLDS.items() if getattr(each, name) > threshold}


def dialogues(names: tuple[str, ...] = ("steering.txt", "long.txt")) -> list[Dialogue]:
    """The healthy ones and those that go wrong."""
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
        those = [each for each in found if each.half == half]
        healthy = [each for each in those if not each.fault]
        yield f"{half}: {len(healthy)} healthy, named {dict(Counter(n for each in healthy for n in each.named))}"
        for fault in THRESHOLDS:
            of_fault = [each for each in those if each.fault == fault]
            yield f"  {fault:12} {sum(fault in each.named for each in of_fault):3} of {len(of_fault)}"


if __name__ == "__main__":
    print("\n".join(_table(dialogues())))
