"""Exports a run as training data: each participant's conversation, and answers paired with poorer drafts.

Both use the JSON Lines of OpenAI's fine-tuning: https://platform.openai.com/docs/guides/supervised-fine-tuning and
https://platform.openai.com/docs/guides/direct-preference-optimization
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import from_json, to_json

from ..conversation.person import keyboard
from ..conversation.prompting import Naming, View, naming, system_prompt
from ..conversation.reading import read
from ..conversation.run_config import config_without_models
from ..conversation.setup import FileSetup, load_checked
from ..core.errors import ConfigError
from ..core.events import PromptGiven, RunStarted, TurnFinished, TurnStarted
from ..core.exchange import ModelRequest, ToolSpec, estimate_message
from ..core.helping import MOST_CHARACTERS, DraftDropped
from ..core.messages import Document, Message, Part, Text, Thinking
from ..core.tooling import ToolsOffered
from ..providers.person import NAME as PERSON
from ..wire.openai import encode_request
from .sentences import attachment

EXAMPLE_TOKENS = 32_000
"""Estimated tokens of an example. A longer discussion becomes several, each starting with the prompt."""
PLAIN_NAMES: Naming = "plain"
PREFIXED: Naming = "prefixed"
ANY_OBJECT = {"type": "object"}
"""The parameters of a tool that was called but not offered, so that its schema is unknown."""


def documents_of(run_dir: Path, *, as_pairs: bool) -> Iterator[Mapping[str, Any]]:
    """Yields the documents that `examples` or `pairs` write, if there are any."""
    learners = _Learners(run_dir)
    return learners.pairs() if as_pairs else learners.examples()


def examples(run_dir: Path) -> Iterator[str]:
    """Yields a line for each model: its turns are the assistant's, all other messages the user's.

    Raises `ConfigError` if no model has answered.
    """
    return _require(_Learners(run_dir).examples(), f"{run_dir} has nothing to train on: no model has answered in it.")


def pairs(run_dir: Path) -> Iterator[str]:
    """Yields a line for each answer with a draft of its turn that was judged poorer, and the messages before them.

    Turns whose answer used tools are left out: their results are not in the request that the draft answers. Raises
    `ConfigError` if there are none.
    """
    why = "in none of its turns was a draft found poorer than the answer, or its journal was written without drafts"
    return _require(_Learners(run_dir).pairs(), f"{run_dir} has no pairs: {why}.")


def _require(documents: Iterator[Mapping[str, Any]], error: str) -> Iterator[str]:
    """Returns the documents as lines. Raises `ConfigError` right away if there are none."""
    first = next(documents, None)
    if first is None:
        raise ConfigError(error)
    return (to_json(document).decode() + "\n" for document in chain((first,), documents))


@dataclass(slots=True)
class _Learner:
    """The conversation as one participant saw it, since its example began."""

    name: str
    system: str
    naming: Naming
    tools: tuple[ToolSpec, ...] = ()
    drafts: list[str] = field(default_factory=list)
    has_answered: bool = False
    _view: View = field(init=False)
    _tokens: int = 0

    def __post_init__(self) -> None:
        self.begin(())

    def begin(self, opening: Iterable[Message]) -> None:
        self._view, self._tokens, self.has_answered = View(self.name, self.naming), 0, False
        for message in opening:
            self.append(message)

    def hear(self, turn: TurnFinished) -> None:
        if turn.is_heard_by(self.name):
            for message in (*turn.steps, turn.message):
                self.append(message)

    def append(self, message: Message) -> None:
        self._view.append(message)
        self._tokens += estimate_message(message)
        self.has_answered = self.has_answered or (message.speaker == self.name and message.role == "assistant")

    @property
    def is_full(self) -> bool:
        return self._tokens > EXAMPLE_TOKENS and self.has_answered

    def note(self, event: TurnStarted | ToolsOffered | DraftDropped) -> None:
        match event:
            case TurnStarted():
                self.drafts.clear()
            case ToolsOffered(tools=tools):
                self.tools = tools
            case DraftDropped(text=text) if _is_judged_answer(event):
                self.drafts.append(text)

    def body(self, *, answered: bool) -> dict[str, Any]:
        """Returns the request of the next turn, or, if `answered`, everything up to the last answer."""
        messages = self._view.messages
        while answered and messages and (messages[-1].role != "assistant" or messages[-1].tool_calls):
            messages = messages[:-1]
        tools = {**_called_tools(messages), **{tool.name: tool for tool in self.tools}}
        plain = tuple(Message(each.role, tuple(_parts(each))) for each in messages)
        request = ModelRequest(plain, self.system, tools=tuple(tools.values()))
        body = from_json(encode_request(request, ""))
        return {key: body[key] for key in ("messages", "tools") if key in body}


def _called_tools(messages: Sequence[Message]) -> Mapping[str, ToolSpec]:
    return {call.name: ToolSpec(call.name, "", ANY_OBJECT) for each in messages for call in each.tool_calls}


class _Learners:
    """Follows a run with one learner for each model. Holds one example of each in memory."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._learners: dict[str, _Learner] = {}
        self._opening: tuple[Message, ...] = ()

    def examples(self) -> Iterator[dict[str, Any]]:
        for turn in self._turns():
            yield from (full.body(answered=True) for full in self._hear(turn))
        yield from (each.body(answered=True) for each in self._learners.values() if each.has_answered)

    def pairs(self) -> Iterator[dict[str, Any]]:
        for turn in self._turns():
            learner = self._learners.get(turn.speaker)
            if learner and not turn.steps:
                answer = turn.message.text
                for draft in dict.fromkeys(each for each in learner.drafts if each.strip() != answer.strip()):
                    body = learner.body(answered=False)
                    yield {
                        "input": body,
                        "preferred_output": answer_of(answer),
                        "non_preferred_output": answer_of(draft),
                    }
            for _ in self._hear(turn):
                pass

    def _turns(self) -> Iterator[TurnFinished]:
        """Yields each turn before it is heard, while its speaker's learner still has the turn's drafts and tools."""
        for _, event in read(self._run_dir):
            match event:
                case RunStarted():
                    self._learners = {each.name: each for each in _learners(event)}
                case PromptGiven(message=message):
                    self._open(message)
                case TurnFinished():
                    yield event
                case TurnStarted() | ToolsOffered() | DraftDropped() if learner := self._learners.get(event.speaker):
                    learner.note(event)

    def _open(self, message: Message) -> None:
        self._opening = (message,)
        for learner in self._learners.values():
            learner.begin(self._opening)

    def _hear(self, turn: TurnFinished) -> Iterator[_Learner]:
        """Yields learners whose example is full, before they start the next one."""
        for learner in self._learners.values():
            learner.hear(turn)
            if learner.is_full:
                yield learner
                learner.begin(self._opening)


def _is_judged_answer(draft: DraftDropped) -> bool:
    """Checks whether a draft is a complete answer of the model itself that lost against another one."""
    return bool(draft.attempt and draft.text and not draft.calls_tools and len(draft.text) <= MOST_CHARACTERS)


def _learners(started: RunStarted) -> Iterator[_Learner]:
    """Yields the learners with the system prompts of their configuration. A run from Python has none."""
    systems, names = dict[str, str](), PLAIN_NAMES if len(started.participants) == 2 else PREFIXED
    if config := started.settings.get("config"):
        plan = FileSetup.of(load_checked(config_without_models(yaml.safe_load(str(config)))), keyboard).build({}).plan
        systems, names = {each.name: system_prompt(plan, each) for each in plan.participants}, naming(plan)
    for name, type_ in started.participants.items():
        if type_ != PERSON:
            yield _Learner(name, systems.get(name, ""), names)


def _parts(message: Message) -> Iterator[Part]:
    """Yields the parts that fine-tuning accepts. Documents become a description; thinking is left out."""
    for part in message.parts:
        if isinstance(part, Document):
            yield Text(f"[{attachment(part)}]")
        elif not isinstance(part, Thinking):
            yield part


def answer_of(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]
