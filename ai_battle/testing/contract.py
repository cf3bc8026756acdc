"""The contract of every `ModelClient`, as checks that you can run on your own client.

    @pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
    async def test_my_client_keeps_the_contract(check):
        await check(contract.Subject(answers=MyClient, fails=lambda: MyClient(url=BROKEN), stalls=lambda: ...))

A wrapper around other clients needs no provider: test `contract.wrapper(lambda inner: MyWrapper(inner))`.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.events import EventLog
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import user
from ..providers.scripted import ScriptedClient

SECONDS_TO_CANCEL = 1.0
Factory = Callable[[], ModelClient]
T = TypeVar("T")


@dataclass(frozen=True)
class Subject:
    """A client in three situations, each created by a function.

    `answers` has a model that answers with a text, `fails` one whose provider always fails, `stalls` one that never
    answers. Without one of the last two, its check passes unchecked. `request` is sent to the client.
    """

    answers: Factory
    fails: Factory | None = None
    stalls: Factory | None = None
    request: ModelRequest = field(default_factory=lambda: ModelRequest((user("Hello?"),), system="Be brief."))


Check = Callable[[Subject], Awaitable[None]]


async def answers_as_assistant(subject: Subject) -> None:
    """Checks that there is an answer with content, in the role of the assistant."""
    client = subject.answers()
    response = await _closing(client, client.complete(subject.request))
    assert isinstance(response, ModelResponse), f"complete() must return a ModelResponse, not {response!r}"
    assert response.message.role == "assistant", f"the answer's role is {response.message.role!r}"
    assert response.text or response.tool_calls, "the answer has neither text nor tool calls"


async def deltas_add_up_to_the_answer(subject: Subject) -> None:
    """Checks that the text deltas since the last failed attempt add up to the answer's text."""
    client = subject.answers()
    response = await _closing(client, client.complete(subject.request, log := EventLog()))
    assert log.text == response.text, f"the deltas say {log.text!r}, the answer {response.text!r}"


async def leaves_the_request_unchanged(subject: Subject) -> None:
    """Checks that the client changes neither the request nor anything inside it."""
    client, before = subject.answers(), copy.deepcopy(subject.request)
    await _closing(client, client.complete(subject.request))
    assert subject.request == before, "the request was changed"


async def answers_several_at_once(subject: Subject) -> None:
    """Checks that concurrent calls receive only their own deltas."""
    client, logs = subject.answers(), [EventLog() for _ in range(3)]
    answers = asyncio.gather(*(client.complete(subject.request, log) for log in logs))
    for log, response in zip(logs, await _closing(client, answers), strict=True):
        assert log.text == response.text, "calls made at once hear each other's deltas"


async def a_failing_provider_raises_provider_error(subject: Subject) -> None:
    """Checks that a failure is an exception, and never an answer that describes it."""
    if subject.fails is None:
        return
    client = subject.fails()
    try:
        response = await _closing(client, client.complete(subject.request))
    except ProviderError:
        return
    raise AssertionError(f"the provider failed, and the client answered {response.text!r}")


async def cancelling_leaves_nothing_running(subject: Subject) -> None:
    """Checks that a cancelled call ends at once, with all tasks that it started."""
    if subject.stalls is None:
        return
    client, before = subject.stalls(), asyncio.all_tasks()
    call = asyncio.ensure_future(client.complete(subject.request))
    await asyncio.sleep(0.05)
    assert not call.done(), f"a client that stalls has answered: {call}"
    call.cancel()
    await asyncio.wait([call], timeout=SECONDS_TO_CANCEL)
    assert call.done(), f"still running {SECONDS_TO_CANCEL} s after it was cancelled"
    assert call.cancelled(), "a cancelled call must raise CancelledError"
    await client.aclose()
    if left := asyncio.all_tasks() - before:
        _, left = await asyncio.wait(left, timeout=SECONDS_TO_CANCEL)
    assert not left, f"still running: {left}"


CHECKS: tuple[Check, ...] = (
    answers_as_assistant,
    deltas_add_up_to_the_answer,
    leaves_the_request_unchanged,
    answers_several_at_once,
    a_failing_provider_raises_provider_error,
    cancelling_leaves_nothing_running,
)


def name_of(check: object) -> str:
    """Returns the name of a check for a test report."""
    return getattr(check, "__name__", str(check))


def wrapper(wrap: Callable[[ModelClient], ModelClient], *says: str) -> Subject:
    """Returns the subject for a client that wraps another: scripted, failing and silent models."""
    script = says or ("A plain answer, in several words.",)
    return Subject(
        answers=lambda: wrap(ScriptedClient(*script, loop=True)),
        fails=lambda: wrap(ScriptedClient({"fail": "not_found"}, loop=True)),
        stalls=lambda: wrap(ScriptedClient({"say": "Too late.", "delay": 1e6}, loop=True)),
    )


async def _closing(client: ModelClient, work: Awaitable[T]) -> T:
    try:
        return await work
    finally:
        await client.aclose()
