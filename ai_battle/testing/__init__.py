"""Tests without a network: fake providers that implement the real APIs, scripted models, a contract for clients.

    async with FakeProviders() as fakes:
        fakes.openai.says("Hello!", call("add", a=1, b=2), fault("stall_mid_stream"), "Here I am again.")
        os.environ.update(fakes.environment)
        ...                                    # run the code under test
        print(fakes.openai.requests[-1].body)

`FAULTS` lists the faults, each with a sentence. `python -m ai_battle.testing` runs the fakes for a shell.
"""

from ..providers.scripted import ScriptedClient
from . import contract
from .apis import ModelCard, Reply, call, reply
from .faults import FAULTS, Fault, fault
from .servers import FakeProvider, FakeProviders, ReceivedRequest

__all__ = [
    "FAULTS",
    "FakeProvider",
    "FakeProviders",
    "Fault",
    "ModelCard",
    "ReceivedRequest",
    "Reply",
    "ScriptedClient",
    "call",
    "contract",
    "fault",
    "reply",
]
