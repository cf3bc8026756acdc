"""Draws the pictures of the README and the gallery from shipped configurations: `make pictures`.

The terminal's is what a terminal shows, as SVG; those of the reports are taken with a headless Chromium.
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).parent / "pictures"
CONFIGS = Path(__file__).parent.parent / "configs"
COLUMNS, ROWS = 96, 40
STATUS_LINE = re.compile(r"\x1b7.*?\x1b8|\x1bD\x1b\[A", re.DOTALL)
"""Written between saving and restoring the place of the cursor."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HEADLESS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1")


PIRATE = ("--set", "discussion.models.Ada.persona=A pirate.")


def main() -> None:
    """Draw them all; the pages need a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for config, picture in (("helped-demo", "terminal"), ("advisor-demo", "advisor")):
            screen = terminal_output(["run", str(CONFIGS / f"{config}.yaml"), "--out", str(folder / config)])
            screen = screen.replace(str(folder), "runs")
            draw_terminal(screen, f"ai-battle run {config}", FOLDER / f"{picture}.svg")
        results = folder / "results"
        terminal_output(["bench", "run", str(CONFIGS / "benchmarks" / "recorded-gsm8k.yaml"), "--out", str(results)])
        talk = folder / "quickstart"
        terminal_output(["run", str(CONFIGS / "quickstart.yaml"), "--out", str(talk), "--quiet"])
        terminal_output(["fork", str(talk), "--at", "3", *PIRATE, "-n", "2", "--out", str(folder / "forks"), "--quiet"])
        if browser is None:
            sys.exit("The pages need Chromium: apt-get install chromium")
        report = folder / "helped-demo" / "report.html"
        photograph(browser, report, FOLDER / "report.png", (960, 1150))
        photograph(browser, report, FOLDER / "phone.png", (500, 1000))
        photograph(browser, results / "report.html", FOLDER / "benchmark.png", (1150, 1310))
        photograph(browser, folder / "forks" / "comparison.html", FOLDER / "comparison.png", (1300, 900))


def terminal_output(arguments: Sequence[str]) -> str:
    """All that the command writes to a terminal; raises `CalledProcessError` where it fails."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "ai_battle", *arguments]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdin=its, stdout=its, stderr=its, env=environment, close_fds=True
    ) as process:
        os.close(its)
        shown = b"".join(_pieces(ours))
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command, shown)
    return shown.decode()


def _pieces(terminal: int) -> "list[bytes]":
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side is closed
            return pieces
        if not piece:
            return pieces
        pieces.append(piece)


def draw_terminal(shown: str, title: str, path: Path) -> None:
    """What scrolls by; the line of figures at the bottom, which is gone in the end, is left out."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text.from_ansi(STATUS_LINE.sub("", shown.replace("\r\n", "\n")).strip()))
        console.save_svg(str(path), title=title, unique_id=path.stem)


def photograph(browser: str, page: Path, path: Path, size: tuple[int, int]) -> None:
    window = f"--window-size={size[0]},{size[1]}"
    with tempfile.TemporaryDirectory() as profile:
        options = (*HEADLESS, f"--user-data-dir={profile}", f"--screenshot={path}", window)
        command = [browser, *options, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - a page of ours


if __name__ == "__main__":
    main()
