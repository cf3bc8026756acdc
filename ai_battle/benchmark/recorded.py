"""Answers out of a dataset in place of a model's: `recorded/small` and `recorded/large`."""

from ..core.client import ModelClient
from ..core.errors import Unscripted
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.messages import assistant
from ..core.tokens import estimate_message, estimate_request
from .tasks import Task


class RecordedClient(ModelClient):
    """Gives the answer that was recorded for one task, once: what the model would say next, nobody knows."""

    def __init__(self, task: Task, role: str) -> None:
        self._task = task
        self._role = role
        self._asked = False

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        found = self._task.recorded.get(self._role)
        if found is None:
            raise Unscripted(f"The task {self._task.id!r} has no recorded answer of {self._role!r}.")
        if self._asked:
            raise Unscripted(
                f"{self._role!r} is recorded: it has one answer to {self._task.id!r}, and was asked again."
            )
        self._asked = True
        await emit(TextDelta(found.text))
        message = assistant(found.text)
        usage = Usage(estimate_request(request), estimate_message(message))
        return ModelResponse(message, usage=usage, model=found.model or self._role)
