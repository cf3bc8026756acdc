"""Takeover: where the small model is stuck, the helper answers this turn in its place, with the real tools."""

from dataclasses import replace

from ..core.client import ModelClient
from ..core.exchange import ModelRequest, ModelResponse
from ._drafts import Draft
from ._examining import Judges
from ._helping import Helping, Sees, Turn
from ._paired import Pair, Paired
from ._prompts import filled, marked
from ._seeing import Case, done, with_note
from ._trying import Trying

DRAFTS_ALONE = True
"""The small model's own answer comes first, and nothing beside it: it may be read before it is judged."""
MEASURED = (
    "GSM8K, Mixtral-8x7B with GPT-4, 803 recorded answers: 78.3 % are right with 21 % of them taken over, "
    "where the small model alone has 63.9 %, the large one 84.8 %, and taking over at random 68.3 %"
)

CALLS_AGAIN = "it only makes calls again that have their results"


async def take_over(own: Trying, helper: ModelClient) -> ModelResponse:
    """The helper's answer; the best own one when it has none."""
    answer = await answer_in_place(own, helper)
    return await own.turn.accept(answer) if answer else await own.accept()


async def answer_in_place(own: Trying, helper: ModelClient) -> Draft | None:
    """The helper's answer, with the best own one dropped for it."""
    answer = await ask_in_place(own.turn, helper, own.case)
    if answer:
        await own.drop()
    return answer


async def ask_in_place(turn: Turn, helper: ModelClient, case: Case) -> Draft | None:
    """The helper's answer; None where it has none, or would turn an answer back into the calls that led to it."""
    answer = await turn.ask(helper, in_its_place(case, turn.helping.sees), case.reason)
    if answer and case.calls_again(answer.response):
        await turn.drop(answer, CALLS_AGAIN)
        await turn.failed(CALLS_AGAIN)
        return None
    return answer


def in_its_place(case: Case, sees: Sees) -> ModelRequest:
    """The request as the helper gets it: what it may see, with the tools, and with what was done with them so far."""
    request = case.request
    if sees != "history":
        end = case.place + 1 if sees == "prompt" else None
        request = replace(request, messages=request.messages[case.place : end], system="", extra={})
    if sees != "prompt" and (steps := done(case)):
        request = with_note(request, filled("done", steps=steps))
    return with_its_own_options(noting(request, case.fact))


def noting(request: ModelRequest, fact: str) -> ModelRequest:
    """The request with what running has shown of its prompt, as data."""
    return with_note(request, filled("ran", fact=marked("check", fact))) if fact else request


def with_its_own_options(request: ModelRequest) -> ModelRequest:
    """Without those that were chosen for the small model; what ends or bounds an answer does so with this one too."""
    kept = {name: value for name, value in request.options.items() if name in ("stop", "max_tokens")}
    return replace(request, options=kept)


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    return Paired(Pair.of(primary, secondary, stuck_detector, helping), "takeover", take_over)
