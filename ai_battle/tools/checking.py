"""A tool that tells whether an answer holds: it runs the code of the answer, or it is a check of the user's own."""

import json
from collections.abc import Mapping
from typing import Any

from ..core.errors import ToolError
from ..core.events import Emit
from ..core.helping import AnswerChecked
from ..core.messages import ToolCall, ToolResult
from ..signals.code import code_blocks
from .approval import Consent
from .calls import CallRunner, RunnerLimits
from .manager import ToolManager

RUNNABLE = ("python", "javascript", "bash")
SHOWN = 2_000
GIVEN = ("prompt", "answer", "code", "language")


class ToolCheck:
    """The tool `name` of `manager` as a check; a call is allowed, counted and heard of like one of a model.

    It is given those of `prompt`, `answer`, `code` and `language` that it has parameters for. A tool that returns
    `passed` (true, false or a share) judges by that, any other by its `exit_code`.
    """

    def __init__(self, name: str, manager: ToolManager, limits: RunnerLimits, consent: Consent | None = None) -> None:
        self.name = name
        self._manager = manager
        self._limits = limits
        self._consent = consent

    async def __call__(self, prompt: str, answer: str, emit: Emit) -> tuple[AnswerChecked, str] | None:
        """What was found, and the report of a failure; None for an answer without code, where the tool runs code.

        Raises `ToolError` for a call that brought no result.
        """
        wanted = self._parameters()
        given = {"prompt": prompt, "answer": answer, **_program(answer)}
        if "code" in wanted and "code" not in given:
            return None
        call = ToolCall(self.name, {name: given[name] for name in GIVEN if name in wanted and name in given}, "check")
        (result,) = await CallRunner(self._manager, self._limits, emit, self._consent).run((call,))
        return _judgement(self.name, _fields(result))

    def _parameters(self) -> Mapping[str, Any]:
        if self.name not in self._manager.registry:
            raise ToolError(f"there is no tool {self.name!r} to check answers with")
        wanted: Mapping[str, Any] = self._manager.registry.spec(self.name).schema.get("properties") or {}
        if not {"answer", "code"} & {*wanted}:
            raise ToolError(f"{self.name} checks no answers: it has neither a parameter 'answer' nor 'code'")
        return wanted


def _program(answer: str) -> dict[str, str]:
    """The code of an answer, in the first of the languages that it has some in."""
    blocks = code_blocks(answer)
    for language in RUNNABLE:
        if code := "\n\n".join(code for named, code in blocks if named == language):
            return {"code": code, "language": language}
    return {}


def _fields(result: ToolResult) -> Mapping[str, Any]:
    try:
        said = json.loads(result.text)
    except ValueError as error:
        raise ToolError(f"{result.call.name} returned nothing that says whether the answer holds") from error
    fields = said if isinstance(said, Mapping) else {}
    if result.is_error:
        raise ToolError(str(fields.get("error") or result.text)[:SHOWN])
    return fields


def _judgement(name: str, fields: Mapping[str, Any]) -> tuple[AnswerChecked, str]:
    passed, code = fields.get("passed"), fields.get("exit_code")
    if isinstance(passed, bool | int | float) and 0 <= passed <= 1:
        return _share_passed(name, float(passed)), "" if passed == 1 else _report(fields)
    if not isinstance(code, int):
        raise ToolError(f"{name} returned neither 'passed' nor 'exit_code'")
    if code:
        return AnswerChecked(name, {"program_fails": 1.0}, "its program fails"), _report(fields)
    return AnswerChecked(name, {"program_runs": 1.0}, "its program runs"), ""


def _share_passed(name: str, passed: float) -> AnswerChecked:
    words = {1.0: "it passes", 0.0: "it fails"}.get(passed, f"{passed:.0%} of it passes")
    signals = {"check_passes": passed, "check_fails": 1.0 - passed}
    return AnswerChecked(name, {signal: value for signal, value in signals.items() if value}, words)


def _report(fields: Mapping[str, Any]) -> str:
    """The end of what a check says of a failure: there stands what is wrong."""
    said = (str(fields[key]).strip() for key in ("reason", "stdout", "stderr") if fields.get(key))
    return "\n".join(said)[-SHOWN:]
