"""`file_manipulation`: lists, reads, writes, edits and searches files of a workspace, and no others."""

import fnmatch
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core.errors import ToolError
from .._tasks import in_thread
from ..base import Parameters, Tool, errors_as_fields
from ..rooted import Entry, RootedFolder

LISTED, FOUND, SCANNED = 300, 100, 20_000
READ, WRITTEN, SEARCHED = 1 << 20, 4 << 20, 64 << 20
LINE, SECONDS, FOLDERS_DEEP = 300, 10.0, 32
Fields = dict[str, Any]


class FileManipulationTool(Tool):
    name = "file_manipulation"
    description = (
        "Work with the files of the workspace. list: what a folder holds; read: a text file, or lines of it; write: "
        "a whole file (folders are made); edit: replace old_text, which must occur exactly once, by new_text; "
        "search: the lines that contain a text. Paths start from the workspace."
    )
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "action": {"type": "string", "enum": ["list", "read", "write", "edit", "search"], "required": True},
        "path": {"type": "string", "description": "File or folder; '.' is the workspace", "default": "."},
        "content": {"type": "string", "description": "write: the whole new content"},
        "old_text": {"type": "string", "description": "edit: what stands there now, exactly as in the file"},
        "new_text": {"type": "string", "description": "edit: what shall stand there"},
        "query": {"type": "string", "description": "search: the text to find, not a pattern; case does not matter"},
        "file_pattern": {"type": "string", "description": "search, list: only files such as '*.py'", "default": "*"},
        "recursive": {"type": "boolean", "description": "list: folders inside too", "default": False},
        "first_line": {"type": "integer", "minimum": 1, "description": "read: where to begin", "default": 1},
        "line_count": {"type": "integer", "minimum": 1, "description": "read: how many lines; all by default"},
    }

    def __init__(self, workspace: Path = Path(), read_only: bool = False, run_dir: Path | None = None) -> None:
        """Takes `run_dir`, where the run is recorded: it is closed even if it is inside the workspace."""
        self.files = RootedFolder(Path(workspace), run_dir)
        self.read_only = read_only
        self.writes = not read_only

    def changes(self, parameters: Parameters) -> bool:
        return parameters.get("action") in ("write", "edit")

    @errors_as_fields
    async def execute(self, parameters: Fields) -> Fields:
        action = parameters.get("action", "")
        if action not in ACTIONS:
            raise ToolError(f"There is no action {action!r:.50}; there is {', '.join(ACTIONS)}.")
        if self.read_only and self.changes(parameters):
            raise ToolError(f"{action} is not allowed: these files may only be read.")
        return await in_thread(ACTIONS[action], self.files, parameters)


def _list(files: RootedFolder, given: Parameters) -> Fields:
    path, pattern = given.get("path", "."), given.get("file_pattern", "*")
    found = list(_walk(files, path)) if given.get("recursive") else files.entries(path, SCANNED)
    fitting = sorted((one for one in found if _fits(one, pattern)), key=lambda one: one.path)
    shown = [{"path": one.path, "type": one.kind, "size": one.size} for one in fitting[:LISTED]]
    return {"entries": shown, "total": len(fitting), **_truncation_note(len(fitting) > LISTED or len(found) >= SCANNED)}


def _read(files: RootedFolder, given: Parameters) -> Fields:
    path = given.get("path", "")
    data, size = files.read(path, READ)
    lines = _text(path, data, cut_off=size > len(data)).split("\n")
    first = given.get("first_line", 1)
    if first > len(lines):
        within = f"the first {READ:,} of its {size:,} bytes have" if size > len(data) else "it has"
        raise ToolError(f"{path} has no line {first:,} to begin with: {within} {len(lines):,}.")
    chosen = lines[first - 1 :][: given.get("line_count")]
    part = {} if len(chosen) == len(lines) else {"lines": f"{first} to {first + len(chosen) - 1} of {len(lines)}"}
    return {"path": path, "content": "\n".join(chosen), "size": size, **part, **_truncation_note(size > len(data))}


def _write(files: RootedFolder, given: Parameters) -> Fields:
    data = _bytes(_text_parameter(given, "content"))
    new = files.write(given.get("path", ""), data)
    return {"path": given.get("path", ""), "size": len(data), "created": new}


def _edit(files: RootedFolder, given: Parameters) -> Fields:
    path, old, new = given.get("path", ""), _text_parameter(given, "old_text"), _text_parameter(given, "new_text")
    data, size = files.read(path, WRITTEN)
    if size > len(data):
        raise ToolError(f"{path} has {size:,} bytes; files of up to {WRITTEN:,} can be edited.")
    text = _strict_text(path, data)
    # Models write "\n", also for files with Windows line ends.
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    line = _line_of_only(text, old, path)
    if old == new:
        raise ToolError("old_text and new_text are the same; nothing was changed.")
    files.write(path, _bytes(text.replace(old, new, 1)))
    return {"path": path, "replaced": 1, "line": line}


