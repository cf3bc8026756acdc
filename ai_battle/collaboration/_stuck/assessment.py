"""What is judged, and the judgement."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ...core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec
from ...core.messages import Message

NOTHING_BROUGHT: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of an answer beside its text.

    `steps` are the tool calls and results on the way to it, `logprobs` the natural logarithms of its tokens'
    probabilities, `history` the messages before the prompt, `evidence` the signals of others who looked at the answer.
    """

    tools: tuple[ToolSpec, ...] = ()
    steps: tuple[Message, ...] = ()
    stop: Stop = "end"
    logprobs: tuple[float, ...] = ()
    history: tuple[Message, ...] = ()
    output_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    evidence: Mapping[str, float] = field(default_factory=dict, hash=False)

    @classmethod
    def of(
        cls,
        request: ModelRequest,
        response: ModelResponse | None = None,
        evidence: Mapping[str, float] = NOTHING_BROUGHT,
    ) -> Self:
        """The context of an answer to `request`; without `response`, of an answer whose text alone is known."""
        steps = (*response.steps, response.message) if response else ()
        return cls(
            request.tools,
            tuple(step for step in steps if step.tool_calls or step.role == "tool"),
            response.stop if response else "end",
            history=request.messages[:-1],
            output_schema=request.output_schema,
            evidence=evidence,
        )


NO_CONTEXT = Context()


@dataclass(frozen=True, slots=True)
class Assessment:
    """How good an answer is likely to be.

    `quality` is the probability that it is right, `gain` how much more likely a helper is right than this answer;
    `signals` are the measures that speak, by name; `reason` is one sentence for people. `at_once`: a hard check
    failed, and no further attempt of the same model is worth its price. `report` is what a check has said of it, as
    data for models.
    """

    quality: float
    gain: float
    stuck: bool
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    reason: str = ""
    at_once: bool = False
    report: str = ""
