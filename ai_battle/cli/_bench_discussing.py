"""Whole discussions as answers: a task is the goal, the last word is what is scored."""

import json
import tempfile
from pathlib import Path

from ai_battle.benchmark.playing import DiscussionAnswer
from ai_battle.benchmark.tasks import Task
from ai_battle.config import load
from ai_battle.conversation.manager import ConversationManager
from ai_battle.core.events import Concluded, Emit, Event, ModelReplied
from ai_battle.core.exchange import WHOLE_ANSWER


async def discuss(file: str, task: Task, emit: Emit) -> DiscussionAnswer:
    """The synthesis of the discussion where its file asks for an `outcome`, else the last thing that was said."""
    concluded: list[str] = []

    async def heard(event: Event) -> None:
        if isinstance(event, Concluded):
            concluded.append(event.text)
        if isinstance(event, ModelReplied):
            await emit(event)

    goal = {"goal": task.prompt, "initial_prompt": "", **(task.goal or {})}
    loaded = load(file, overrides=[f"discussion.{key}={_yaml(value)}" for key, value in goal.items()])
    with tempfile.TemporaryDirectory(prefix="ai-battle-") as folder:
        manager = ConversationManager.from_config(loaded, out=Path(folder) / "run")
        result = await manager.run_discussion(heard, WHOLE_ANSWER)
        last = next((message.text for message in reversed(result.messages)), "")
    failed = result.status == "failed"
    return DiscussionAnswer(concluded[-1] if concluded else last, result.stop_reason if failed else "")


def _yaml(value: object) -> str:
    """What looks like a variable in a task is none."""
    return json.dumps(value, ensure_ascii=False).replace("${", "$${")
