"""Programs for the sandbox, kept as text: `=== language: name`, the code, and what is expected after `--- prints`.

`--- prints, but needs NAME` marks what does not run behind Landlock alone.
"""

from pathlib import Path
from typing import NamedTuple, cast

from ai_battle.tools.sandbox import Language


class Case(NamedTuple):
    language: Language
    name: str
    code: str
    expected: str
    needs: str

    def __str__(self) -> str:
        return f"{self.language}: {self.name}"


def cases(file: str, language: Language) -> list[Case]:
    _, *sections = (Path(__file__).parent / file).read_text(encoding="utf-8").split("\n=== ")
    return [case for case in map(_case, sections) if case.language == language]


def _case(section: str) -> Case:
    head, _, body = section.partition("\n")
    language, _, name = head.partition(": ")
    code, _, rest = body.partition("\n---")
    mark, _, expected = rest.partition("\n")
    return Case(cast(Language, language), name, code.strip("\n"), expected.strip(), mark.partition("but needs ")[2])
