"""Options of one's own under `providers:`, for a provider that a package or a module of one's own brings."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle import ConversationManager
from ai_battle.conversation.setup import load_checked
from ai_battle.core import plugins
from ai_battle.core.errors import ConfigError

PARROT = """
from ai_battle.testing import ScriptedClient


def create(model, *, colour="grey", words=(), loud=False, base_url=""):
    said = f"{model} {colour} {list(words)} {loud!r}"
    return ScriptedClient(said.upper() if loud else said, loop=True)
"""
HTTP = """
from ai_battle.core.traits import ProviderTraits
from ai_battle.testing import ScriptedClient

TRAITS = ProviderTraits(http=True)


def create(model, *, deadlines, environment):
    return ScriptedClient(f"{model} within {deadlines.total:g} s, {environment['SHOUT']}", loop=True)
"""
NEEDY = "def create(model, *, colour):\n    raise AssertionError('never reached')\n"
TALK = """discussion:
  turns: 1
  goal: Talk.
  models:
    Ann: {{type: {provider}/x}}
    Bob: {{type: scripted, script: [Yes.]}}
providers:
  {provider}: {options}
"""


def forget() -> None:
    plugins.plug_ins.cache_clear()


@pytest.fixture(autouse=True)
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution that announces the providers parrot and needy, and the module mybirds.parrot."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mybirds").mkdir()
    (tmp_path / "mybirds" / "__init__.py").write_text("")
    (tmp_path / "mybirds" / "parrot.py").write_text(PARROT)
    (tmp_path / "mybirds" / "needy.py").write_text(NEEDY)
    (tmp_path / "mybirds" / "crow.py").write_text(HTTP)
    info = tmp_path / "birds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: birds\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ai_battle.providers]\n"
        + "".join(f"{name} = mybirds.{name}\n" for name in ("parrot", "crow", "needy", "gone"))
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield
    forget()
    for name in [name for name in sys.modules if name.split(".")[0] == "mybirds"]:
        del sys.modules[name]


def talk(provider: str, options: str) -> Path:
    path = Path("talk.yaml")
    path.write_text(TALK.format(provider=provider, options=options))
    return path


def wrong(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_checked(path)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("provider", ["parrot", "mybirds.parrot"])
async def test_they_reach_create_with_the_types_that_yaml_gives_them(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "green")
    path = talk(provider, "{colour: '${COLOUR}', words: [hello, 3], loud: true, base_url: 'http://127.0.0.1:1'}")
    result = await ConversationManager.from_config(path).run_discussion()
    assert result.messages[1].text == "X GREEN ['HELLO', 3] TRUE"


async def test_traits_beside_create_say_that_a_plug_in_takes_deadlines_and_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOUT", "caw")
    result = await ConversationManager.from_config(talk("crow", "{}")).run_discussion()
    assert result.messages[1].text == "x within 600 s, caw"


def test_one_that_an_installed_plug_in_does_not_take_is_told_once_with_its_place() -> None:
    assert wrong(talk("parrot", "{words: [], colur: green}")) == [
        "talk.yaml:8:23 providers.parrot.colur: parrot has no option 'colur'; did you mean 'colour'?"
    ]


def test_a_module_by_its_dotted_name_is_not_imported_to_find_out() -> None:
    assert load_checked(talk("mybirds.parrot", "{colur: green}"))
    assert "mybirds.parrot" not in sys.modules


def test_a_module_by_its_dotted_name_is_asked_when_it_is_run() -> None:
    manager = ConversationManager.from_config(talk("mybirds.parrot", "{colur: green}"))
    with pytest.raises(ConfigError, match=r"mybirds\.parrot has no option 'colur'; did you mean 'colour'\?") as caught:
        asyncio.run(manager.run_discussion())
    assert str(caught.value).startswith("talk.yaml:8:20 providers.mybirds.parrot.colur: ")
    assert not Path("runs").exists()


def test_a_plug_in_that_lacks_an_option_says_which() -> None:
    (line,) = wrong(talk("needy", "{}"))
    assert "missing a required" in line
    assert "'colour'" in line
    assert line.startswith("talk.yaml:5:17 discussion.models.Ann.type: needy")


def test_a_plug_in_that_does_not_load_is_told_at_its_section() -> None:
    (line,) = wrong(talk("gone", "{colour: green}"))
    assert line.startswith("talk.yaml:8:3 providers.gone: The plug-in 'gone' does not load: ModuleNotFoundError")


@pytest.mark.parametrize(
    "section", ["ollama: {base_ulr: 'http://127.0.0.1:1'}", "mine: {base_url: 'http://127.0.0.1:1/v1', base_ulr: x}"]
)
def test_a_key_that_is_misspelt_stays_an_error_where_no_plug_in_can_mean_it(section: str) -> None:
    path = talk("parrot", "{}")
    path.write_text(path.read_text() + f"  {section}\n")
    (line,) = wrong(path)
    name = section.partition(":")[0]
    assert line.startswith("talk.yaml:9:")
    assert line.endswith(f"providers.{name}.base_ulr: unknown key; did you mean 'base_url'?")


def test_a_secret_among_them_stays_out_of_what_is_recorded() -> None:
    loaded = load_checked(talk("parrot", "{words: [{token: sesame-open}]}"))
    assert "sesame-open" not in loaded.as_yaml() + repr(loaded.file.providers)
