"""The tables beside this file: words that models write around calls, and those that keep a call from being one."""

from importlib.resources import files


def table(file: str, separator: str | None = None) -> list[tuple[str, list[str]]]:
    """Each row's first word, and what is listed behind its colon."""
    rows = files(__package__).joinpath(file).read_text(encoding="utf-8").splitlines()
    parted = (row.partition(":") for row in rows if not row.startswith("#"))
    return [(head.split()[0], [word.strip() for word in listed.split(separator)]) for head, _, listed in parted]


SPELLINGS = {kind: tuple(words) for kind, words in table("spellings.txt")}
