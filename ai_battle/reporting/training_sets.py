"""What was taught as data to train a model on: of many runs, of lessons, and of what shadows have compared."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_core import to_json

from ..core.errors import ConfigError
from ..evidence.lessons import LESSONS, lessons_of
from ..evidence.store import EvidenceStore
from ..evidence.trials import TRIALS, read_trials
from .training import documents_of

Shape: TypeAlias = Literal["openai", "trl"]
"""Whose trainer reads it; of answers alone (sft) both read the same, and so does Unsloth."""
HELD_BACK = 10
"""One of so many examples is for validation."""


def training_set(
    store: EvidenceStore | None, run_dirs: Iterable[Path], wanted: Literal["sft", "dpo"], shape: Shape
) -> tuple[Sequence[str], Sequence[str]]:
    """Returns lines to train on and lines to validate with: of runs, of lessons, and of what shadows have compared.

    A request comes once; which of both it is for does not change when others are added. For TRL's shapes see
    https://huggingface.co/docs/trl/dataset_formats. Raises `ConfigError` where there is nothing.
    """
    of_runs = (documents_of(run_dir, as_pairs=wanted == "dpo") for run_dir in run_dirs)
    known = chain(_of_store(store, wanted) if store else (), *of_runs)
    once = {to_json(document["messages" if wanted == "sft" else "input"]): document for document in known}
    train, validation = list[str](), list[str]()
    for asked, document in once.items():
        shaped = _for_trl(document) if shape == "trl" and wanted == "dpo" else document
        is_held_back = int(hashlib.sha256(asked).hexdigest(), 16) % HELD_BACK == 0
        (validation if is_held_back else train).append(to_json(shaped).decode() + "\n")
    if not once:
        raise ConfigError("There is nothing to train on: no lessons, no comparisons that one model has won, no runs.")
    return train, validation


def _of_store(store: EvidenceStore, wanted: str) -> Iterator[Mapping[str, Any]]:
    """Yields what the large model was better at; where the small one was, that too is an answer beside a poorer one."""
    for trial in (trial for pair in store.pairs(TRIALS) for _, trial in read_trials(store, pair)):
        better, poorer = (trial.large, trial.small) if trial.outcome == "loss" else (trial.small, trial.large)
        asked = [{"role": "user", "content": trial.prompt}]
        if wanted == "sft" and trial.outcome == "loss":
            yield {"messages": [*asked, *_answer(better)]}
        elif wanted == "dpo" and trial.outcome != "tie":
            answers = {"preferred_output": _answer(better), "non_preferred_output": _answer(poorer)}
            yield {"input": {"messages": asked}, **answers}
    if wanted == "sft":
        for lesson in (lesson for pair in store.pairs(LESSONS) for lesson in lessons_of(store, pair)):
            yield {"messages": [{"role": "user", "content": lesson.prompt}, *_answer(lesson.answer)]}


def _for_trl(document: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = document["input"]
    tools = {"tools": asked["tools"]} if "tools" in asked else {}
    chosen, rejected = document["preferred_output"], document["non_preferred_output"]
    return {"prompt": asked["messages"], "chosen": chosen, "rejected": rejected, **tools}


def _answer(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]
