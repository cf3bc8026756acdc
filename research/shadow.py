"""How often what `pair report` says of a week is true: `python -m research.shadow [WEEKS]`.

Weeks are drawn from traffic of which everything is known: families of requests that differ in how often the small model
loses, in price and in how often they are helped. A share of the requests is drawn as the shadow draws them, and the
interval of the report holds what is true of the traffic, or not. The judge is taken to be right.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, log
from random import Random
from statistics import fmean, median

from ai_battle.evidence.trials import Outcome, ShadowTrial
from ai_battle.evidence.watch import LossWatch
from ai_battle.reporting.pair_evidence import Estimate, family_evidence

WEEKS, TRUTH = 500, 400_000
PROMISED, CHANGED, LONGEST, FALSE = 0.03, 0.06, 10_000, 0.05
"""What may be lost and is lost after a change, the verdicts after which a watch is given up, and the share of watches
that may raise a false alarm.
"""
BLANK = ShadowTrial("tie", False, 1.0, "chat", "", "", "")


@dataclass(frozen=True)
class Kind:
    """A family: its part of the traffic, and the rates of help and of losses without it; dollars of the large model."""

    name: str
    part: float
    helped: float
    lost: float
    usd: float


@dataclass(frozen=True)
class Week:
    """`requests` in a week; in its second half `share` may be another one, and losses `worse` times as frequent."""

    name: str
    requests: int
    share: float
    later_share: float
    worse: float
    kinds: tuple[Kind, ...]


USUAL = (Kind("chat", 0.6, 0.1, 0.02, 0.004), Kind("math", 0.3, 0.3, 0.05, 0.002), Kind("tool", 0.1, 0.4, 0.08, 0.02))
GOOD = tuple(replace(kind, lost=kind.lost / 4) for kind in USUAL)
SCENARIOS = (
    Week("3.3 % lost, 2 % of 20,000 drawn", 20_000, 0.02, 0.02, 1.0, USUAL),
    Week("0.8 % lost, 2 % of 20,000 drawn", 20_000, 0.02, 0.02, 1.0, GOOD),
    Week("3.3 % lost, 2 % of 5,000 drawn", 5_000, 0.02, 0.02, 1.0, USUAL),
    Week("1 %, then 5 % drawn, and losses double", 20_000, 0.01, 0.05, 2.0, USUAL),
)


def drawn_trial(random: Random, kind: Kind, lost: float) -> ShadowTrial:
    """Returns one request and what both models made of it; dollars and seconds spread as those of real answers do."""
    helped = random.random() < kind.helped
    outcome: Outcome = "loss" if random.random() < (0.5 if helped else lost) else "tie"
    large, small = (random.lognormvariate(log(usd), 1.0) for usd in (kind.usd, kind.usd / 20))
    seconds = random.lognormvariate(1.0, 0.6), random.lognormvariate(0.3, 0.8)
    pair = (small + large, seconds[0] + seconds[1]) if helped else (small, seconds[1])
    return replace(
        BLANK, outcome=outcome, helped=helped, family=kind.name, pair_usd=pair[0], large_usd=large,
        pair_seconds=pair[1], large_seconds=seconds[0],
    )  # fmt: skip


def traffic(random: Random, week: Week, requests: int, *, is_later: bool) -> Iterator[ShadowTrial]:
    for kind in random.choices(week.kinds, [kind.part for kind in week.kinds], k=requests):
        yield drawn_trial(random, kind, kind.lost * (week.worse if is_later else 1.0))


def sample(random: Random, week: Week) -> list[ShadowTrial]:
    """Returns what the shadow draws in a week."""
    found = []
    for is_later, share in ((False, week.share), (True, week.later_share)):
        count = sum(random.random() < share for _ in range(week.requests // 2))
        found += [replace(trial, share=share) for trial in traffic(random, week, count, is_later=is_later)]
    return found


def measures(trials: list[ShadowTrial]) -> dict[str, Estimate | None]:
    found = family_evidence("all", trials)
    return {"loss": found.loss, "dollars saved": found.saved_usd, "seconds saved": found.saved_seconds}


def truth(week: Week) -> dict[str, float]:
    """Returns what is true of the traffic, from so much of it that nothing else matters."""
    random = Random(0)  # noqa: S311 - a simulation
    trials = [each for is_later in (False, True) for each in traffic(random, week, TRUTH // 2, is_later=is_later)]
    saved = (trial.saved_usd or 0.0 for trial in trials)
    return {
        "loss": fmean(trial.is_lost for trial in trials),
        "dollars saved": fmean(saved),
        "seconds saved": fmean(trial.saved_seconds for trial in trials),
    }


def coverage(week: Week, weeks: int) -> dict[str, float]:
    """Returns the share of weeks whose interval holds what is true, for each measure."""
    true, random = truth(week), Random(1)  # noqa: S311 - a simulation
    held: dict[str, int] = dict.fromkeys(true, 0)
    for _ in range(weeks):
        for name, estimate in measures(sample(random, week)).items():
            held[name] += estimate is not None and estimate.low <= true[name] <= estimate.high
    return {name: count / weeks for name, count in held.items()}


def alarm_delay(random: Random, before: int, losses: tuple[float, float]) -> float:
    """Returns the verdicts between a change of the loss and the alarm; negative for a false alarm."""
    watch = LossWatch(PROMISED)
    while not watch.alarm_at and watch.seen < before + LONGEST:
        watch = watch.record(float(random.random() < losses[watch.seen >= before]))
    return watch.alarm_at - before if watch.alarm_at else inf


def show_watch(watches: int) -> None:
    random = Random(2)  # noqa: S311 - a simulation
    for before in (0, 100, 500, 2_000):
        delays = [alarm_delay(random, before, (0.02, 0.06)) for _ in range(watches)]
        print(f"| from 2 % to 6 % after {before:,} | {median(delays):g} |", flush=True)
    for loss in (0.02, PROMISED):
        false = sum(alarm_delay(random, 0, (loss, loss)) < inf for _ in range(watches))
        print(f"| false alarms at {loss:.0%} in {LONGEST:,} | {false / watches:.1%} |", flush=True)


def evidence(random: Random, loss: float, usual: float) -> float:
    """Returns by how much a verdict speaks for `CHANGED` against `usual`: the logarithm of the likelihoods' ratio."""
    is_lost = random.random() < loss
    return log(CHANGED / usual) if is_lost else log((1 - CHANGED) / (1 - usual))


