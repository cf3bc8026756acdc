"""What is judged, and the judgement."""

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
    """The turn that an answer belongs to, and what else is known of it beside its text.

    `steps` are the tool calls and results since the prompt, wherever they ran, and the calls of the answer itself;
    `logprobs` the natural logarithms of its tokens' probabilities, `history` the messages before the prompt, `prompt`
    what was asked, `evidence` the signals of others who looked at the answer.
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
        """The turn of an answer to `request`; without `response`, of an answer whose text alone is known."""
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
        """The native calls of the answer itself: nothing has been returned to them yet."""
        return self.steps[-1].tool_calls if self.steps else ()


def steps_of(messages: Iterable[Message]) -> tuple[ToolStep, ...]:
    """Returns what was called and what came back, in order; calls that nothing has answered yet are no steps."""
    return tuple(
        ToolStep(f"{result.call.name} {_arguments_text(result.call)}", result.text, result.is_error)
        for message in messages
        for result in message.tool_results
    )


def _arguments_text(call: ToolCall) -> str:
    """The arguments as JSON; those that were none, as they came."""
    return call.malformed or json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)


def prompt_place(messages: Sequence[Message]) -> int:
    """The place of the prompt: the last message of a user that is more than results of tools.

    Nor is it what a client adds to results for the model's eyes, such as <system-reminder>...</system-reminder>.
    """
    prompts = (
        place for place in reversed(range(len(messages))) if _is_prompt(*messages[max(0, place - 1) : place + 1])
    )
    return next(prompts, len(messages))


def _is_prompt(*messages: Message) -> bool:
    """Checks whether the last of two messages is one."""
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

    `quality` is the probability that it is right, `gain` how much more likely a helper is right than this answer;
    `signals` are the measures that speak, by name; `reason` is one sentence for people. `at_once`: a hard check
    failed, and no further attempt of the same model is worth its price. `report` is what a check has said of it, as
    data for models, and `fact` what running has shown of the prompt itself.
    """

    quality: float
    gain: float
    stuck: bool
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    reason: str = ""
    at_once: bool = False
    report: str = ""
    fact: str = ""
