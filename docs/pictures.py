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
from contextlib import ExitStack
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


SCREENS = {"helped-demo": "terminal", "advisor-demo": "advisor"}
"""Which run each picture of a terminal shows."""
PIRATE = ("--set", "discussion.models.Ada.persona=A pirate.")


def main() -> None:
    """Draw them all; the pages need a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for config, picture in SCREENS.items():
            draw_terminal(run_on_screen(config, folder), f"ai-battle run {config}", FOLDER / f"{picture}.svg")
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
        photograph_page(browser, folder, FOLDER / "page.png")


def run_on_screen(config: str, folder: Path) -> Text:
    """What scrolls by; the line of figures at the bottom, which is gone in the end, is left out."""
    shown = terminal_output(["run", str(CONFIGS / f"{config}.yaml"), "--out", str(folder / config)])
    shown = shown.replace(str(folder), "runs").replace("\r\n", "\n")
    return Text.from_ansi(STATUS_LINE.sub("", shown).strip())


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
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side is closed
            return pieces
        if not piece:
            return pieces
        pieces.append(piece)


def draw_terminal(shown: Text, title: str, path: Path) -> None:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(shown)
        console.save_svg(str(path), title=title, unique_id=path.stem)


def photograph(browser: str, page: Path, path: Path, size: tuple[int, int]) -> None:
    window = f"--window-size={size[0]},{size[1]}"
    with tempfile.TemporaryDirectory() as profile:
        options = (*HEADLESS, f"--user-data-dir={profile}", f"--screenshot={path}", window)
        command = [browser, *options, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - a page of ours


def photograph_page(browser: str, folder: Path, path: Path) -> None:
    """Two runs beside each other, of which one waits for the person at the page."""
    from playwright.sync_api import sync_playwright

    quickstart = (CONFIGS / "quickstart.yaml").read_text(encoding="utf-8")
    (folder / "with-me.yaml").write_text(quickstart.replace("  models:\n", "  models:\n    You: {role: user}\n"))
    (folder / "quickstart.yaml").write_text(quickstart)
    command = [sys.executable, "-m", "ai_battle", "ui", "--no-open", "--port", "0"]
    with (
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603 - our own
        ExitStack() as ends,
    ):
        ends.callback(server.terminate)
        playwright = ends.enter_context(sync_playwright())
        assert server.stdout
        tab = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        tab.set_viewport_size({"width": 1300, "height": 860})
        tab.goto(server.stdout.readline().removeprefix("Open "))
        for name in ("quickstart", "with-me"):
            tab.get_by_role("link", name="Start", exact=True).click()
            tab.get_by_role("link", name=f"{name}.yaml").click()
            tab.get_by_text("No problems").wait_for()
            tab.get_by_role("button", name="Start").click()
            tab.get_by_role("heading", level=1).wait_for()
            if name == "quickstart":
                tab.locator(".pane .status.done").wait_for()
        tab.get_by_label("What You says").press_sequentially("Start with the small one. What would you measure")
        tab.keyboard.press("Enter")
        tab.locator("article.turn", has_text="Dull questions").wait_for()
        tab.get_by_role("link", name="Runs").click()
        for place in range(2):
            tab.get_by_role("checkbox").nth(place).check()
        tab.get_by_role("button", name="Watch together").click()
        tab.locator(".pane").nth(1).locator("article.turn", has_text="Dull questions").wait_for()
        tab.get_by_label("What You says").fill("And who decides when it is worth asking the large one?")
        tab.wait_for_timeout(500)
        tab.screenshot(path=path)


if __name__ == "__main__":
    main()
