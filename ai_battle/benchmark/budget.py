"""The limit of dollars: a sample begins only when what it may cost still fits."""

from dataclasses import dataclass, field

MARGIN = 1.5
"""A sample may cost this many times what the dearest of its setting has cost so far."""

KNOWN = 5
"""So many samples of a setting say what one may cost; before that, the forecast says it."""


@dataclass(slots=True)
class Budget:
    """`limit` in dollars, None for none; `expected` is what a sample of each setting may cost, by forecast.

    What a sample may cost is set aside while it runs, so samples at once can't run over the limit together; a sample
    that costs more than was set aside can, by the difference.
    """

    limit: float | None
    expected: dict[str, float]
    spent: float = 0.0
    aside: float = 0.0
    _dearest: dict[str, float] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)

    def may_cost(self, setting: str) -> float:
        if self._seen.get(setting, 0) >= KNOWN:
            return self._dearest[setting] * MARGIN
        return max(self.expected.get(setting, 0.0), self._dearest.get(setting, 0.0) * MARGIN)

    def set_aside(self, setting: str) -> float | None:
        """What is set aside for one sample; None when it does not fit beside what is spent and set aside."""
        amount = self.may_cost(setting)
        if self.limit is not None and (self.spent >= self.limit > 0 or self.spent + self.aside + amount > self.limit):
            return None
        self.aside += amount
        return amount

    def settle(self, setting: str, amount: float, cost: float) -> None:
        """A sample for which `amount` was set aside has cost this."""
        self.aside = max(0.0, self.aside - amount)
        self.spent += cost
        self._seen[setting] = self._seen.get(setting, 0) + 1
        self._dearest[setting] = max(self._dearest.get(setting, 0.0), cost)
