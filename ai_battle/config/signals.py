"""The schema of `signals:` which measures are faults of a conversation, and what a participant is then told."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from .values import Count, Flag, Listed, Section, Share, Short

SteeringStep: TypeAlias = Literal["hint", "stronger", "template"]


def _written_out(written: Any) -> Any:
    return {"enabled": written} if isinstance(written, bool | str) else written


class SignalThresholds(Section):
    """A measure above its threshold is a fault; 1 is never passed."""

    repetition: Share = Field(default=0.5, description="The last turns say what had been said.")
    agreement: Share = Field(default=0.7, description="The last turns agree and praise without reservation.")
    drift: Share = Field(default=0.7, description="The last turns have left what the conversation opened with.")
    formulaic: Share = Field(default=0.6, description="The last turns are stock phrases in one pattern.")


class Signals(Section):
    """Measures of the conversation, and what is done about its faults; false turns all of it off."""

    enabled: Flag = Field(default=True, description="Measures the turns.")
    thresholds: SignalThresholds = Field(
        default=SignalThresholds(), description="From where on a measure is a fault.", examples=[{"repetition": 0.7}]
    )
    steps: Listed[SteeringStep] = Field(
        default=("hint", "stronger", "template"),
        description="What a participant gets, one after another, while a fault stays: a hint, a stronger one, the "
        "instructions of another template. An empty list measures only.",
    )
    cool_down: Count = Field(
        default=3, description="Turns of the participant without a word on a fault that it was told of."
    )


AnySignals = Annotated[Signals, Short(_written_out, {"type": "boolean"})]
