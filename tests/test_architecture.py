"""The house stands: who may import whom, how large things are, and where a broad except may be."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "ai_battle"
LAYERS = (
    {"core"},
    {"wire", "signals", "config"},
    {"providers", "tools", "collaboration"},
    {"assembly"},
    {"conversation", "server", "benchmark", "reporting"},
    {"cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(LAYERS) for room in rooms}
MECHANISMS = LAYERS[2]
MAY_IMPORT_LATE = ("cli", "__init__", "core/plugins")
FILES = sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[str]:
    """The top-level rooms of the package that a file imports from."""
    package = path.relative_to(ROOT.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = list(package[: len(package) + 1 - node.level]) if node.level else []
            modules = [[*above, *(node.module or "").split("."), alias.name] for alias in node.names]
        else:
            continue
        for module in ([part for part in module if part] for module in modules):
            if len(module) > 1 and module[0] == "ai_battle":
                yield module[1]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_from_below_and_mechanisms_never_each_other(path: Path) -> None:
    here = room_of(path)
    for there in set(imported_rooms(path)) - {here}:
        assert FLOOR.get(there, 0) <= FLOOR.get(here, len(LAYERS)), f"{here} imports {there}, which lies above it"
        assert not {here, there} <= MECHANISMS, f"{here} imports {there}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_concept_and_says_which(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    assert ast.get_docstring(ast.parse(text)), "opens with no sentence that says what it is"


def test_functions_stay_small() -> None:
    sizes = sorted((node.end_lineno or 0) - node.lineno + 1 for path in FILES for node in functions(path))
    assert sizes[len(sizes) // 2] <= 8
    assert sizes[len(sizes) * 9 // 10] <= 25
    assert sizes[-1] <= 50


def test_imports_inside_functions_serve_laziness_only() -> None:
    for path in FILES:
        if not str(path.relative_to(ROOT)).startswith(MAY_IMPORT_LATE) and path.name != "__init__.py":
            for node in functions(path):
                late = [child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)]
                assert not late, f"{path}:{node.lineno} {node.name}"


def test_foreign_exceptions_are_caught_broadly_in_one_place_only() -> None:
    broad = [
        str(path.relative_to(ROOT))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
    ]
    assert set(broad) <= {"core/borders.py"}


def test_importing_the_package_loads_no_provider_sdk() -> None:
    """Neither does `ai-battle --help`: an SDK costs up to a second, and is paid for by those who use it."""
    heavy = ["openai", "anthropic", "ollama", "httpx", "httpx2", "xllamacpp", "genai_prices", "google"]
    look = f"import sys; print([name for name in {heavy!r} if name in sys.modules])"
    shows_help = "from ai_battle.cli import commands; commands.main(['--help'], standalone_mode=False)"
    for load in ("import ai_battle", shows_help):
        shown = subprocess.run([sys.executable, "-c", f"{load}; {look}"], capture_output=True, text=True, check=True)
        assert shown.stdout.splitlines()[-1] == "[]"
