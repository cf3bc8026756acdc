"""Videos: their length, and pictures at even intervals, both by ffmpeg in a separate process with a time limit."""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic

from ..core.errors import ConfigError
from .pictures import MOST_PIXELS, Size

SECONDS, PROBE_SECONDS = 120, 15
"""Limits for all pictures of one video, and before that for reading its header."""
_MAGIC = {b"\x1a\x45\xdf\xa3": "video/webm"}


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of a video, as a JPEG, at `second` from the start."""

    second: float
    data: bytes

    @property
    def time(self) -> str:
        minutes, seconds = divmod(round(self.second), 60)
        return f"{minutes}:{seconds:02}"


def media_type(head: bytes) -> str:
    """Returns the media type of a video with this beginning; "" for anything else."""
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "video/x-msvideo"
    return _MAGIC.get(head[:4], "")


def lacking() -> str:
    """Returns why no pictures can be taken of videos here, or ""."""
    missing = [program for program in ("ffprobe", "ffmpeg") if shutil.which(program) is None]
    if not missing:
        return ""
    return (
        f"{missing[0]}, which takes pictures out of it, is not installed: apt install ffmpeg (or brew install ffmpeg); "
        "or give pictures of it"
    )


def frames(path: Path, name: str, count: int, box: Size) -> tuple[float, list[Frame]]:
    """Returns the length in seconds (0 if the file does not state it), and `count` pictures at even intervals.

    Raises `ConfigError` if ffmpeg is missing, can't read the file, or takes too long.
    """
    if why := lacking():
        raise ConfigError(f"{name} is a video, and {why}")
    ends = monotonic() + SECONDS
    length = _length(path, name, monotonic() + PROBE_SECONDS)
    count = max(1, min(count, int(length * 10)))  # more pictures of a short video would be equal
    times = [(number + 0.5) * length / count for number in range(count)]
    found = [Frame(time, data) for time in times if (data := _frame(path, name, time, box, ends))]
    if not found:
        raise ConfigError(f"{name} is a video from which ffmpeg can take no picture")
    return length, found


def _length(path: Path, name: str, ends: float) -> float:
    options = ("-show_entries", "format=duration:stream=codec_type", "-of", "json")
    try:
        probed = json.loads(_output(("ffprobe", "-v", "quiet", *options, *_input(path)), name, ends))
    except ValueError as error:
        raise ConfigError(f"{name} is a video that ffprobe can't read: it is damaged") from error
    if all(stream.get("codec_type") != "video" for stream in probed.get("streams", ())):
        raise ConfigError(
            f"{name} is a video in which ffprobe finds no pictures: it is damaged or has only sound; see if it plays"
        )
    length = float(probed.get("format", {}).get("duration", 0))
    return length if isfinite(length) and length > 0 else 0.0


def _frame(path: Path, name: str, time: float, box: Size, ends: float) -> bytes:
    """Returns a JPEG, or nothing if there is no picture at that time."""
    fitted = f"scale=w='min({box[0]},iw)':h='min({box[1]},ih)':force_original_aspect_ratio=decrease"
    made = ("-frames:v", "1", "-an", "-vf", fitted, "-map_metadata", "-1", "-q:v", "5", "-f", "mjpeg", "pipe:1")
    quiet = ("ffmpeg", "-v", "quiet", "-nostdin", "-threads", "1", "-max_pixels", str(MOST_PIXELS))
    return _output((*quiet, "-ss", f"{time:.3f}", *_input(path), *made), name, ends)


def _input(path: Path) -> tuple[str, ...]:
    """Returns the input arguments. Only files may be opened, so that a playlist can't reach the network."""
    return "-protocol_whitelist", "file", "-i", f"file:{os.path.abspath(path)}"


def _output(command: tuple[str, ...], name: str, ends: float) -> bytes:
    """Returns the output of a program. If it takes too long, it is killed with its children."""
    # To a file, since a pipe would stay open if the program is a wrapper script whose child outlives it.
    with TemporaryFile() as written:
        process = subprocess.Popen(  # noqa: S603 - a fixed program, and no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that `_end` reaches children
        )
        try:
            process.wait(max(0.1, ends - monotonic()))
        except subprocess.TimeoutExpired as error:
            raise ConfigError(
                f"{name} is a video that {command[0]} can't process in time; shorten it, or give pictures of it"
            ) from error
        finally:
            _end(process)
        written.seek(0)
        return written.read()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.wait()
