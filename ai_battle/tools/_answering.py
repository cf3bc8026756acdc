"""One answer in the making: what was asked, what was done so far, and what is asked next."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Message, Part, Text, ToolCall, ToolResult, user
from ._leaks import Wishes
from .formats.answers import results_in


@cache
def prompt(name: str) -> str:
    """The packaged prompt `prompts/<name>.md`."""
    return files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()


class Answering:
    """All that is kept between the rounds of one answer; `asides` go with the next request alone."""

    def __init__(self, request: ModelRequest) -> None:
        self.steps: list[Message] = []
        self.results: list[ToolResult] = []
        self.asides: tuple[Message, ...] = ()
        self._request = request
        self._ids = {call.id for message in request.messages for call in message.tool_calls}

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said before, and the calls and results since."""
        return (*self._request.messages, *self.steps)

    def offering(self, specs: tuple[ToolSpec, ...]) -> ModelRequest:
        """The next request with tools; which one has to be called is settled by the first answer."""
        asides, self.asides = self.asides, ()
        return replace(
            self._request,
            messages=(*self.messages, *asides),
            system=_joined(self._request.system, prompt("data") if specs or self.steps else ""),
            tools=specs,
            tool_choice="auto" if self.steps or asides or not specs else self._request.tool_choice,
        )

    def summing_up(self) -> ModelRequest:
        """The last request: no tools are in sight, and none is asked for. Where none returned anything, it says so."""
        is_found = any(not result.is_error for result in self.results)
        last = user(prompt("continue" if is_found else "nothing"))
        return replace(
            self._request,
            messages=(*self.messages, last),
            system=_joined(self._request.system, prompt("summarise") if is_found else ""),
            tools=(),
            tool_choice="auto",
        )

    @property
    def quotable(self) -> tuple[ToolResult, ...]:
        """What tools returned, in this answer or before it."""
        return (*results_in(self._request.messages), *self.results)

    def called(self, response: ModelResponse, wished: Wishes) -> tuple[ToolCall, ...]:
        """Takes the model's message with the calls in it, each under an id of its own."""
        calls = tuple(map(self._identified, wished.calls))
        parts = (*_without_text(response), Text(wished.prose)) if not response.tool_calls else response.message.parts
        self.steps += (*response.steps, replace(response.message, parts=tuple(_with_calls(parts, calls))))
        return calls

    def returned(self, results: tuple[ToolResult, ...]) -> None:
        self.results += results
        self.steps.append(Message("tool", results))

    def finished(self, response: ModelResponse) -> ModelResponse:
        """The answer, with the steps on the way to it."""
        return replace(response, steps=(*self.steps, *response.steps))

    def _identified(self, call: ToolCall) -> ToolCall:
        if not call.id or call.id in self._ids:
            number = len(self._ids) + 1
            while (made := f"call_{number}") in self._ids:
                number += 1
            call = replace(call, id=made)
        self._ids.add(call.id)
        return call


def _with_calls(parts: Iterable[Part], calls: Iterable[ToolCall]) -> Iterator[Part]:
    """The parts with these calls in place of their own; those that are no part come last."""
    waiting = list(calls)
    for part in parts:
        if not isinstance(part, Text) or part.text:
            yield waiting.pop(0) if isinstance(part, ToolCall) else part
    yield from waiting


def _without_text(response: ModelResponse) -> Iterator[Part]:
    return (part for part in response.message.parts if not isinstance(part, Text | ToolCall))


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def told(results: Iterable[ToolResult]) -> str:
    """What tools returned, in words, where the model found none; nothing where they only failed."""
    found = (f"{result.call.name} returned: {result.text}" for result in results if not result.is_error)
    return "\n\n".join(dict.fromkeys(found))


def only_text(response: ModelResponse, text: str) -> ModelResponse:
    """The response with `text` as all that it says; what was thought stays."""
    parts = (*_without_text(response), Text(text)) if text else tuple(_without_text(response))
    return replace(response, message=replace(response.message, parts=parts), stop="end")
