"""When there is nothing more to say: all agree, or what is said adds nothing."""

from collections.abc import Sequence

from ..core.messages import Message
from ..signals.agreement import agrees, parts
from ..signals.novelty import novelty

LITTLE = 0.25
UNINFORMATIVE = 4


def consensus(recent: Sequence[Message]) -> bool:
    """The last message of every voice agrees and leaves nothing open, or only says goodbye; courtesies among those who
    have said nothing else yet do not count."""
    voices = {message.speaker for message in recent}
    last = recent[-max(2, len(voices)) :]
    earlier = {message.speaker for message in recent[: -len(last)]}
    if len({message.speaker for message in last}) < 2 or not voices <= earlier:
        return False
    return all(agrees(message.text) or parts(message.text) for message in last)


def no_novelty(recent: Sequence[Message]) -> bool:
    """Four messages in a row that add next to nothing to the messages before them, or only say goodbye."""
    texts = [message.text for message in recent]
    if len(texts) <= UNINFORMATIVE:
        return False
    latest = range(len(texts) - UNINFORMATIVE, len(texts))
    return all(parts(texts[i]) or novelty(texts[i], texts[:i]) < LITTLE for i in reversed(latest))
