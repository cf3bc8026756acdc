"""Loads the discussion that a setting plays, and gives it a task as its goal."""

import json
from collections.abc import Mapping
from pathlib import Path

from ..config.documents import find_nothing
from ..config.loading import Check, LoadedDiscussion, load
from ..config.tree import Node
from ..conversation.asking import literal
from .tasks import Task


def load_discussion(
    path: Path, suite: Node, environment: Mapping[str, str] | None, also: Check = find_nothing
) -> LoadedDiscussion:
    """Loads a discussion. Providers, prices and context sizes that its file does not state are the suite's.

    Otherwise the same model could have two prices in one comparison. Raises `ConfigError` with all problems.
    """
    return load(str(path), environment).with_sections_of(suite, also)


def with_goal(discussion: LoadedDiscussion, task: Task) -> LoadedDiscussion:
    """Returns the discussion of a task, whose own keys override those of the file. Raises `ConfigError`."""
    goal = {"goal": task.prompt, "initial_prompt": "", **(task.goal or {})}
    written = {key: literal(json.dumps(value, ensure_ascii=False)) for key, value in goal.items()}
    return discussion.with_overrides(*(f"discussion.{key}={value}" for key, value in written.items()))
