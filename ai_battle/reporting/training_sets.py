"""Collects training data from many runs, from lessons, and from the comparisons of shadows."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_core import to_json

from ..core.errors import ConfigError
from ..evidence.lessons import LESSONS, lessons_of
from ..evidence.store import EvidenceStore
from ..evidence.trials import TRIALS, ShadowTrial, read_trials
from .training import answer_of, documents_of

Shape: TypeAlias = Literal["openai", "trl"]
"""The trainer that reads the data. For answers alone (sft) both formats are the same, also for Unsloth."""
REQUEST_KEYS = {"sft": "messages", "dpo": "input"}
"""The key of a document that holds its request."""
VALIDATION_SHARE = 10
"""One of this many examples is for validation."""


def training_set(
    store: EvidenceStore | None, run_dirs: Iterable[Path], wanted: Literal["sft", "dpo"], shape: Shape
) -> tuple[Sequence[str], Sequence[str]]:
    """Returns lines for training and for validation, from runs, lessons, and the comparisons of shadows.

    Each request comes once. Whether it is for training or validation does not change when others are added. For TRL's
    formats see https://huggingface.co/docs/trl/dataset_formats. Raises `ConfigError` if there is no data.
    """
    of_runs = (documents_of(run_dir, as_pairs=wanted == "dpo") for run_dir in run_dirs)
    known = chain(_of_store(store, wanted) if store else (), *of_runs)
    once = {to_json(document[REQUEST_KEYS[wanted]]): document for document in known}
    if not once:
        raise ConfigError("There is nothing to train on: no lessons, no comparisons that one model has won, no runs.")
    shape_of = _for_trl if (wanted, shape) == ("dpo", "trl") else dict
    train, validation = list[str](), list[str]()
    for request, document in once.items():
        held_back = int(hashlib.sha256(request).hexdigest(), 16) % VALIDATION_SHARE == 0
        part = validation if held_back else train
        part.append(to_json(shape_of(document)).decode() + "\n")
    return train, validation


def _of_store(store: EvidenceStore, wanted: str) -> Iterator[Mapping[str, Any]]:
    trials = chain.from_iterable(read_trials(store, pair) for pair in store.pairs(TRIALS))
    if wanted == "dpo":
        return (_comparison(trial) for _, trial in trials if trial.outcome != "tie")
    lessons = chain.from_iterable(lessons_of(store, pair) for pair in store.pairs(LESSONS))
    taught = ((trial.prompt, trial.large) for _, trial in trials if trial.outcome == "loss")
    answers = chain(taught, ((lesson.prompt, lesson.answer) for lesson in lessons))
    return ({"messages": [*_question(prompt), *answer_of(answer)]} for prompt, answer in answers)


def _comparison(trial: ShadowTrial) -> Mapping[str, Any]:
    """Returns an answer paired with a poorer one, whichever model gave it."""
    better, poorer = (trial.large, trial.small) if trial.outcome == "loss" else (trial.small, trial.large)
    answers = {"preferred_output": answer_of(better), "non_preferred_output": answer_of(poorer)}
    return {"input": {"messages": _question(trial.prompt)}, **answers}


def _for_trl(document: Mapping[str, Any]) -> Mapping[str, Any]:
    request = document["input"]
    tools = {"tools": request["tools"]} if "tools" in request else {}
    chosen, rejected = document["preferred_output"], document["non_preferred_output"]
    return {"prompt": request["messages"], "chosen": chosen, "rejected": rejected, **tools}


def _question(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]