def peak(random: Random, usual: float) -> float:
    """Returns the most that a CUSUM test sees in a long time without a change."""
    level, most = 0.0, 0.0
    for _ in range(LONGEST):
        level = max(0.0, level + evidence(random, usual, usual))
        most = max(most, level)
    return most


def least_delay(random: Random, usual: float, alarm_at: float, *, knows_moment: bool) -> int:
    """Returns the verdicts that a test needs which knows the losses before and after, and perhaps the moment."""
    level, seen = 0.0, 0
    while level < alarm_at:
        level, seen = level + evidence(random, CHANGED, usual), seen + 1
        level = level if knows_moment else max(0.0, level)
    return seen


def show_floors(watches: int) -> None:
    random = Random(3)  # noqa: S311 - a simulation
    known = [least_delay(random, PROMISED, log(1 / FALSE), knows_moment=True) for _ in range(watches)]
    print(f"| who knows 6 % and the moment, over {PROMISED:.0%} | {median(known):g} |", flush=True)
    for usual in (0.02, PROMISED):
        alarm_at = sorted(peak(random, usual) for _ in range(watches))[int((1 - FALSE) * watches)]
        delays = [least_delay(random, usual, alarm_at, knows_moment=False) for _ in range(watches)]
        print(f"| who knows 6 %, over {usual:.0%} | {median(delays):g} |", flush=True)


def main() -> None:
    weeks = int(sys.argv[1]) if len(sys.argv) > 1 else WEEKS
    print(f"| {weeks} weeks | loss | dollars saved | seconds saved |\n|---|--:|--:|--:|")
    for week in SCENARIOS:
        print(f"| {week.name} | {' | '.join(f'{share:.1%}' for share in coverage(week, weeks).values())} |", flush=True)
    print(f"\n| a watch over {PROMISED:.0%} | verdicts until the alarm, median |\n|---|--:|")
    show_watch(weeks)
    show_floors(weeks)


if __name__ == "__main__":
    main()
