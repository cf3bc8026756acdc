"""Measures what hedged help gains and costs, on a simulated clock: `python -m research.hedge`.

Nothing here is recorded. Latencies are drawn from log-normal distributions. Nine of ten answers of the small model take
about 2 s (sigma 0.4) and one of ten about 15 s (sigma 0.6), as if a local model is being loaded or shared. Answers of
the large model take about 3 s (sigma 0.4). The small model costs $0.05 and $0.20 for a million tokens read and written,
the large one $2.50 and $10. With a `worth` each request begins with the same 3,000 tokens, which the large model reads
for a tenth of its price if it has kept them (warm), and otherwise at its price (cold). What a cancelled model had
written costs nothing here, as these models write everything at the end.
"""

import asyncio
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ai_battle.collaboration import Hedge, takeover
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import HelpAsked
from ai_battle.core.messages import user
from ai_battle.judging.detector import StuckDetector
from ai_battle.providers._calls import ProviderCaller
from ai_battle.providers._metered import CallTerms
from ai_battle.providers._prices import TokenPrice
from ai_battle.providers.scripted import ScriptedClient

SMALL, LARGE = TokenPrice(0.05, 0.20), TokenPrice(2.50, 10.0)
SEED, TURNS = 7, 2_000
WORTHS = (0.0003, 0.001, 0.003)
"""The dollars that a second less to wait is worth."""
WAITS: tuple[float | str | None, ...] = (None, "p95", "p90", "p80", "p70", 8.0, 4.0)
POOR_SHARES = (0.0, 0.2)
REQUEST = ModelRequest((user("How tall is the tower at the harbour, and who built it?"),))
GOOD = (
    "The tower is 96 metres tall, as the plate at its door says. It was built by the harbour company in 1911, when "
    "larger ships had begun to call, and its lamp was lit for the first time in the autumn of that year."
)


class SimulatedTimeLoop(asyncio.SelectorEventLoop):
    """Advances its clock to the next timer instead of waiting. Nothing here waits for anything but timers."""

    _simulated_now = 0.0

    def time(self) -> float:
        return self._simulated_now

    def _run_once(self) -> None:
        ready: Any = self
        if not ready._ready and ready._scheduled:
            self._simulated_now = max(self._simulated_now, ready._scheduled[0].when())
        super()._run_once()  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Row:
    """The latencies of a setting in seconds, its dollars for a thousand turns, and its share of turns with help."""

    wait: float | str | None
    worth: float | None
    latencies: tuple[float, ...]
    dollars: float
    helped: float

    def quantile(self, share: float) -> float:
        return sorted(self.latencies)[math.ceil(share * len(self.latencies)) - 1]


def latencies(draw: random.Random, *, slow: float) -> Iterator[float]:
    """Yields the seconds of answers. `slow` is the share of answers of about 15 s."""
    while True:
        yield draw.lognormvariate(math.log(15), 0.6) if draw.random() < slow else draw.lognormvariate(math.log(2), 0.4)


def answers(seconds: Callable[[], float], is_poor: Callable[[], bool]) -> Callable[[ModelRequest], dict[str, Any]]:
    return lambda request: {"delay": seconds(), "say": "" if is_poor() else GOOD}


def priced_caller(answer: Callable[[ModelRequest], dict[str, Any]], name: str, price: TokenPrice) -> ProviderCaller:
    terms = CallTerms(TokenPrice(price.input, price.output, stated=True))
    return ProviderCaller(ScriptedClient(answer, loop=True), name, terms, retry=None)


async def measure(
    wait: float | str | None,
    poor: float,
    worth: float | None = None,
    request: ModelRequest = REQUEST,
    price: TokenPrice = LARGE,
) -> Row:
    draw, other = random.Random(SEED), random.Random(SEED + 1)  # noqa: S311
    own = latencies(draw, slow=0.1)
    small = priced_caller(answers(lambda: next(own), lambda: draw.random() < poor), "small", SMALL)
    large = priced_caller(answers(lambda: other.lognormvariate(math.log(3), 0.4), lambda: False), "large", price)
    hedge = None if wait is None else Hedge(wait, worth)
    pair = takeover.create(small, large, stuck_detector=StuckDetector(max_retries=1), hedge=hedge)
    clock, taken, dollars, helped = asyncio.get_running_loop().time, list[float](), 0.0, 0
    for _ in range(TURNS):
        begun = clock()
        response = await pair.complete(request, log := EventLog())
        taken.append(clock() - begun)
        dollars += response.usage.cost_usd or 0.0
        helped += any(isinstance(event, HelpAsked) for event in log.events)
    return Row(wait, worth, tuple(taken), 1_000 * dollars / TURNS, helped / TURNS)


def show(rows: list[Row], title: str) -> None:
    print(f"\n{title}\n")
    print("| `wait` | p50 | p95 | p99 | Helped | Dollars per 1,000 turns | p95 against no hedge | More dollars |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        p50, p95, p99 = (f"{row.quantile(share):.1f} s" for share in (0.5, 0.95, 0.99))
        faster = row.quantile(0.95) / rows[0].quantile(0.95)
        more = f"{row.dollars / rows[0].dollars - 1:+.0%}"
        name = f"worth {row.worth:g} a second" if row.worth else row.wait or "none"
        print(f"| {name} | {p50} | {p95} | {p99} | {row.helped:.1%} | {row.dollars:.2f} | {faster:.2f} | {more} |")


def main() -> None:
    long = replace(REQUEST, system="The harbour is old. " * 600)
    with asyncio.Runner(loop_factory=SimulatedTimeLoop) as runner:
        for poor in POOR_SHARES:
            show([runner.run(measure(wait, poor)) for wait in WAITS], f"{poor:.0%} of the answers are poor")
        for name, price in (("cold", LARGE), ("warm", TokenPrice(LARGE.input / 10, LARGE.output))):
            weighed = [measure("p80", 0.2, worth, long, price) for worth in WORTHS]
            rows = [runner.run(each) for each in (measure(None, 0.2, None, long, price), *weighed)]
            show(rows, f"20% of the answers are poor, long requests that are {name}")


if __name__ == "__main__":
    main()
