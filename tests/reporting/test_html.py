"""The report: one file that runs nothing, whatever models wrote into the run."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ai_battle.core.events import Concluded, RunFinished, RunStarted, TurnFailed
from ai_battle.core.exchange import NOTHING_USED
from ai_battle.reporting.exports import export, write_reports
from ai_battle.reporting.sentences import sentence

from .runs import write_run

HARMLESS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "h1", "h2", "p", "b",
    "span", "small", "a", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "figure", "figcaption", "strong", "em",
    "svg", "g", "rect", "text", "div", "ul", "ol", "li", "blockquote", "pre", "code", "details", "summary",
    "img", "br",
}  # fmt: skip


class Page(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
async def html(tmp_path: Path) -> str:
    return "".join(export(await write_run(tmp_path), "html"))


@pytest.fixture
def page(html: str) -> Page:
    return Page(html)


def test_what_models_wrote_is_text_and_nothing_else(page: Page) -> None:
    """No tag, no handler and no link of theirs; the page is still whole, also after a fence that was never closed."""
    assert {tag for tag, _ in page.tags} <= HARMLESS
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert all((link["href"] or "").startswith("#turn-") for link in page.attributes("a"))
    assert page.open == []
    text = "".join(page.texts)
    for alert in range(1, 7):
        assert f"alert({alert})" in text


def test_the_page_needs_nothing_and_lets_nothing_in(html: str, page: Page) -> None:
    [policy] = [a["content"] or "" for a in page.attributes("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    style = re.search("<style>(.*)</style>", html, re.DOTALL)

    assert style
    assert f"'sha256-{base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert not re.search(r"https?:|url\(|@import", html)
    assert "style" not in {name for _, attributes in page.tags for name in attributes}


def test_words_and_code_look_as_they_were_meant(html: str) -> None:
    assert "<p>Plain <strong>words</strong>, and <code>code</code>.</p>" in html
    assert "<pre>&lt;script&gt;alert(5)&lt;/script&gt;</pre>" in html


def test_control_characters_do_not_reach_the_page(html: str) -> None:
    assert "␛[31mred␀" in html
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)


def test_every_turn_can_be_linked_to_and_says_what_it_took(page: Page) -> None:
    assert [article["id"] for article in page.attributes("article")] == ["prompt", "turn-1", "turn-2", "turn-4"]
    assert "gpt-4o · 1 min 01 s · 1,000 → 200 tokens · $0.5000" in page.texts
    assert {"prompt", "2 attempts", "cut off at the length limit"} <= set(page.texts)


def test_what_is_not_known_is_not_called_nothing(page: Page) -> None:
    """Bob's model has no price, and its tokens were estimated."""
    row = page.texts[page.texts.index("bob") :][:6]
    assert row == ["bob", "phi4", "2", "4.0 s", "≈ 6,000", "≈ 200"]
    assert "cost unknown" in page.texts


def test_what_happened_beside_the_turns_is_told(page: Page) -> None:
    assert "bob: attempt 1 failed after 2 characters, which do not count: cut <off>" in page.texts
    assert "Turn 3: ann gave no answer (the turn was skipped): no <connection>" in page.texts
    assert "From here on a summary replaces the turns up to 2: They <em>met</em>." in page.texts
    assert "The run ended: limit (cost_usd)." in page.texts


def test_a_picture_is_shown_in_the_page_itself(page: Page) -> None:
    assert page.attributes("img") == [{"src": "data:image/png;base64,iVBORw==", "alt": "image/png, 4 bytes"}]


async def test_a_run_that_is_still_going_can_be_looked_at(tmp_path: Path) -> None:
    page = Page("".join(export(await write_run(tmp_path, RunStarted("x", "run", {"ann": "scripted"})), "html")))
    assert "unfinished" in page.texts
    assert "0 turns" in page.texts


@pytest.mark.parametrize(
    ("text", "in_page", "in_transcript"),
    [
        ("Take **oak**.", "<p>Take <strong>oak</strong>.</p>", "Take **oak**."),
        ('{"tree": "<b>oak</b>"}', "<pre>{&#34;tree&#34;: &#34;&lt;b&gt;oak&lt;/b&gt;&#34;}</pre>", '```\n{"tree": '),
    ],
    ids=["text", "json"],
)
async def test_the_outcome_is_in_the_report_and_in_the_transcript(
    tmp_path: Path, text: str, in_page: str, in_transcript: str
) -> None:
    await write_run(tmp_path, RunStarted("x", "run", {"ann": "scripted"}), Concluded("ann", text, NOTHING_USED))

    assert in_page in "".join(export(tmp_path, "html"))
    assert f"\n\n{in_transcript}" in "".join(export(tmp_path, "md")).partition("## The outcome")[2]


def test_both_files_are_written_whole(tmp_path: Path, html: str) -> None:
    transcript, report = write_reports(tmp_path)
    assert (transcript, report) == (tmp_path / "transcript.md", tmp_path / "report.html")
    assert report.read_text() == html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.jsonl", "report.html", "transcript.md"]


@pytest.mark.parametrize(
    ("speaker", "error", "told"),
    [
        ("Me", "Me let the turn pass.", "Turn 3: Me let the turn pass."),
        (
            "ollama",
            "ollama at http://127.0.0.1:9: nothing listens there.",
            "Turn 3: ollama gave no answer (the turn was skipped): "
            "ollama at http://127.0.0.1:9: nothing listens there.",
        ),
    ],
    ids=["person", "model-named-like-its-provider"],
)
def test_a_turn_without_an_answer_is_told_by_who_had_it(speaker: str, error: str, told: str) -> None:
    assert sentence(TurnFailed(3, 1, speaker, error, "skip")) == told


async def test_an_interruption_is_told_without_itself_as_its_reason(tmp_path: Path) -> None:
    ended = RunFinished("interrupted", "interrupted", 0, NOTHING_USED)
    await write_run(tmp_path, RunStarted("x", "run", {"ann": "scripted"}), ended)
    shown = "".join((*export(tmp_path, "html"), *export(tmp_path, "md")))

    assert shown.count("The run ended: interrupted.") == 2
    assert "(interrupted)" not in shown
