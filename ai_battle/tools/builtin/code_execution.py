"""`code_execution`: runs code that a model wrote, in a sandbox."""

import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from ...core.errors import ConfigError
from ...core.files import make_private
from .._tasks import in_thread
from ..base import Tool, errors_as_fields
from ..sandbox import AddressFilter, Level, Outcome, Program, Sandbox, SandboxLimits, choose, discard

LANGUAGES = ("python", "javascript", "bash")
USUAL, MOST, LONGEST, SURROUNDINGS = 10.0, 60.0, 600.0, 15.0


_DESCRIPTION = (
    "Execute a program in python, javascript (node) or bash. It sees the workspace as its current folder, {}, and "
    "nothing but files in the workspace is there the next time; print what you want to see."
)


class CodeExecutionTool(Tool):
    name = "code_execution"
    description = _DESCRIPTION.format("has no network")
    writes = True

    def __init__(
        self,
        workspace: Path | None = None,
        timeout: float = 0.0,
        sandbox: Level = "auto",
        memory_mb: int = 1024,
        allow_unsandboxed: bool = False,
        allow_hosts: Sequence[str] = (),
        run_dir: Path | None = None,
    ) -> None:
        """Takes `timeout` in seconds, the default of a program and the most that it can ask for.

        Without a workspace there is a temporary one, deleted with the tool. `run_dir` is where the run is recorded; it
        is out of reach even if it is inside the workspace.
        """
        if timeout and not 0 < timeout <= LONGEST:
            raise ConfigError(f"code_execution: timeout must be above 0 and up to {LONGEST:g} seconds, not {timeout!r}")
        if sandbox not in get_args(Level):
            raise ConfigError(f"code_execution: sandbox must be {' or '.join(get_args(Level))}, not {sandbox!r}")
        self.is_fenced = sandbox != "none"
        self.usual, self.most = float(timeout or USUAL), float(timeout or MOST)
        self.workspace = Path(workspace).expanduser().absolute() if workspace else self._temporary()
        self.limits = SandboxLimits(memory=memory_mb << 20)
        self.timeout = self.most + SURROUNDINGS
        self._level, self._allow, self._hosts = sandbox, allow_unsandboxed, tuple(allow_hosts)
        if AddressFilter(self._hosts):
            self.description = _DESCRIPTION.format(f"reaches {', '.join(self._hosts)} alone, by HTTPS_PROXY")
        self._record = run_dir
        self._fence: Sandbox | None = None

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        return {
            "language": {"type": "string", "enum": list(LANGUAGES), "default": "python"},
            "code": {"type": "string", "description": "Code to execute", "required": True},
            "timeout": {
                "type": "number",
                "description": f"Execution timeout in seconds, at most {self.most:g}",
                "exclusiveMinimum": 0,
                "default": self.usual,
            },
        }

    async def fence(self) -> Sandbox:
        """Returns the sandbox, chosen at first use. Raises `NoFence`."""
        if self._fence is None:
            self._fence = await in_thread(choose, self._level, self._allow, self._hosts)
        return self._fence

    @errors_as_fields
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        language = parameters.get("language", "python")
        if language not in LANGUAGES:
            return {"error": f"Unsupported language: {language}"}
        seconds = min(float(parameters.get("timeout", self.usual)), self.most)
        fence = await self.fence()
        make_private(self.workspace)
        program = Program(language, parameters.get("code", ""), seconds)
        return _result(await fence.run(program, self.workspace, self.limits, self._record), seconds)

    def _temporary(self) -> Path:
        folder = tempfile.mkdtemp(prefix="ai-battle-")
        weakref.finalize(self, discard, folder)
        return Path(folder)


def _result(outcome: Outcome, seconds: float) -> dict[str, Any]:
    """Returns the outcome as fields; a program that exceeded a limit gets an error next to its output."""
    printed: dict[str, Any] = {"stdout": outcome.stdout, "stderr": outcome.stderr, "exit_code": outcome.exit_code}
    if outcome.network:
        printed["network"] = list(outcome.network)
    match outcome.killed_because:
        case "":
            return printed
        case "time":
            return {"error": f"Execution timed out after {seconds:g} s", **printed}
        case limit:
            return {"error": f"The program was ended: it used more {limit} than it may", **printed}
