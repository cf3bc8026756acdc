"""The schema of what the participants get to see: `input_file` and `input_files`."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ._values import TEXT, Listed, Name, Positive, Section, Short

FileType = Literal["image", "video", "text", "code", "pdf"]
VIDEOS = (".mp4", ".mov", ".avi", ".webm", ".mkv", ".m4v")
Resolution = Annotated[str, Field(pattern=r"^([1-9]\d{0,4}[xX][1-9]\d{0,4}|[1248][kK])$")]


def _file(written: Any) -> Any:
    return {"path": written} if isinstance(written, str) else written


def _files(written: Any) -> Any:
    return {"files": written} if isinstance(written, list | tuple) else written


class InputFile(Section):
    """A file that goes with the first prompt."""

    path: Name = Field(description="Relative to this YAML; ~ is the home directory.", examples=["./diagram.png"])
    type: FileType | None = Field(default=None, description="What it is; by default found from its content.")
    max_resolution: Resolution | None = Field(
        default=None, description="Larger images are scaled down (needs the extra 'images').", examples=["1024x1024"]
    )

    @property
    def names_video(self) -> bool:
        """Whether the file is called a video, by its type or else by its ending; such a file is not read."""
        return self.type == "video" or (self.type is None and self.path.lower().endswith(VIDEOS))

    def resolve(self, base: Path) -> Path:
        return base / os.path.expanduser(self.path)


AnyFile = Annotated[InputFile, Short(_file, TEXT)]


class InputFiles(Section):
    """Several files: listed, or found in a directory."""

    files: Listed[AnyFile] = Field(default=(), description="The files, each a path or {path, type, max_resolution}.")
    directory: str = Field(default="", description="Takes the files of this directory.", examples=["./src"])
    file_pattern: str = Field(default="*", description="Which files of the directory.", examples=["*.py"])
    max_files: Positive = Field(default=10, description="At most this many files of the directory.")
    max_resolution: Resolution | None = Field(default=None, description="For images that say nothing else.")


AnyFiles = Annotated[InputFiles, Short(_files, {"type": "array", "items": {"type": ["string", "object"]}})]
