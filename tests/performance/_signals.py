"""Measures the CPU of the signals of a conversation with 150 words a turn."""

import time

from ai_battle.signals.conversation import ConversationSignals
from research.steering import dialogues

WORDS = 150


def per_turn(turns: int) -> float:
    """Returns the milliseconds that a turn takes after `turns` others, the median of 100."""
    fold = ConversationSignals(turns)
    fold.open("Should the city close the old bridge to cars?")
    spoken = [word for each in dialogues() if each.language != "zh" for turn in each.turns for word in turn.split()]
    times = []
    for n in range(turns + 100):
        start = n * 37 % (len(spoken) - WORDS)
        text = " ".join(spoken[start : start + WORDS])
        began = time.process_time()
        fold.measure("AB"[n % 2], text).figures()
        fold.add("AB"[n % 2], text)
        times.append((time.process_time() - began) * 1e3)
    return sorted(times[-100:])[50]
