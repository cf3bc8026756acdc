"""Tools come from the package, from other packages, from drop-in files and from modules; each mistake is told."""

import sys
from pathlib import Path
from typing import Any

import pytest

from ai_battle.config.tools import RegisteredTool, Tools
from ai_battle.core.errors import ConfigError
from ai_battle.tools.builtin.file_manipulation import FileManipulationTool
from ai_battle.tools.loading import LoadContext, build, builtin_names, by_name
from ai_battle.tools.manager import ToolManager

ROOT = Path(__file__).parent.parent.parent
TOOL = '''
from ai_battle import Tool, tool

class Shout(Tool):
    name = "shout"
    description = "Shouts."
    parameters = {"text": {"type": "string", "required": True}}

    def __init__(self, mark: str = "!", workspace=None):
        self.mark, self.workspace = mark, workspace

    async def execute(self, parameters):
        return {"said": parameters["text"].upper() + self.mark}

@tool
def whisper(text: str) -> str:
    """Whispers."""
    return text.lower()
'''


def settings(*entries: Any, paths: tuple[str, ...] = (), **more: Any) -> Tools:
    registered = tuple(RegisteredTool.model_validate({"name": one} if isinstance(one, str) else one) for one in entries)
    return Tools(registry=registered, paths=paths, **more)


@pytest.fixture
def place(tmp_path: Path) -> LoadContext:
    (tmp_path / "loud.py").write_text(TOOL, encoding="utf-8")
    (tmp_path / "loud.txt").write_text("loud", encoding="utf-8")
    return LoadContext(tmp_path / "work", tmp_path)


def test_builtin_tools_are_found_by_the_name_of_their_file(place: LoadContext) -> None:
    registry = build(settings("calculator", "current_time", "file_manipulation"), place)
    assert registry.names == ["calculator", "current_time", "file_manipulation"]
    files = registry.get_tool("file_manipulation")
    assert isinstance(files, FileManipulationTool)
    assert files.files.root == place.workspace


def test_a_tool_can_be_named_by_its_file(place: LoadContext) -> None:
    (place.base / "hush.py").write_text(f"from ai_battle import tool\n\n{TOOL[TOOL.index('@tool') :]}")

    assert build(settings({"name": "./hush.py"}), place).names == ["whisper"]
    with pytest.raises(ConfigError, match=r"loud.py defines 2 tools, so its name does not say which; use paths:"):
        build(settings("./loud.py"), place)


def test_every_builtin_tool_can_be_had_without_settings(place: LoadContext) -> None:
    for name in builtin_names():
        assert by_name(name, {}, place).name == name


async def test_a_drop_in_file_brings_all_its_tools(place: LoadContext) -> None:
    registry = build(settings(paths=("loud.py",)), place)
    assert registry.names == ["shout", "whisper"]
    manager = ToolManager(registry)
    assert await manager.handle_tool_request({"tool": "shout", "parameters": {"text": "hi"}}) == {"said": "HI!"}
    assert await manager.handle_tool_request({"tool": "whisper", "parameters": {"text": "HI"}}) == {"result": "hi"}


async def test_a_drop_in_tool_is_made_with_its_settings_and_with_what_it_asks_for(place: LoadContext) -> None:
    registry = build(settings({"name": "shout", "parameters": {"mark": "?"}}, paths=("loud.py",)), place)
    shout: Any = registry.get_tool("shout")
    assert (shout.mark, shout.workspace) == ("?", place.workspace)


def test_a_tool_that_is_switched_off_is_not_there(place: LoadContext) -> None:
    off = {"name": "shout", "enabled": False}
    assert build(settings(off, {"name": "calculator", "enabled": False}, paths=("loud.py",)), place).names == [
        "whisper"
    ]
    assert build(settings("calculator", enabled=False), place).names == []


def test_a_folder_brings_all_its_files(place: LoadContext) -> None:
    (place.base / "_private.py").write_text("raise ValueError", encoding="utf-8")
    assert build(settings(paths=(".",)), place).names == ["shout", "whisper"]


def test_a_module_is_found_by_its_dotted_name(place: LoadContext, monkeypatch: pytest.MonkeyPatch) -> None:
    package = place.base / "shop_tools"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "quiet.py").write_text(
        TOOL.partition("class")[0] + "@tool" + TOOL.partition("@tool")[2], encoding="utf-8"
    )
    monkeypatch.syspath_prepend(place.base)
    assert by_name("shop_tools.quiet", {}, place).name == "whisper"


