"""A tool that tells whether an answer holds: it runs the code of the answer, or it is a check of the user's own."""

import json
from collections.abc import Mapping
from typing import Any

from ..core.errors import ToolError
from ..core.events import Emit
from ..core.helping import AnswerChecked
from ..core.messages import ToolCall, ToolResult
from ..signals.code_blocks import code_blocks
from ._running import Runner
from .approval import Consent
from .guard import Guard
from .limits import RunBudget, RunnerLimits
from .manager import ToolManager

RUNNABLE = ("python", "javascript", "bash")
SHOWN = 2_000
GIVEN = ("prompt", "answer", "code", "language")


class ToolCheck:
    """The tool `name` of `manager` as a check; a call is allowed, counted and heard of like one of a model.

    It is given those of `prompt`, `answer`, `code` and `language` that it has parameters for. A tool that returns
    `passed` (true, false or a share) judges by that, any other by its `exit_code`.
    """

    def __init__(
        self, name: str, manager: ToolManager, limits: RunnerLimits, budget: RunBudget, consent: Consent | None = None
    ) -> None:
        self.name = name
        self._manager = manager
        self._limits = limits
        self._budget = budget
        self._consent = consent

    async def __call__(self, prompt: str, answer: str, emit: Emit) -> tuple[AnswerChecked, str] | None:
        """What was found, and the report of a failure; None for an answer without code, where the tool runs code.

        Raises `ToolError` for a call that brought no result.
        """
        wanted = self._wanted()
        given = {"prompt": prompt, "answer": answer, **_program(answer)}
        if "code" in wanted and "code" not in given:
            return None
        call = ToolCall(self.name, {name: given[name] for name in GIVEN if name in wanted and name in given}, "check")
        runner = Runner(self._manager, Guard(self._limits, self._budget), 1, emit, self._consent)
        (result,) = await runner.run((call,))
        return _judged(self.name, _fields(result))

    def _wanted(self) -> Mapping[str, Any]:
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


def _judged(name: str, fields: Mapping[str, Any]) -> tuple[AnswerChecked, str]:
    passed, code = fields.get("passed"), fields.get("exit_code")
    if isinstance(passed, bool | int | float) and 0 <= passed <= 1:
        signals = {"check_passes": float(passed), "check_fails": 1.0 - float(passed)}
    elif isinstance(code, int):
        signals = {"program_runs": float(code == 0), "program_fails": float(code != 0)}
    else:
        raise ToolError(f"{name} returned neither 'passed' nor 'exit_code'")
    found = {signal: value for signal, value in signals.items() if value}
    report = "" if passed == 1 or code == 0 else _report(fields)
    return AnswerChecked(name, found), report


def _report(fields: Mapping[str, Any]) -> str:
    """The end of what a check says of a failure: there stands what is wrong."""
    said = (str(fields[key]).strip() for key in ("reason", "stdout", "stderr") if fields.get(key))
    return "\n".join(said)[-SHOWN:]
