"""The report in a real browser: it reads without a script, and what models wrote runs nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.reporting import write_reports
from ai_battle.testing import ScriptedClient

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ALONE = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOSTILE = (
    "<script>document.title = 'owned'</script>"
    "<img src=x onerror=\"document.title = 'owned'\">"
    "</style><style>body { display: none }</style>"
    "[click](javascript:document.title='owned')"
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium")


async def report(folder: Path) -> Path:
    speakers = [Participant("Ann", ScriptedClient(HOSTILE)), Participant("Bob", ScriptedClient("**Hm.**"))]
    result = await ConversationManager(speakers, goal="Break out.", turns=1, out=folder / "run").run_discussion()
    return write_reports(result.run_dir)[1]


def browser(folder: Path, page: Path, *wish: str) -> str:
    command = [CHROMIUM or "", *ALONE, f"--user-data-dir={folder / 'profile'}", *wish, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


async def test_what_models_wrote_is_read_and_not_run(tmp_path: Path) -> None:
    shown = browser(tmp_path, await report(tmp_path), "--dump-dom")
    assert "owned</title>" not in shown
    assert "&lt;script&gt;document.title = 'owned'&lt;/script&gt;" in shown
    assert "<img" not in shown
    assert shown.count("<style") == 1


async def test_the_report_can_be_looked_at(tmp_path: Path) -> None:
    picture = tmp_path / "report.png"
    browser(tmp_path, await report(tmp_path), f"--screenshot={picture}", "--window-size=1000,1200")
    assert picture.stat().st_size > 20_000, "an empty page makes a smaller picture"
