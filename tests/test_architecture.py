"""The house stands: who may import whom, how large things are, and where a broad except may be."""

import ast
import re
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent / "ai_battle"
LAYERS = (
    {"core"},
    {"wire", "signals", "config"},
    {"judging", "files", "evidence", "executors"},
    {"providers", "tools", "collaboration"},
    {"assembly"},
    {"conversation", "arbiter", "server", "benchmark", "reporting"},
    {"ui"},
    {"cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(LAYERS) for room in rooms}
MECHANISMS = LAYERS[3]
MAY_IMPORT_LATE = ("cli", "__init__", "core/plugins")


@dataclass(frozen=True)
class File:
    """What is looked at of a file; `functions` are names with their first and last lines.

    `nouns` are those whose docstring begins with a clause: a property is a value, and may be said so.

    `loading` are those of its `imports` that are made when it runs, be it late; the others are for type checkers.
    """

    name: str
    lines: int
    opening: str
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    loading: tuple[ast.Import | ast.ImportFrom, ...]
    functions: tuple[tuple[str, int, int], ...]
    nouns: tuple[str, ...]
    classes: tuple[str, ...]
    is_broad: bool

    @classmethod
    def read(cls, path: Path) -> "File":
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        imports = tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        never_run = {within for node in nodes if _is_for_type_checkers(node) for within in ast.walk(node)}
        return cls(
            str(path.relative_to(ROOT)),
            text.count("\n"),
            ast.get_docstring(tree) or "",
            imports,
            tuple(node for node in imports if node not in never_run),
            tuple((node.name, node.lineno, node.end_lineno or 0) for node in functions),
            tuple(node.name for node in functions if _is_noun(node)),
            tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
            any(isinstance(node, ast.ExceptHandler) and _is_broad(node) for node in nodes),
        )

    @property
    def room(self) -> str:
        return Path(self.name).parts[0].removesuffix(".py")

    @property
    def module(self) -> str:
        return ".".join(("ai_battle", *Path(self.name).with_suffix("").parts)).removesuffix(".__init__")

    def loads(self, modules: Collection[str]) -> set[str]:
        """Those of the modules that are loaded by it, by their own name or for a name in them."""
        paths = [path for node in self.loading for path in self._paths_of(node)]
        named = (".".join(path) if ".".join(path) in modules else ".".join(path[:-1]) for path in paths)
        return {module for module in named if module in modules}

    @property
    def imported_rooms(self) -> set[str]:
        """The top-level rooms of the package that it imports from, without its own."""
        modules = (module for node in self.imports for module in self._paths_of(node))
        return {module[1] for module in modules if len(module) > 1 and module[0] == "ai_battle"} - {self.room}

    @property
    def imported_packages(self) -> set[str]:
        return {module[0] for node in self.imports for module in self._paths_of(node)}

    def _paths_of(self, node: ast.Import | ast.ImportFrom) -> list[list[str]]:
        if isinstance(node, ast.Import):
            return [alias.name.split(".") for alias in node.names]
        package = ("ai_battle", *Path(self.name).parts[:-1])
        above = package[: len(package) + 1 - node.level] if node.level else ()
        module = [*above, *(node.module.split(".") if node.module else [])]
        return [[*module, alias.name] for alias in node.names]


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_noun(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    opening = (ast.get_docstring(node) or "").partition(" ")[0]
    is_value = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    return not is_value and opening in ("What", "Whether", "Why", "How", "Where", "Who")


def _is_broad(node: ast.ExceptHandler) -> bool:
    return node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"}


@cache
def files() -> tuple[File, ...]:
    return tuple(File.read(path) for path in sorted(ROOT.rglob("*.py")))


def test_files_import_only_from_below_and_mechanisms_never_each_other() -> None:
    for file in files():
        for there in file.imported_rooms:
            lies_below = FLOOR.get(there, 0) <= FLOOR.get(file.room, len(LAYERS))
            assert lies_below, f"{file.name} imports {there}, which lies above it"
            assert not {file.room, there} <= MECHANISMS, f"{file.name} imports {there}"


def test_no_file_imports_itself_by_way_of_others() -> None:
    modules = {file.module for file in files()}
    loads = {file.module: file.loads(modules) for file in files()}
    done: set[str] = set()
    way: list[str] = []

    def visit(name: str) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name in done:
            return
        way.append(name)
        for there in sorted(loads[name]):
            visit(there)
        done.add(way.pop())

    for name in sorted(loads):
        visit(name)


def test_few_tests_know_what_is_private() -> None:
    """A private module is one whose name begins with an underscore; the others may be used by anybody."""
    tests = {path: path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")}
    count = {path: len(re.findall(r"^ *(?:async )?def test_", text, re.MULTILINE)) for path, text in tests.items()}
    inside = [path for path, text in tests.items() if re.search(r"^ *from ai_battle[\w.]*\._[a-z]", text, re.MULTILINE)]
    assert sum(count[path] for path in inside) <= sum(count.values()) / 10


def test_research_is_no_part_of_the_package() -> None:
    """It learns weights and counts figures with what the package has, which runs without it."""
    assert [file.name for file in files() if "research" in file.imported_packages] == []


def test_a_file_holds_one_concept_and_says_which() -> None:
    for file in files():
        assert file.lines <= 400, file.name
        assert file.opening, f"{file.name} opens with no sentence that says what it is"


def test_a_class_name_has_one_meaning_in_the_whole_package() -> None:
    where: dict[str, list[str]] = {}
    for file in files():
        for name in file.classes:
            where.setdefault(name.lstrip("_"), []).append(file.name)
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


def test_what_a_function_does_begins_with_a_verb() -> None:
    assert {file.name: file.nouns for file in files() if file.nouns} == {}


def test_no_function_is_named_by_a_participle() -> None:
    """What it does is a verb, what it returns a noun; a participle leaves the reader to guess which.

    A noun makes it an adjective, as in `offered_tools`; a preposition or an adverb does not.
    """
    irregular = (
        "begun|bound|broken|brought|built|chosen|done|drawn|found|frozen|given|gone|heard|held|hidden|kept|known"
    )
    irregular += "|led|left|lost|made|met|paid|said|seen|sent|shown|spent|spoken|stuck|taken|taught|thought|told|unseen"
    irregular += "|won|written"
    after = "about|after|again|all|alone|and|apart|as|aside|at|away|back|before|below|beyond|by|down|first|for|from|in"
    after += "|into|last|next|of|off|often|on|once|or|out|over|something|there|to|too|twice|under|until|up|with|within"
    after += "|without|wrong"
    participle = rf"_*(?:[a-z]+[^e_]ed|{irregular})"
    bare = re.compile(rf"(?<!property)\n *(?:async )?def ({participle})\(")
    compound = re.compile(rf"\n *(?:async )?def ({participle}_(?:{after})(?:_\w+)?)\(")
    rooms = ("ai_battle", "docs", "research", "tests", "tools")
    texts = {path: path.read_text(encoding="utf-8") for room in rooms for path in (ROOT.parent / room).rglob("*.py")}
    found = {path: [*bare.findall(text), *compound.findall(text)] for path, text in texts.items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_functions_stay_small() -> None:
    sizes = sorted(last - first + 1 for file in files() for _, first, last in file.functions)
    assert sizes[len(sizes) // 2] <= 8
    assert sizes[len(sizes) * 9 // 10] <= 25
    assert sizes[-1] <= 50


def test_imports_inside_functions_serve_laziness_only() -> None:
    for file in files():
        if not file.name.startswith(MAY_IMPORT_LATE) and not file.name.endswith("__init__.py"):
            for name, first, last in file.functions:
                late = [node.lineno for node in file.imports if first < node.lineno <= last]
                assert not late, f"{file.name}:{late} {name}"


def test_foreign_exceptions_are_caught_broadly_in_one_place_only() -> None:
    assert {file.name for file in files() if file.is_broad} <= {"core/plugins.py"}


def test_importing_the_package_loads_no_provider_sdk() -> None:
    """Neither does `ai-battle --help`: an SDK costs up to a second, and is paid for by those who use it."""
    heavy = ["openai", "anthropic", "ollama", "httpx", "httpx2", "xllamacpp", "genai_prices", "google"]
    look = f"import sys; print([name for name in {heavy!r} if name in sys.modules])"
    shows_help = "from ai_battle.cli import commands; commands.main(['--help'], standalone_mode=False)"
    for load in ("import ai_battle", shows_help):
        shown = subprocess.run([sys.executable, "-c", f"{load}; {look}"], capture_output=True, text=True, check=True)
        assert shown.stdout.splitlines()[-1] == "[]"


def test_a_run_of_scripted_models_loads_no_http_client_no_tools_and_no_strategies(tmp_path: Path) -> None:
    """They are half of what a command takes to start, and are paid for by those who use them."""
    rooms = "tools", "arbiter.judging", "providers.replay", "collaboration.rescue", "wire.dialects.reader"
    heavy = ["aiohttp", *(f"ai_battle.{room}" for room in rooms)]
    look = f"import sys; print([name for name in {heavy!r} if name in sys.modules])"
    runs = "from ai_battle.cli import commands; commands.main(['run', 'quickstart', '-q'], standalone_mode=False)"
    command = [sys.executable, "-c", f"{runs}; {look}"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_a_group_is_repeated_possessively_as_an_atomic_group() -> None:
    """Python 3.11.2, which Debian 12 has, goes on behind what such a group failed to match: `(?:...)*+`."""
    wrong = re.compile(r"(?<!\\)\)(?:[*+?]|\{+\d*,?\d*\}+)\+[^+]?")
    found = {file.name: found for file in files() if (found := wrong.findall(patterns(file.name)))}
    assert found == {}


def patterns(name: str) -> str:
    """The raw strings of a file, which is where its patterns are."""
    return "\n".join(re.findall(r"\brf?\"[^\n]*", (ROOT / name).read_text(encoding="utf-8")))


def test_a_server_loads_nothing_of_discussions_and_reports() -> None:
    """They take half as much memory again, and half of the time that a server takes to start."""
    shown = "import ai_battle.cli.serve, sys; print(*(name for name in sys.modules if name.startswith('ai_battle.')))"
    loaded = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True).stdout.split()
    rooms = ("conversation.", "reporting.", "benchmark.", "files.")
    assert [name for name in loaded if name.removeprefix("ai_battle.").startswith(rooms)] == []
