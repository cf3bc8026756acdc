"""How soon work that stalls is found, and how often work that gets on is interrupted: `research.stalls`.

Runs are put together, by lot, from the pieces of `tasks/stalls.yaml`. Of a run that stalls it is known which step is
the first that brings nothing new; it is found in time when it is found at most two steps later. Half of the domains
were set aside while the rule was made. `--kinds` tells the kinds of runs apart.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from string import Template
from typing import Any, TypeAlias

import yaml

from ai_battle.signals.progress import ToolStep, why_no_progress

TASKS = Path(__file__).parent / "tasks" / "stalls.yaml"
RUNS = 1_000
IN_TIME = 2
Steps: TypeAlias = list[ToolStep]


@dataclass(frozen=True, slots=True)
class Run:
    """What was done; `stalls_at` is the place of the first step that brings nothing new, None in a run that gets on."""

    kind: str
    steps: Sequence[ToolStep]
    stalls_at: int | None = None

    @property
    def found_at(self) -> int | None:
        """Returns the place of the step behind which the work is said to stall."""
        return next((n for n in range(len(self.steps)) if why_no_progress(self.steps[: n + 1])), None)

    @property
    def is_in_time(self) -> bool:
        return self.stalls_at is not None and self.found_at in range(self.stalls_at, self.stalls_at + IN_TIME + 1)

    @property
    def is_too_early(self) -> bool:
        return self.found_at is not None and (self.stalls_at is None or self.found_at < self.stalls_at)


class Writer:
    """Writes steps of one domain, each with words by lot."""

    def __init__(self, domain: Mapping[str, Any], lot: Random) -> None:
        self.domain = domain
        self.lot = lot

    def read(self) -> ToolStep:
        return self._step(*self.lot.choice(self.domain["reads"]))

    def write(self) -> ToolStep:
        return self._step(*self.lot.choice(self.domain["writes"]))

    def any(self) -> ToolStep:
        return self.read() if self.lot.random() < 0.65 else self.write()

    def fails(self, error: str = "") -> ToolStep:
        call, _ = self.lot.choice([*self.domain["reads"], *self.domain["writes"]])
        failed = self._step(call, error or self.lot.choice(self.domain["errors"]))
        return replace(failed, is_error=self.lot.random() < 0.5)

    def finds_nothing(self) -> ToolStep:
        return self._step(self.lot.choice(self.domain["reads"])[0], self.lot.choice(self.domain["empty"]))

    @property
    def words(self) -> dict[str, str]:
        facts = " ".join(self.lot.choices(self.domain["plain"], k=self.lot.randint(5, 12)))
        word, other = self.lot.sample(self.domain["words"], 2)
        number = self.lot.randint(3, 9_800)
        return {"thing": self.lot.choice(self.domain["things"]), "word": word, "other": other, "number": str(number),
                "facts": f"{facts} {self.lot.randint(2, 990)}"}  # fmt: skip

    def fill(self, text: str) -> str:
        return Template(text).safe_substitute(self.words)

    def _step(self, call: str, result: str) -> ToolStep:
        words = self.words
        return ToolStep(Template(call).safe_substitute(words), Template(result).safe_substitute(words))


def same_call(writer: Writer) -> Steps:
    return [writer.read()] * 7


def in_turns(writer: Writer) -> Steps:
    return [writer.read(), writer.read()] * 4


def same_error(writer: Writer) -> Steps:
    error = writer.lot.choice(writer.domain["errors"])
    return [writer.fails(error) for _ in range(6)]


def various_errors(writer: Writer) -> Steps:
    return [writer.fails() for _ in range(6)]


def finds_nothing(writer: Writer) -> Steps:
    return [writer.finds_nothing() for _ in range(6)]


def same_findings(writer: Writer) -> Steps:
    """Other questions, and what comes back is what was there before, in another order."""
    lines = [writer.fill("$thing: $facts") for _ in range(4)]
    call = writer.lot.choice(writer.domain["reads"])[0]
    return [ToolStep(writer.fill(call), "\n".join(writer.lot.sample(lines, 4))) for _ in range(7)]


def same_place(writer: Writer) -> Steps:
    """The same text is read again and again, from another line."""
    lines = [writer.fill("$thing $facts") for _ in range(6)]
    call = writer.fill(writer.domain["reads"][0][0])
    whole = ToolStep(call, "\n".join(lines))
    parts = (writer.lot.randint(0, 3) for _ in range(6))
    return [whole, *(ToolStep(f'{call[:-1]}, "from": {n}}}', "\n".join(lines[n : n + 3])) for n in parts)]


def mends_in_vain(writer: Writer) -> Steps:
    """Each change is followed by the same failure."""
    check, failure, _ = map(writer.fill, writer.domain["check"])
    return [step for _ in range(5) for step in (writer.write(), ToolStep(check, failure))]


STALLS: Mapping[str, tuple[Callable[[Writer], Steps], int]] = {
    "the same call": (same_call, 1),
    "two calls in turns": (in_turns, 2),
    "the same error": (same_error, 0),
    "various errors": (various_errors, 0),
    "nothing found": (finds_nothing, 0),
    "the same findings": (same_findings, 1),
    "the same place": (same_place, 1),
    "changes in vain": (mends_in_vain, 3),
}
"""How to write each, and which of its steps is the first that brings nothing new."""


def gets_on(writer: Writer) -> Steps:
    return [writer.any() for _ in range(writer.lot.randint(4, 10))]


def waits(writer: Writer) -> Steps:
    call, states = writer.domain["job"]
    call = writer.fill(call)
    return [writer.write(), *(ToolStep(call, state) for state in states), writer.read()]


def turns_pages(writer: Writer) -> Steps:
    call = writer.fill(writer.lot.choice(writer.domain["reads"])[0])
    return [
        ToolStep(f'{call[:-1]}, "page": {page}}}', "\n".join(writer.fill("$thing: $facts") for _ in range(5)))
        for page in range(1, writer.lot.randint(4, 9))
    ]


def tries_again(writer: Writer) -> Steps:
    """A call fails, and is made again with success; later two in a row fail, and the third does not."""
    good = writer.read()
    failed = ToolStep(good.call, "Error: timed out after 30 s", is_error=True)
    return [failed, good, writer.write(), writer.fails(), writer.fails(), writer.read()]


def reads_after_changes(writer: Writer) -> Steps:
    place = writer.fill(writer.domain["reads"][0][0])
    rounds = ((writer.write(), ToolStep(place, writer.fill("$thing $facts\n$facts"))) for _ in range(4))
    return [ToolStep(place, writer.fill("$thing $facts")), *(step for both in rounds for step in both)]


def checks_after_changes(writer: Writer) -> Steps:
    """The failures are other ones each time; one comes twice."""
    check, fails, passes = writer.domain["check"]
    call, first, second = map(writer.fill, (check, fails, fails))
    results = (first, second, second, passes, passes, passes)
    return [step for result in results for step in (writer.write(), ToolStep(call, result))]


def asks_alike(writer: Writer) -> Steps:
    """The same question of many things, of which several have the same short answer."""
    call, answers = writer.lot.choice(writer.domain["reads"])[0], ("yes", "no", "4 left", "open", "yes")
    things = writer.lot.sample(writer.domain["things"], 7)
    return [ToolStep(f"{writer.fill(call)} of {thing}", writer.lot.choice(answers)) for thing in things]


def writes_much(writer: Writer) -> Steps:
    call, said = writer.lot.choice(writer.domain["writes"])
    return [ToolStep(writer.fill(call), said if "$" not in said else writer.fill(said)) for _ in range(8)]


def finds_nothing_twice(writer: Writer) -> Steps:
    """That nothing is there is what was to be found out."""
    return [writer.any(), writer.finds_nothing(), writer.finds_nothing(), writer.write(), writer.finds_nothing()]


HEALTHY: Mapping[str, Callable[[Writer], Steps]] = {
    "gets on": gets_on,
    "waits for a job": waits,
    "turns pages": turns_pages,
    "tries again": tries_again,
    "reads after changes": reads_after_changes,
    "checks after changes": checks_after_changes,
    "asks alike": asks_alike,
    "writes much": writes_much,
    "finds nothing, rightly": finds_nothing_twice,
}


def stalling(domains: Sequence[Mapping[str, Any]], lot: Random) -> Iterator[Run]:
    while True:
        for kind, (write, first) in STALLS.items():
            writer = Writer(lot.choice(domains), lot)
            before = [writer.any() for _ in range(lot.randint(1, 6))]
            yield Run(kind, [*before, *write(writer)], len(before) + first)


def healthy(domains: Sequence[Mapping[str, Any]], lot: Random) -> Iterator[Run]:
    while True:
        for kind, write in HEALTHY.items():
            writer = Writer(lot.choice(domains), lot)
            yield Run(kind, [*(writer.any() for _ in range(lot.randint(0, 4))), *write(writer), writer.write()])


def read_domains() -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    said = yaml.safe_load(TASKS.read_text(encoding="utf-8"))
    plain = said.pop("plain").split()
    for name, domains in said.items():
        yield name, [{**domain, "plain": plain} for domain in domains.values()]


def lines(*, by_kind: bool) -> Iterator[str]:
    for name, domains in read_domains():
        lot = Random(7)  # noqa: S311
        bad, good = ([*islice(runs(domains, lot), RUNS)] for runs in (stalling, healthy))
        yield (
            f"{name}: {_share(bad, lambda run: run.is_in_time)} of stalls in time,"
            f" {_share(bad, lambda run: run.is_too_early)} too early,"
            f" {_share(good, lambda run: run.is_too_early)} of healthy runs interrupted"
        )
        for kind in (*STALLS, *HEALTHY) if by_kind else ():
            runs = [run for run in (*bad, *good) if run.kind == kind]
            shares = _share(runs, lambda run: run.is_in_time), _share(runs, lambda run: run.is_too_early)
            yield f"  {kind}: in time {shares[0]}, too early {shares[1]}"


def _share(runs: Sequence[Run], holds: Callable[[Run], bool]) -> str:
    return f"{sum(map(holds, runs)) / len(runs):.1%}"


if __name__ == "__main__":
    for line in lines(by_kind="--kinds" in sys.argv):
        print(line)
