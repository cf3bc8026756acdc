"""The values that the detector takes and returns: the context of an answer, and its assessment."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from ..core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec
from ..core.messages import Message, ToolCall, ToolResult
from ..signals.progress import ToolStep

_TAG = re.compile(r"<([a-z][\w-]{0,40})>")
NOTHING_BROUGHT: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Context:
    """The turn of an answer, and what else is known about it.

    `steps` are the tool calls and results since the prompt, wherever they ran, and the calls of the answer itself.
    `logprobs` are natural logarithms, `history` the messages before the prompt, `evidence` the signals from judges,
    checks and peers.
    """

    tools: tuple[ToolSpec, ...] = ()
    steps: tuple[Message, ...] = ()
    stop: Stop = "end"
    logprobs: tuple[float, ...] = ()
    history: tuple[Message, ...] = ()
    output_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    evidence: Mapping[str, float] = field(default_factory=dict, hash=False)
    prompt: str = ""

    @classmethod
    def of(
        cls,
        request: ModelRequest,
        response: ModelResponse | None = None,
        evidence: Mapping[str, float] = NOTHING_BROUGHT,
    ) -> Self:
        """Returns the turn of an answer to `request`; without `response`, of an answer known only by its text."""
        messages, place = request.messages, prompt_place(request.messages)
        answer = (*response.steps, response.message) if response else ()
        return cls(
            request.tools,
            tuple(step for step in (*messages[place + 1 :], *answer) if step.tool_calls or step.tool_results),
            response.stop if response else "end",
            history=messages[:place],
            output_schema=request.output_schema,
            evidence=evidence,
            prompt="".join(message.text for message in messages[place : place + 1]),
        )

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """What the tools have returned since the prompt."""
        return tuple(result for step in self.steps for result in step.tool_results)

    @property
    def own_calls(self) -> tuple[ToolCall, ...]:
        """The native calls of the answer itself, which have no results yet."""
        return self.steps[-1].tool_calls if self.steps else ()


def steps_of(messages: Iterable[Message]) -> tuple[ToolStep, ...]:
    """Returns the calls that have results, in order, with these results."""
    return tuple(
        ToolStep(f"{result.call.name} {_arguments_text(result.call)}", result.text, result.is_error)
        for message in messages
        for result in message.tool_results
    )


def _arguments_text(call: ToolCall) -> str:
    """Returns the arguments as JSON; malformed ones as they came."""
    return call.malformed or json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)


def prompt_place(messages: Sequence[Message]) -> int:
    """Returns the place of the prompt: the last user message with more than tool results.

    Skips what a client adds to results for the model's eyes, such as <system-reminder>...</system-reminder>.
    """
    prompts = (
        place for place in reversed(range(len(messages))) if _is_prompt(*messages[max(0, place - 1) : place + 1])
    )
    return next(prompts, len(messages))


def _is_prompt(*messages: Message) -> bool:
    """Checks whether the last of two messages is a prompt."""
    before, message = messages[0], messages[-1]
    if message.role != "user":
        return False
    text = message.text.strip()
    tag = _TAG.match(text)
    is_added = bool(before.tool_results) and tag is not None and text.endswith(f"</{tag[1]}>")
    return bool(text or not message.tool_results) and not is_added


NO_CONTEXT = Context()


@dataclass(frozen=True, slots=True)
class Assessment:
    """How good an answer is likely to be.

    `quality` is the probability that it is right, `gain` how much likelier a helper is right. `signals` are the
    measures that speak, `reason` one sentence for people. `at_once`: a hard check failed, and the same model is not
    worth another attempt. `report` is a check's finding, as data for models, and `fact` what running showed about the
    prompt itself.
    """

    quality: float
    gain: float
    stuck: bool
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    reason: str = ""
    at_once: bool = False
    report: str = ""
    fact: str = ""
