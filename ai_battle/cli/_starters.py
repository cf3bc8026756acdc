"""The files that `init` writes."""

import shutil
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

import yaml

from ai_battle.config import packaged, packaged_names
from ai_battle.core.errors import ConfigError
from ai_battle.core.plugins import near

from ._survey import Found, survey

SCHEMA = files("ai_battle.config") / "schemas" / "discussion.json"
CLOUD = {
    "anthropic": "haiku",
    "openai": "gpt-4o-mini",
    "gemini": "gemini-2.5-flash",
    "groq": "groq/llama-3.3-70b-versatile",
    "openrouter": "openrouter/meta-llama/llama-3.3-70b-instruct",
}
NO_CONVERSATION = ("embed", "bge-", "whisper", "tts", "rerank")


def copied(name: str, path: Path) -> Sequence[Path]:
    """A packaged discussion, with the files that it reads, under a name of the user's."""
    source = packaged(name)
    if source is None:
        raise ConfigError(f"There is no packaged discussion {name!r}{near(name, packaged_names())}")
    text = source.read_text(encoding="utf-8")
    _write(path, "\n".join([_schema_line(), *text.splitlines()[1:], ""]))
    return [path, *_with_inputs(text, source.parent, path.parent)]


def starter(path: Path) -> Sequence[Path]:
    """A discussion between two models that are there now; between scripted ones when there are none."""
    types = _two(survey())
    if not types:
        return copied("quickstart", path)
    template = Template((files(__package__) / "starter.yaml").read_text(encoding="utf-8"))
    _write(path, f"{_schema_line()}\n{template.substitute(first=types[0], second=types[-1])}")
    return [path]


def _two(found: Sequence[Found]) -> list[str]:
    """Two different ones where that can be had: a small one on this machine, and another."""
    local = [f"{one.provider}/{model}" for one in found if one.provider not in CLOUD for model in _talking(one)]
    cloud = [CLOUD[one.provider] for one in found if one.provider in CLOUD and one.state == "ready"]
    return [*local[:1], *cloud[:1], *local[1:2], *cloud[1:2]][:2]


def _talking(found: Found) -> list[str]:
    return [model.name for model in found.models if not any(word in model.name.lower() for word in NO_CONVERSATION)]


def _schema_line() -> str:
    return f"# yaml-language-server: $schema={SCHEMA}"


def _with_inputs(text: str, source: Path, target: Path) -> Iterator[Path]:
    discussion = yaml.safe_load(text)["discussion"]
    for file in filter(None, [discussion.get("input_file"), *discussion.get("input_files", {}).get("files", [])]):
        place = target / file["path"]
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file["path"], place)
            yield place


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error
