"""The report in a real browser: it reads without a script, and what models wrote runs nothing and fetches nothing."""

import html
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pypdf
import pytest

from ai_battle.conversation.manager import ConversationManager
from ai_battle.core.helping import HelpSummed
from ai_battle.reporting.comparison import ComparedRun, write_comparison
from ai_battle.reporting.exports import write_reports

from ..server.advisor.node import install
from .hostile import events
from .runs import EVENTS, write_run
from .test_html import HARMLESS, Page

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
DARK = "--blink-settings=preferredColorScheme=0"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium")


class Bait:
    """A server on loopback that a page may be made to ask, and the paths that it was asked for."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        paths = self.paths

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                paths.append(self.path)
                self.send_error(404)

            def log_message(self, *words: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def bait() -> Iterator[Bait]:
    made = Bait()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def browser(folder: Path, page: Path, *wish: str) -> str:
    command = [CHROMIUM or "", *ALONE, f"--user-data-dir={folder / 'profile'}", *wish, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


async def hostile_report(folder: Path, bait: Bait) -> Path:
    return write_reports(await write_run(folder / "run", *events(bait.address)))[1]


async def test_what_models_wrote_runs_nothing_and_fetches_nothing(tmp_path: Path, bait: Bait) -> None:
    report = await hostile_report(tmp_path, bait)
    shown = browser(tmp_path, report, "--dump-dom", "--virtual-time-budget=3000")

    assert "owned</title>" not in shown
    assert bait.paths == []
    page = Page(shown)
    assert {tag for tag, _ in page.tags} <= HARMLESS
    assert shown.count("<style") == 1
    assert "<script>document.title='owned'</script>" in "".join(page.texts)


@pytest.mark.slow
async def test_nothing_runs_or_is_fetched_even_where_no_policy_holds(tmp_path: Path, bait: Bait) -> None:
    """The policy in the page is the second lock: what is escaped needs no policy."""
    report = await hostile_report(tmp_path, bait)
    open_page = report.with_name("open.html")
    open_page.write_text(POLICY.sub("", report.read_text()))
    shown = browser(tmp_path, open_page, "--dump-dom", "--virtual-time-budget=3000")

    assert "owned</title>" not in shown
    assert bait.paths == []
    assert {tag for tag, _ in Page(shown).tags} <= HARMLESS


@pytest.mark.slow
async def test_the_bait_is_taken_by_a_page_that_does_not_escape(tmp_path: Path, bait: Bait) -> None:
    """Else the tests above would find nothing, whatever the report did."""
    page = tmp_path / "page.html"
    page.write_text(f"<title>x</title><img src='{bait.address}/i.png'><img src=x onerror=\"document.title='owned'\">")

    assert "owned</title>" in browser(tmp_path, page, "--dump-dom", "--virtual-time-budget=3000")
    assert bait.paths == ["/i.png"]


@pytest.mark.slow
async def test_the_report_can_be_looked_at(tmp_path: Path, bait: Bait) -> None:
    picture = tmp_path / "report.png"
    report = write_reports(await write_run(tmp_path / "run", *EVENTS))[1]
    browser(tmp_path, report, f"--screenshot={picture}", "--window-size=1000,1200")
    assert picture.stat().st_size > 20_000, "an empty page makes a smaller picture"


@pytest.mark.slow
async def test_on_paper_every_turn_is_whole_and_one_that_fits_a_page_is_not_cut(tmp_path: Path) -> None:
    lines = [[f"{turn}x{number}." for number in range(length)] for turn, length in enumerate((60, 10, 12, 14, 16, 18))]
    script = ["\n\n".join(turn) for turn in lines]
    models = {"Ann": {"type": "scripted", "script": script[::2]}, "Bob": {"type": "scripted", "script": script[1::2]}}
    talk = {"discussion": {"turns": 3, "goal": "Count.", "models": models}}
    await ConversationManager.from_config(talk, out=tmp_path / "run").run_discussion()

    paper = tmp_path / "report.pdf"
    browser(tmp_path, write_reports(tmp_path / "run")[1], "--no-pdf-header-footer", f"--print-to-pdf={paper}")

    pages = [page.extract_text() for page in pypdf.PdfReader(paper).pages]
    assert re.findall(r"\dx\d+\.", "".join(pages)) == [word for turn in lines for word in turn]
    for turn in lines[1:]:
        assert [page for page in pages if turn[0] in page] == [page for page in pages if turn[-1] in page]


@pytest.mark.parametrize("width", [390, pytest.param(1000, marks=pytest.mark.slow)])
async def test_nothing_of_the_page_is_wider_than_the_window(tmp_path: Path, bait: Bait, width: int) -> None:
    report = await hostile_report(tmp_path, bait)
    assert int(measure(tmp_path, report, width, "document.documentElement.scrollWidth")) <= width


@pytest.mark.slow
async def test_no_heading_and_no_role_is_broken_within_a_word_on_a_telephone(tmp_path: Path) -> None:
    used = {"participant": "ann", "calls": 1, "input_tokens": 1_245, "output_tokens": 40, "cost_usd": 0.0011}
    rows = tuple(used | {"role": role, "seconds": 61.0} for role in ("own", "helper", "wasted"))
    report = write_reports(
        await write_run(tmp_path / "run", *EVENTS[:-1], HelpSummed(3, 1, 0.1, rows=rows), EVENTS[-1])
    )
    words = "document.querySelectorAll('section > table th, [aria-label=help] td:nth-child(2)')"
    split = "each.textContent.split(' ').length < lines(each)"
    lines = "(each, all = document.createRange()) => (all.selectNodeContents(each), all.getClientRects().length)"

    found = measure(tmp_path, report[1], 390, f"(lines => [...{words}].filter(each => {split}).length)({lines})")
    assert int(found) == 0


@pytest.mark.slow
async def test_runs_beside_each_other_keep_columns_that_can_be_read_on_a_telephone(tmp_path: Path) -> None:
    runs = [ComparedRun(await write_run(tmp_path / name), name, name) for name in ("one", "two", "three")]
    write_comparison(tmp_path / "comparison.html", "Three", runs, [])
    narrowest = "Math.min(...[...document.querySelectorAll('.beside td')].map(each => each.offsetWidth))"

    assert int(measure(tmp_path, tmp_path / "comparison.html", 390, narrowest)) > 250


def measure(folder: Path, report: Path, width: int, expression: str) -> str:
    """Returns what a script says in a frame of that width: a window can't be as narrow as a telephone's."""
    script = f"<script>document.title = 'MEASURED' + ({expression})</script></body>"
    (folder / "inner.html").write_text(POLICY.sub("", report.read_text()).replace("</body>", script))
    frame = f'<iframe src="inner.html" style="width:{width}px;height:900px;border:0"></iframe>'
    seen = "<script>onload = () => document.title = frames[0].document.title</script>"
    (folder / "outer.html").write_text(f"{frame}{seen}")

    shown = browser(folder, folder / "outer.html", "--dump-dom", "--allow-file-access-from-files")
    found = re.search(r"<title>MEASURED(.*)</title>", shown)
    assert found, shown[:500]
    return found[1]


def serious_findings(report: Path, folder: Path, packages: pytest.TempPathFactory, *wish: str) -> list[tuple[str, str]]:
    """The rules of axe-core that a page breaks badly, each with the first place."""
    installed = install(packages.mktemp("npm"), "axe-core@4")
    axe = (installed / "node_modules" / "axe-core" / "axe.min.js").read_text()
    asked = "axe.run().then(found => document.title = 'AXE' + JSON.stringify(found.violations))"
    looked_at = folder / "axe.html"
    scripts = f"<script>{axe}</script><script>{asked}</script></body>"
    looked_at.write_text(POLICY.sub("", report.read_text()).replace("</body>", scripts))

    shown = browser(folder, looked_at, "--dump-dom", "--virtual-time-budget=30000", *wish)
    found = re.search(r"<title>AXE(.*?)</title>", shown, re.DOTALL)
    assert found
    bad = (each for each in json.loads(html.unescape(found[1])) if each["impact"] in ("serious", "critical"))
    return [(each["id"], each["nodes"][0]["html"]) for each in bad]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("run", ["usual", "hostile"])
async def test_axe_finds_nothing_serious(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, bait: Bait, scheme: str, run: str
) -> None:
    told = EVENTS if run == "usual" else events(bait.address)
    report = write_reports(await write_run(tmp_path / "run", *told))[1]
    wish = [DARK] if scheme == "dark" else []
    assert serious_findings(report, tmp_path, tmp_path_factory, *wish) == []
