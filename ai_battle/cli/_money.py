"""Tokens, dollars and durations as people read them."""

from ai_battle.core.exchange import Usage
from ai_battle.core.texts import about


def dollars(cost: float | None) -> str:
    """`$0.0123`; never a zero for what is not known."""
    if cost is None:
        return "cost unknown"
    if 0 < cost < 0.0001:
        return "under $0.0001"
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def count(number: int) -> str:
    return f"{number / 1000:.1f}k" if number >= 10_000 else str(number)


def tokens(usage: Usage) -> str:
    """With a mark where any of them are estimated."""
    mark = about(estimated=usage.estimated)
    return f"{mark}{count(usage.input_tokens)} in, {count(usage.output_tokens)} out"


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
