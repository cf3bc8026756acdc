"""Which input files are not there, looked for when they are needed; a name that can't be one is not there either."""

import os
from collections.abc import Iterator
from pathlib import Path as FilePath

from ._reading import near_file
from .discussion import Discussion
from .inputs import InputFile, InputFiles
from .problems import Path, Problem


def missing_files(discussion: Discussion, base: FilePath) -> Iterator[Problem]:
    if discussion.input_file:
        yield from _missing(discussion.input_file, base, ("discussion", "input_file"))
    if discussion.input_files:
        yield from _missing_of(discussion.input_files, base)


def _missing_of(files: InputFiles, base: FilePath) -> Iterator[Problem]:
    for index, file in enumerate(files.files):
        yield from _missing(file, base, ("discussion", "input_files", "files", index))
    if files.directory and not os.path.isdir(base / os.path.expanduser(files.directory)):
        yield Problem(("discussion", "input_files", "directory"), f"there is no directory {files.directory!r}")


def _missing(file: InputFile, base: FilePath, path: Path) -> Iterator[Problem]:
    there = file.resolve(base)
    if file.names_video:
        return
    if os.path.isdir(there):
        yield Problem((*path, "path"), f"{file.path!r} is a directory; input_files takes one as 'directory'")
    elif not os.path.isfile(there):
        yield Problem((*path, "path"), f"there is no file {file.path!r} in {base}{near_file(there)}")
