"""The documentation tells the truth: links lead somewhere, commands exist, and what can run does run."""

import ast
import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml

from ai_battle.assembly.discussion import check
from ai_battle.cli import CONTEXT
from ai_battle.cli import commands as ai_battle
from ai_battle.config.loading import load
from ai_battle.conversation import setup
from ai_battle.providers._names import parse
from ai_battle.testing.__main__ import parser as fakes_parser
from docs import generate

from . import pages
from .files.material import pdf
from .pages import DOCS, PAGES, ROOT, Block, every_block
from .reader import Reader

KEYS = {
    "OPENAI_API_KEY": "any",
    "ANTHROPIC_API_KEY": "any",
    "GEMINI_API_KEY": "any",
    "OPENROUTER_API_KEY": "any",
    "AZURE_OPENAI_API_KEY": "any",
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "TEAM_OPENAI_KEY": "any-key-of-the-team",
}
PLACEHOLDERS = {"COMMAND"}
SHELL = {".", "pip", "python3"}
LISTED_ELSEWHERE = {DOCS / "README.md"}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.mark.parametrize("kind", generate.KINDS)
def test_a_schema_in_the_package_is_current(kind: str) -> None:
    """When it is not: `python -m docs.generate`."""
    assert (generate.SCHEMAS / f"{kind}.json").read_text(encoding="utf-8") == generate.schema(kind)


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    """Mend it with: make docs"""
    assert (generate.FOLDER / name).read_text(encoding="utf-8") == generate.page(name)


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in pages.links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in pages.anchors(target), f"{link}: there is no such heading"


def test_every_page_is_found_from_the_index() -> None:
    index = DOCS / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in pages.links(index)}
    assert set(DOCS.rglob("*.md")) - listed - LISTED_ELSEWHERE == set()


@pytest.mark.parametrize("block", every_block("yaml"), ids=str)
def test_a_yaml_on_a_page_is_a_discussion_that_validates(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _lay_out_files(tmp_path, block.text)
    if "discussion" not in (yaml.safe_load(block.text) or {}) or block.mark == "invalid":
        return
    (path := tmp_path / "page.yaml").write_text(block.text, encoding="utf-8")
    loaded = load(path, KEYS)
    problems = [*check(loaded), *setup.check(loaded)]
    assert [loaded.with_place(problem) for problem in problems] == []
    assert loaded.notes == ()


def _lay_out_files(folder: Path, text: str) -> None:
    """What the pages speak of as if it were there."""
    if "gguf" in text:
        (folder / "models").mkdir()
        pytest.importorskip("tests.engine").write_model(folder / "models" / "tiny.gguf")
    (folder / "chart.png").write_bytes((ROOT / "configs" / "material" / "chart.png").read_bytes())
    (folder / "notes.txt").write_text("Seven is the highest bar.", encoding="utf-8")
    (folder / "report.pdf").write_bytes(pdf("The bars grow."))
    (folder / "figures.csv").write_text("bar,height\n1,7\n", encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "src" / "main.py").write_text("print(7)\n", encoding="utf-8")


WRITTEN_BY_HAND = [block for block in every_block("python") if not pages.is_generated(block.page)]


@pytest.mark.parametrize("block", WRITTEN_BY_HAND, ids=str)
def test_python_on_a_page_compiles_and_what_it_imports_exists(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                import_module(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = import_module(str(node.module))
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


TO_BE_RUN = [block for block in WRITTEN_BY_HAND if block.mark == "run"]


@pytest.mark.parametrize(
    "block", [TO_BE_RUN[0], *(pytest.param(block, marks=pytest.mark.slow) for block in TO_BE_RUN[1:])], ids=str
)
def test_python_that_is_marked_so_runs(block: Block, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("block", every_block("console"), ids=str)
def test_a_command_on_a_page_exists_with_its_options(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in block.commands:
        for file in re.findall(r" -f (\S+)", command):
            (tmp_path / file).touch()
        _check_command(command)


@every_page
def test_a_command_in_the_text_exists_with_its_options(page: Path) -> None:
    for command in pages.mentioned_commands(page):
        with suppress(click.MissingParameter):
            _check_command(command)


def test_commands_that_the_configurations_speak_of_exist() -> None:
    for config in (ROOT / "configs").glob("*.yaml"):
        for command in pages.mentioned_commands(config):
            with suppress(click.MissingParameter):
                _check_command(command)


def test_what_is_enough_for_an_hour_has_less_than_3000_lines() -> None:
    page = (ROOT / "docs/contributing/the-house.md").read_text(encoding="utf-8")
    files = re.findall(r"\*\*\[[^]]+\]\(\.\./\.\./([^)]+)\)\*\*", page)
    assert len(files) > 8
    assert sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files) < 3_000


def _check_command(command: str) -> None:
    variables_before = r"(?:[A-Z_]+=\S+ )+(?=ai-battle )"
    match pages.words(re.sub(rf"^{variables_before}", "", command)):
        case ["ai-battle", *arguments]:
            _check_ours(arguments)
        case ["make", *targets]:
            made = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert all(re.search(rf"^{target}:", made, re.MULTILINE) for target in targets if "=" not in target)
        case ["python", "-m", "ai_battle.testing", *arguments]:
            fakes_parser().parse_args(arguments)
        case ["python", script]:
            assert script.endswith(".py")
        case [program, *_]:
            assert program in SHELL, f"{command}: not known"


def _check_ours(arguments: list[str]) -> None:
    """Click reads the options of the command, and of a command inside it, as it would to run it."""
    command: click.Command = ai_battle
    context = click.Context(ai_battle, info_name="ai-battle", **CONTEXT)  # type: ignore[arg-type]
    while isinstance(command, click.Group):
        if not arguments or arguments[0].startswith("-") or arguments[0] in PLACEHOLDERS:
            return
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found, f"there is no command {name!r}"
        command = found
    if arguments:
        folders = [argument.removeprefix("s3://") for argument in arguments]  # an address would be looked up
        command.make_context(command.name, folders, parent=context)


class TestTheReadme:
    README = ROOT / "README.md"

    def test_the_mistake_is_told_as_it_says(self, tmp_path: Path) -> None:
        """Its discussion with the first `type` misspelt, and what it says that `validate` prints then."""
        discussion = next(pages.blocks(self.README, "yaml")).text.replace("type:", "typ:", 1)
        (command, told), *_ = next(b for b in pages.blocks(self.README, "console") if b.exchanges).exchanges
        (tmp_path / pages.words(command)[-1]).write_text(discussion, encoding="utf-8")
        typed = [sys.executable, "-m", *pages.words(command.replace("ai-battle", "ai_battle"))]

        done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=False)

        assert (done.returncode, done.stdout.splitlines()) == (2, told)

    def test_each_model_type_that_it_lists_is_one(self) -> None:
        table = self.README.read_text(encoding="utf-8").partition("| type |")[2].partition("\n\n")[0]
        types = [name for row in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
        assert len(types) >= 15
        for name in types:
            assert parse(name).model

    def test_it_names_the_two_commands_to_know_first(self) -> None:
        first = next(pages.blocks(self.README, "console"))
        assert [pages.words(command) for command in first.commands] == [["make", "demo"], ["make", "test"]]


@pytest.mark.slow
def test_a_reader_who_types_the_whole_tutorial_sees_what_it_says(tmp_path: Path) -> None:
    with Reader(tmp_path, {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}) as reader:
        for block in pages.blocks(DOCS / "tutorial.md"):
            reader.follow(block)
        assert reader.commands_typed >= 12