def _search(files: RootedFolder, given: Parameters) -> Fields:
    query = _text_parameter(given, "query").lower()
    if not query:
        raise ToolError("query is empty; give a text to find.")
    matches: list[Fields] = []
    until, left = time.monotonic() + SECONDS, SEARCHED
    for entry in _files_to_search(files, given):
        if len(matches) >= FOUND or left <= 0 or time.monotonic() > until:
            return {"matches": matches[:FOUND], **_truncation_note(True)}
        data = _readable_bytes(files, entry)
        left -= len(data)
        matches += _lines_with(query, entry.path, data)
    return {"matches": matches[:FOUND], **_truncation_note(len(matches) > FOUND)}


ACTIONS: Mapping[str, Callable[[RootedFolder, Parameters], Fields]] = {
    "list": _list,
    "read": _read,
    "write": _write,
    "edit": _edit,
    "search": _search,
}


def _text_parameter(given: Parameters, name: str) -> str:
    if not isinstance(text := given.get(name), str):
        raise ToolError(f"{given['action']} needs {name}.")
    return text


def _truncation_note(there_is: bool) -> Fields:
    return {"truncated": True} if there_is else {}


def _fits(entry: Entry, pattern: str) -> bool:
    return (entry.kind == "folder" and pattern == "*") or fnmatch.fnmatch(entry.path.rpartition("/")[2], pattern)


def _walk(files: RootedFolder, path: str) -> Iterator[Entry]:
    """Yields everything below a folder, breadth first, up to `SCANNED` entries."""
    waiting, seen = [(path, 0)], 0
    while waiting and seen < SCANNED:
        here, depth = waiting.pop(0)
        for entry in _folder_entries(files, here, SCANNED - seen) if depth else files.entries(here, SCANNED):
            seen += 1
            yield entry
            if entry.kind == "folder" and depth < FOLDERS_DEEP:
                waiting.append((entry.path, depth + 1))


def _folder_entries(files: RootedFolder, path: str, most: int) -> list[Entry]:
    """Returns the entries of a folder, or nothing if it can't be opened or is not a folder any more."""
    try:
        return files.entries(path, most)
    except ToolError:
        return []


def _files_to_search(files: RootedFolder, given: Parameters) -> Iterator[Entry]:
    path, pattern = given.get("path", "."), given.get("file_pattern", "*")
    try:
        found = _walk(files, path)
        yield from (entry for entry in found if entry.kind == "file" and _fits(entry, pattern))
    except ToolError:
        _, size = files.read(path, 0)
        yield Entry(path, "file", size)


def _readable_bytes(files: RootedFolder, entry: Entry) -> bytes:
    """Returns the bytes of a file, or nothing if it can't be read or is binary."""
    try:
        data, _ = files.read(entry.path, READ)
    except ToolError:
        return b""
    return b"" if b"\0" in data else data


def _lines_with(query: str, path: str, data: bytes) -> list[Fields]:
    lines = enumerate(data.decode(errors="replace").split("\n"), 1)
    return [{"path": path, "line": number, "text": line[:LINE]} for number, line in lines if query in line.lower()]


def _text(path: str, data: bytes, *, cut_off: bool = False) -> str:
    if b"\0" in data:
        raise ToolError(f"{path} is not text: it holds NUL bytes.")
    return data.decode(errors="ignore" if cut_off else "replace")


def _strict_text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is not UTF-8 text, so an edit would damage it.") from error


def _bytes(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The content holds half a character (at {error.start:,}), which no file can keep.") from error
    if len(data) > WRITTEN:
        raise ToolError(f"The content has {len(data):,} bytes; {WRITTEN:,} are allowed.")
    return data


def _line_of_only(text: str, old: str, path: str) -> int:
    """Returns the line where the only occurrence of `old` begins. Raises `ToolError` if there is not exactly one."""
    if not old:
        raise ToolError("old_text is empty; give the text that is to be replaced.")
    count = text.count(old)
    if count > 1:
        raise ToolError(f"old_text occurs {count} times in {path}; give more of what stands around it.")
    if count == 0:
        close = " It does but for white space." if _without_blanks(old) in _without_blanks(text) else ""
        raise ToolError(f"old_text does not occur in {path}; read the file and copy the text exactly.{close}")
    return text.count("\n", 0, text.index(old)) + 1


def _without_blanks(text: str) -> str:
    return " ".join(text.split())
