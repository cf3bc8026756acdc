"""Plug-ins are found by the name of their file, their entry point or their dotted path."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.core import plugins
from ai_battle.core.errors import ConfigError

PARROT = """
def create(model, *, loud=False):
    return model.upper() if loud else model
"""


def forget() -> None:
    plugins.module_names.cache_clear()
    plugins.plug_ins.cache_clear()


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of plug-ins and a distribution that announces one by an entry point."""
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "__init__.py").write_text("")
    (tmp_path / "zoo" / "parrot.py").write_text(PARROT)
    (tmp_path / "zoo" / "_hidden.py").write_text(PARROT)
    (tmp_path / "zoo" / "broken.py").write_text("1 / 0")
    (tmp_path / "elsewhere_bird.py").write_text(PARROT)
    info = tmp_path / "bird-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bird\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[zoo]\nbird = elsewhere_bird\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield
    forget()
    for name in [name for name in sys.modules if name.split(".")[0] in {"zoo", "elsewhere_bird"}]:
        del sys.modules[name]


@pytest.mark.usefixtures("zoo")
class TestFinding:
    @pytest.mark.parametrize("name", ["parrot", "bird", "zoo.parrot"])
    def test_a_plug_in_is_a_file_an_entry_point_or_a_dotted_path(self, name: str) -> None:
        assert plugins.create("zoo", name, "grey", loud=True) == "GREY"

    def test_all_names_are_listed_and_private_files_are_not(self) -> None:
        assert plugins.names("zoo") == ["bird", "broken", "parrot"]

    def test_an_unknown_name_is_answered_with_near_ones(self) -> None:
        with pytest.raises(ConfigError, match=r"zoo has no 'parot'; did you mean 'parrot'\?"):
            plugins.create("zoo", "parot", "grey")

    def test_a_misspelt_option_is_answered_with_near_ones(self) -> None:
        with pytest.raises(ConfigError, match=r"parrot has no option 'lout'; did you mean 'loud'\?"):
            plugins.create("zoo", "parrot", "grey", lout=True)

    def test_a_dotted_module_that_fails_is_a_clear_error(self) -> None:
        with pytest.raises(ConfigError, match=r"'zoo\.broken' does not load: ZeroDivisionError"):
            plugins.load("zoo", "zoo.broken")

    def test_a_module_without_create_says_so(self) -> None:
        with pytest.raises(ConfigError, match=r"'json\.decoder' has no function 'create'"):
            plugins.create("zoo", "json.decoder", "grey")


def test_an_optional_dependency_that_is_missing_names_its_extra() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'ai-battle\[sky\]'"):
        plugins.optional("no_such_module_anywhere", "sky")