def test_a_tool_of_an_installed_package_is_found_by_its_entry_point(
    place: LoadContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = place.base / "noise-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noise\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[ai_battle.tools]\nshout = loud:Shout\n", encoding="utf-8")
    monkeypatch.syspath_prepend(place.base)
    assert "shout" in builtin_names()
    assert by_name("shout", {"mark": "."}, place).name == "shout"
    sys.modules.pop("loud", None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def broken(:", "The tools of .*bad.py do not load: SyntaxError"),
        ("import nothing_of_this_name", "bad.py do not load: ModuleNotFoundError"),
        ("1 / 0", "bad.py do not load: ZeroDivisionError"),
        ("import sys; sys.exit(3)", r"bad.py do not load: the file ends the program \(3\)"),
        (TOOL.replace("def whisper(", "def whisper(*all, "), r"bad.py do not load: whisper can't be a tool: .*\*all"),
        ("x = 1", "bad.py has no tools"),
        ("from ai_battle import Tool", "bad.py has no tools"),
        (TOOL.replace('name = "shout"', 'name = ""'), "has no name"),
        (TOOL.replace('"type": "string"', '"type": "str"'), "not a JSON Schema"),
        (TOOL.replace("def whisper", "def shout"), "Two tools are named 'shout'"),
        (
            TOOL.replace("self.mark, ", "raise ValueError('no mark'); self.mark, "),
            "Shout can't be made: ValueError: no mark",
        ),
        (TOOL.replace('mark: str = "!"', "mark: str"), "Shout can't be made: TypeError"),
        (TOOL.replace('name = "shout"', "name = property(lambda self: 1 / 0)"), "Shout: ZeroDivisionError"),
        ("from ai_battle import Tool\nclass Half(Tool):\n    name = 'half'", "bad.py has no tools"),
    ],
)
def test_a_drop_in_file_that_is_wrong_is_told_with_its_name(place: LoadContext, content: str, said: str) -> None:
    (place.base / "bad.py").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        build(settings(paths=("bad.py",)), place)


def test_a_drop_in_tool_takes_the_name_of_an_installed_one_only_where_that_is_not_wanted(place: LoadContext) -> None:
    (place.base / "own.py").write_text(TOOL.replace('name = "shout"', 'name = "calculator"'), encoding="utf-8")

    assert build(settings(paths=("own.py",)), place).names == ["calculator", "whisper"]
    with pytest.raises(
        ConfigError, match=r"Two tools are named 'calculator': .*own.py. Rename .* or take calculator out"
    ):
        build(settings("calculator", paths=("own.py",)), place)


@pytest.mark.parametrize(
    ("entries", "paths", "said"),
    [
        (("calculater",), (), "There is no tool 'calculater'; did you mean 'calculator'?"),
        (("whisper", "shuot"), ("loud.py",), r"tools.registry\[1\]: There is no tool 'shuot'; .*mean 'shout'"),
        (("shop.missing",), (), "The tool 'shop.missing' does not load: ModuleNotFoundError"),
        ((), ("missing.py",), "There is no file .*missing.py"),
        ((), ("loud.txt",), "is not a Python file"),
        (
            ({"name": "calculator", "parameters": {"digits": 3}},),
            (),
            "calculator has no option 'digits'|no option 'digits'",
        ),
        (({"name": "whisper", "parameters": {"mark": 3}},), ("loud.py",), "whisper takes no parameters"),
        (({"name": "code_execution", "parameters": {"allow_unsandboxed": True}},), (), "only on the command line"),
        (({"name": "web_search", "parameters": {"backend": "gogle"}},), (), "no backend 'gogle'"),
        (({"name": "code_execution", "parameters": {"timeout": -1}},), (), "timeout must be"),
    ],
    ids=str,
)
def test_what_can_not_be_had_is_told(place: LoadContext, entries: Any, paths: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(settings(*entries, paths=paths), place)


def test_code_that_has_to_be_trusted_is_named_without_being_run(place: LoadContext) -> None:
    (place.base / "trap.py").write_text("raise SystemExit", encoding="utf-8")
    written = settings("calculator", "shop.tools", paths=("trap.py",))
    assert written.foreign_code == ("trap.py", "shop.tools")
    assert settings("calculator", paths=("trap.py",), enabled=False).foreign_code == ()


async def test_the_drop_ins_of_this_repository_work() -> None:
    manager = ToolManager(build(settings(paths=("tools",)), LoadContext(Path(), ROOT)))
    assert manager.registry.names == ["dice", "text_statistics", "unit_conversion"]

    async def ask(tool: str, **parameters: Any) -> dict[str, Any]:
        return await manager.handle_tool_request({"tool": tool, "parameters": parameters})

    thrown = await ask("dice", notation="3d6+2")
    assert thrown["total"] == sum(thrown["rolls"]) + 2
    assert "not dice notation" in (await ask("dice", notation="many"))["error"]
    assert (await ask("unit_conversion", value=212, from_unit="F", to_unit="C"))["value"] == 100
    assert (await ask("unit_conversion", value=1, from_unit="mi", to_unit="km"))["value"] == 1.609344
    assert "these units are known" in (await ask("unit_conversion", value=1, from_unit="mi", to_unit="kg"))["error"]
    counted = await ask("text_statistics", text="A strawberry. Two!", count="r")
    assert (counted["words"], counted["sentences"], counted["occurrences"]) == (3, 2, 3)
