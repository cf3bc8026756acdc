"""Measures how often the intervals of `pair report` hold the true value: `python -m research.shadow [WEEKS]`.

Weeks are drawn from simulated traffic: families of requests that differ in how often the small model loses, in price
and in how often they are helped. A share of the requests is drawn as the shadow draws them. It counts how often the
interval of the report holds the true value of the traffic, if the judge is always right. Then it measures how soon
a watch raises its alarm after a change, and how soon tests do that know more than a watch.
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
"""The promised loss, the loss after a change, the verdicts after which a watch ends, and the most false alarms."""
BLANK = ShadowTrial("tie", False, 1.0, "chat", "", "", "")


@dataclass(frozen=True)
class RequestFamily:
    """A family of requests: its part of the traffic, its rates of help and of losses without help, and its dollars."""

    name: str
    part: float
    helped: float
    lost: float
    usd: float


@dataclass(frozen=True)
class Week:
    """A week of requests. In its second half another share is drawn, and losses are `worse` times as frequent."""

    name: str
    requests: int
    share: float
    later_share: float
    worse: float
    kinds: tuple[RequestFamily, ...]


USUAL = (
    RequestFamily("chat", 0.6, 0.1, 0.02, 0.004),
    RequestFamily("math", 0.3, 0.3, 0.05, 0.002),
    RequestFamily("tool", 0.1, 0.4, 0.08, 0.02),
)
GOOD = tuple(replace(kind, lost=kind.lost / 4) for kind in USUAL)
SCENARIOS = (
    Week("3.3 % lost, 2 % of 20,000 drawn", 20_000, 0.02, 0.02, 1.0, USUAL),
    Week("0.8 % lost, 2 % of 20,000 drawn", 20_000, 0.02, 0.02, 1.0, GOOD),
    Week("3.3 % lost, 2 % of 5,000 drawn", 5_000, 0.02, 0.02, 1.0, USUAL),
    Week("1 %, then 5 % drawn, and losses double", 20_000, 0.01, 0.05, 2.0, USUAL),
)


def drawn_trial(random: Random, kind: RequestFamily, lost: float) -> ShadowTrial:
    """Returns one compared request, with log-normal dollars and seconds."""
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
    """Returns the requests that the shadow draws in a week."""
    found = []
    for is_later, share in ((False, week.share), (True, week.later_share)):
        count = sum(random.random() < share for _ in range(week.requests // 2))
        found += [replace(trial, share=share) for trial in traffic(random, week, count, is_later=is_later)]
    return found


def measures(trials: list[ShadowTrial]) -> dict[str, Estimate | None]:
    found = family_evidence("all", trials)
    return {"loss": found.loss, "dollars saved": found.saved_usd, "seconds saved": found.saved_seconds}


def truth(week: Week) -> dict[str, float]:
    """Returns the true values of the traffic, from a sample so large that its error does not matter."""
    random = Random(0)  # noqa: S311 - a simulation
    trials = [each for is_later in (False, True) for each in traffic(random, week, TRUTH // 2, is_later=is_later)]
    saved = (trial.saved_usd or 0.0 for trial in trials)
    return {
        "loss": fmean(trial.is_lost for trial in trials),
        "dollars saved": fmean(saved),
        "seconds saved": fmean(trial.saved_seconds for trial in trials),
    }


def coverage(week: Week, weeks: int) -> dict[str, float]:
    """Returns the share of weeks whose interval holds the true value, for each measure."""
    true, random = truth(week), Random(1)  # noqa: S311 - a simulation
    held: dict[str, int] = dict.fromkeys(true, 0)
    for _ in range(weeks):
        for name, estimate in measures(sample(random, week)).items():
            held[name] += estimate is not None and estimate.low <= true[name] <= estimate.high
    return {name: count / weeks for name, count in held.items()}


def alarm_delay(random: Random, before: int, losses: tuple[float, float]) -> float:
    """Returns the verdicts from a change of the loss to the alarm. The number is negative for a false alarm."""
    watch = LossWatch(PROMISED)
    while not watch.alarm_at and watch.seen < before + LONGEST:
        watch = watch.record(float(random.random() < losses[watch.seen >= before]))
    return watch.alarm_at - before if watch.alarm_at else inf


def show_watch(watches: int) -> None:
    random = Random(2)  # noqa: S311 - a simulation
    for before in (0, 100, 500, 2_000):
        delays = [alarm_delay(random, before, (0.02, 0.06)) for _ in range(watches)]
        print(f"| the loss rises from 2 % to 6 % after {before:,} verdicts | {median(delays):g} |", flush=True)
    for loss in (0.02, PROMISED):
        false = sum(alarm_delay(random, 0, (loss, loss)) < inf for _ in range(watches))
        print(f"| false alarms at a loss of {loss:.0%} in {LONGEST:,} verdicts | {false / watches:.1%} |", flush=True)


def log_likelihood_ratio(random: Random, loss: float, usual: float) -> float:
    """Returns the evidence of one verdict for a loss of `CHANGED` against `usual`."""
    is_lost = random.random() < loss
    return log(CHANGED / usual) if is_lost else log((1 - CHANGED) / (1 - usual))


def highest_level(random: Random, usual: float) -> float:
    """Returns the highest level of a CUSUM test in a long time without a change."""
    level, most = 0.0, 0.0
    for _ in range(LONGEST):
        level = max(0.0, level + log_likelihood_ratio(random, usual, usual))
        most = max(most, level)
    return most


def least_delay(random: Random, usual: float, alarm_at: float, *, knows_moment: bool) -> int:
    """Returns the verdicts needed by a test that knows the losses before and after, and perhaps the moment."""
    level, seen = 0.0, 0
    while level < alarm_at:
        level, seen = level + log_likelihood_ratio(random, CHANGED, usual), seen + 1
        level = level if knows_moment else max(0.0, level)
    return seen


def show_floors(watches: int) -> None:
    random = Random(3)  # noqa: S311 - a simulation
    known = [least_delay(random, PROMISED, log(1 / FALSE), knows_moment=True) for _ in range(watches)]
    print(f"| Wald's test, which knows 6 % and the moment, over {PROMISED:.0%} | {median(known):g} |", flush=True)
    for usual in (0.02, PROMISED):
        alarm_at = sorted(highest_level(random, usual) for _ in range(watches))[int((1 - FALSE) * watches)]
        delays = [least_delay(random, usual, alarm_at, knows_moment=False) for _ in range(watches)]
        print(f"| CUSUM, which knows 6 %, over {usual:.0%} | {median(delays):g} |", flush=True)


def main() -> None:
    weeks = int(sys.argv[1]) if len(sys.argv) > 1 else WEEKS
    print(f"| {weeks} weeks | Loss | Dollars saved | Seconds saved |\n|---|--:|--:|--:|")
    for week in SCENARIOS:
        print(f"| {week.name} | {' | '.join(f'{share:.1%}' for share in coverage(week, weeks).values())} |", flush=True)
    print(f"\n| Watch over a loss of {PROMISED:.0%} | Verdicts until the alarm, median |\n|---|--:|")
    show_watch(weeks)
    show_floors(weeks)


if __name__ == "__main__":
    main()
