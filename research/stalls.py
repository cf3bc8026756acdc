"""Measures how soon a stall is found, and how often progress is interrupted: `python -m research.stalls [--kinds]`.

Runs are put together at random from the pieces of `tasks/stalls.yaml`. The first step that brings nothing new is known.
A stall is found in time if it is found at most two steps later. Half of the domains were set aside while the rule was
made. `--kinds` prints each kind of run by itself.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean
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
    """The steps of a run. `stalls_at` is the first step that brings nothing new, or None in a healthy run."""

    kind: str
    steps: Sequence[ToolStep]
    stalls_at: int | None = None

    @property
    def finding_place(self) -> int | None:
        """Returns the step after which the work is called stalled, or None."""
        return next((n for n in range(len(self.steps)) if why_no_progress(self.steps[: n + 1])), None)

    @property
    def is_in_time(self) -> bool:
        return self.stalls_at is not None and self.finding_place in range(self.stalls_at, self.stalls_at + IN_TIME + 1)

    @property
    def is_too_early(self) -> bool:
        return self.finding_place is not None and (self.stalls_at is None or self.finding_place < self.stalls_at)


class Writer:
    """Writes steps of one domain with random words."""

    def __init__(self, domain: Mapping[str, Any], random: Random) -> None:
        self.domain = domain
        self.random = random

    def read(self) -> ToolStep:
        return self._step(*self.random.choice(self.domain["reads"]))

    def write(self) -> ToolStep:
        return self._step(*self.random.choice(self.domain["writes"]))

    def any(self) -> ToolStep:
        return self.read() if self.random.random() < 0.65 else self.write()

    def fails(self, error: str = "") -> ToolStep:
        call, _ = self.random.choice([*self.domain["reads"], *self.domain["writes"]])
        failed = self._step(call, error or self.random.choice(self.domain["errors"]))
        return replace(failed, is_error=self.random.random() < 0.5)

    def finds_nothing(self) -> ToolStep:
        return self._step(self.random.choice(self.domain["reads"])[0], self.random.choice(self.domain["empty"]))

    @property
    def words(self) -> dict[str, str]:
        facts = " ".join(self.random.choices(self.domain["plain"], k=self.random.randint(5, 12)))
        word, other = self.random.sample(self.domain["words"], 2)
        number = self.random.randint(3, 9_800)
        return {"thing": self.random.choice(self.domain["things"]), "word": word, "other": other, "number": str(number),
                "facts": f"{facts} {self.random.randint(2, 990)}"}  # fmt: skip

    def fill(self, text: str) -> str:
        return Template(text).safe_substitute(self.words)

    def _step(self, call: str, result: str) -> ToolStep:
        words = self.words
        return ToolStep(Template(call).safe_substitute(words), Template(result).safe_substitute(words))


def same_call(writer: Writer) -> Steps:
    return [writer.read()] * 7


def two_calls_in_turns(writer: Writer) -> Steps:
    return [writer.read(), writer.read()] * 4


def same_error(writer: Writer) -> Steps:
    error = writer.random.choice(writer.domain["errors"])
    return [writer.fails(error) for _ in range(6)]


def various_errors(writer: Writer) -> Steps:
    return [writer.fails() for _ in range(6)]


def finds_nothing(writer: Writer) -> Steps:
    return [writer.finds_nothing() for _ in range(6)]


def same_findings(writer: Writer) -> Steps:
    """Asks different questions that return the same findings in another order."""
    lines = [writer.fill("$thing: $facts") for _ in range(4)]
    call = writer.random.choice(writer.domain["reads"])[0]
    return [ToolStep(writer.fill(call), "\n".join(writer.random.sample(lines, 4))) for _ in range(7)]


def same_place(writer: Writer) -> Steps:
    """Reads the same text again and again, from another line."""
    lines = [writer.fill("$thing $facts") for _ in range(6)]
    call = writer.fill(writer.domain["reads"][0][0])
    whole = ToolStep(call, "\n".join(lines))
    parts = (writer.random.randint(0, 3) for _ in range(6))
    return [whole, *(ToolStep(f'{call[:-1]}, "from": {n}}}', "\n".join(lines[n : n + 3])) for n in parts)]


def same_failure_after_changes(writer: Writer) -> Steps:
    """Makes changes, each of which is followed by the same failure."""
    check, failure, _ = map(writer.fill, writer.domain["check"])
    return [step for _ in range(5) for step in (writer.write(), ToolStep(check, failure))]


STALLS: Mapping[str, tuple[Callable[[Writer], Steps], int]] = {
    "the same call": (same_call, 1),
    "two calls in turns": (two_calls_in_turns, 2),
    "the same error": (same_error, 0),
    "various errors": (various_errors, 0),
    "nothing found": (finds_nothing, 0),
    "the same findings": (same_findings, 1),
    "the same place": (same_place, 1),
    "the same failure after changes": (same_failure_after_changes, 3),
}
"""The function that writes each kind of stall, and the first step that brings nothing new."""


def makes_progress(writer: Writer) -> Steps:
    return [writer.any() for _ in range(writer.random.randint(4, 10))]


def waits(writer: Writer) -> Steps:
    call, states = writer.domain["job"]
    call = writer.fill(call)
    return [writer.write(), *(ToolStep(call, state) for state in states), writer.read()]


def turns_pages(writer: Writer) -> Steps:
    call = writer.fill(writer.random.choice(writer.domain["reads"])[0])
    return [
        ToolStep(f'{call[:-1]}, "page": {page}}}', "\n".join(writer.fill("$thing: $facts") for _ in range(5)))
        for page in range(1, writer.random.randint(4, 9))
    ]


def tries_again(writer: Writer) -> Steps:
    """Repeats a failed call with success; later two calls in a row fail, and the third succeeds."""
    good = writer.read()
    failed = ToolStep(good.call, "Error: timed out after 30 s", is_error=True)
    return [failed, good, writer.write(), writer.fails(), writer.fails(), writer.read()]


def reads_after_changes(writer: Writer) -> Steps:
    place = writer.fill(writer.domain["reads"][0][0])
    rounds = ((writer.write(), ToolStep(place, writer.fill("$thing $facts\n$facts"))) for _ in range(4))
    return [ToolStep(place, writer.fill("$thing $facts")), *(step for both in rounds for step in both)]


def checks_after_changes(writer: Writer) -> Steps:
    """Checks after each change. The failures differ, but one occurs twice."""
    check, fails, passes = writer.domain["check"]
    call, first, second = map(writer.fill, (check, fails, fails))
    results = (first, second, second, passes, passes, passes)
    return [step for result in results for step in (writer.write(), ToolStep(call, result))]


def asks_similar_questions(writer: Writer) -> Steps:
    """Asks the same question about many things, several of which have the same short answer."""
    call, answers = writer.random.choice(writer.domain["reads"])[0], ("yes", "no", "4 left", "open", "yes")
    things = writer.random.sample(writer.domain["things"], 7)
    return [ToolStep(f"{writer.fill(call)} of {thing}", writer.random.choice(answers)) for thing in things]


def writes_much(writer: Writer) -> Steps:
    call, said = writer.random.choice(writer.domain["writes"])
    return [ToolStep(writer.fill(call), said if "$" not in said else writer.fill(said)) for _ in range(8)]


def finds_nothing_twice(writer: Writer) -> Steps:
    """Finds nothing, which is the right result."""
    return [writer.any(), writer.finds_nothing(), writer.finds_nothing(), writer.write(), writer.finds_nothing()]


HEALTHY: Mapping[str, Callable[[Writer], Steps]] = {
    "makes progress": makes_progress,
    "waits for a job": waits,
    "turns pages": turns_pages,
    "tries again": tries_again,
    "reads after changes": reads_after_changes,
    "checks after changes": checks_after_changes,
    "asks similar questions": asks_similar_questions,
    "writes much": writes_much,
    "finds nothing, rightly": finds_nothing_twice,
}


def stalling_runs(domains: Sequence[Mapping[str, Any]], random: Random) -> Iterator[Run]:
    while True:
        for kind, (write, first) in STALLS.items():
            writer = Writer(random.choice(domains), random)
            before = [writer.any() for _ in range(random.randint(1, 6))]
            yield Run(kind, [*before, *write(writer)], len(before) + first)


def healthy_runs(domains: Sequence[Mapping[str, Any]], random: Random) -> Iterator[Run]:
    while True:
        for kind, write in HEALTHY.items():
            writer = Writer(random.choice(domains), random)
            yield Run(kind, [*(writer.any() for _ in range(random.randint(0, 4))), *write(writer), writer.write()])


def read_domains() -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    said = yaml.safe_load(TASKS.read_text(encoding="utf-8"))
    plain = said.pop("plain").split()
    for name, domains in said.items():
        yield name, [{**domain, "plain": plain} for domain in domains.values()]


def lines(*, by_kind: bool) -> Iterator[str]:
    yield f"{'domains and kinds of runs':34} {'stalls in time':>14} {'too early':>9} {'interrupted':>11}"
    for name, domains in read_domains():
        random = Random(7)  # noqa: S311
        bad, good = ([*islice(runs(domains, random), RUNS)] for runs in (stalling_runs, healthy_runs))
        yield f"{name:34} {_share_in_time(bad):14.1%} {_share_too_early(bad):9.1%} {_share_too_early(good):11.1%}"
        for kind in STALLS if by_kind else ():
            of_kind = [run for run in bad if run.kind == kind]
            yield f"  {kind:32} {_share_in_time(of_kind):14.1%} {_share_too_early(of_kind):9.1%}"
        for kind in HEALTHY if by_kind else ():
            yield f"  {kind:57} {_share_too_early([run for run in good if run.kind == kind]):11.1%}"


def _share_in_time(runs: Sequence[Run]) -> float:
    return fmean(run.is_in_time for run in runs)


def _share_too_early(runs: Sequence[Run]) -> float:
    return fmean(run.is_too_early for run in runs)


if __name__ == "__main__":
    for line in lines(by_kind="--kinds" in sys.argv):
        print(line)
