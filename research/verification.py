"""Counts the recorded answers that running verifies and refutes: `python -m research.verification DIR OUTCOMES`.

DIR holds `answers.crux.jsonl.gz`. OUTCOMES has the results of its prompts' programs, from `research.outcomes`.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ai_battle.core.errors import ConfigError
from ai_battle.signals.outcomes import ProgramOutcome

from .answer_tables import is_confirmed, read_rows
from .councils import read_outcomes


def counts(folder: Path, outcomes: Mapping[str, ProgramOutcome]) -> Counter[tuple[bool | None, bool]]:
    """Counts answers that running verifies (True), refutes (False) or leaves open (None), by whether they are right."""
    rows = read_rows(folder / "answers.crux.jsonl.gz")
    answers = ((row["id"], each) for row in rows for each in row["answers"].values() if each)
    return Counter(
        (is_confirmed(each["answer"], outcomes.get(key)), bool(each.get("correct")))
        for key, each in answers
        if each.get("answer") is not None
    )


def lines(folder: Path, outcomes: Mapping[str, ProgramOutcome]) -> Iterator[str]:
    found = counts(folder, outcomes)
    yield f"{found.total()} answers, {(found[None, True] + found[None, False]) / found.total():.1%} of them undecided"
    yield f"refuted: {found[False, False]} of {found[False, True] + found[False, False]} are wrong"
    yield f"verified: {found[True, True]} of {found[True, True] + found[True, False]} are right"


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 2:
        raise ConfigError(
            "Two arguments are needed: the folder with the recorded answers, and the file with the outcomes."
        )
    folder, outcomes = map(Path, arguments)
    for line in lines(folder, read_outcomes(outcomes)):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
