"""What a model wrote, as markup: whatever it is, no tag is the model's, and every tag is closed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.reporting.pages import prose

from .test_html import Page

OURS = {
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "p",
    "br",
    "code",
    "strong",
    "em",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
}
NASTY = st.text(st.sampled_from("<>`~*#-_+.)1 \n\t&'\"/!=abscript\x1b\u202e"), max_size=200)


@given(NASTY)
def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    page = Page(prose(text))

    assert {tag for tag, _ in page.tags} <= OURS
    assert not any(attributes for tag, attributes in page.tags if tag not in ("p", "ol"))
    assert page.open == []


@given(NASTY)
def test_no_letter_gets_lost(text: str) -> None:
    """Marks may go, letters stay, but for the name of a code block's language."""
    shown = "".join(Page(prose(text)).texts)
    if "```" not in text and "~~~" not in text:
        assert [c for c in shown if c.isalpha()] == [c for c in text if c.isalpha()]


def test_the_everyday_part_of_markdown_is_shown() -> None:
    shown = prose("one\ntwo\n\n## Three\n1. a\n2. b\n\n- **c**\n> d\n```py\n<e>\n```\n*f*\n\n|g|\n|-|\n|h|")
    assert shown.replace("\n", "") == (
        "<p>one<br>two</p>"
        '<p class="heading">Three</p>'
        "<ol><li>a</li><li>b</li></ol>"
        "<ul><li><strong>c</strong></li></ul>"
        "<blockquote><p>d</p></blockquote>"
        "<pre>&lt;e&gt;</pre>"
        "<p><em>f</em></p>"
        "<table><thead><tr><th>g</th></tr></thead><tbody><tr><td>h</td></tr></tbody></table>"
    )


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_what_nests_too_deep_is_shown_as_it_is_written(mark: str) -> None:
    assert prose(mark * 5_000 + "x").endswith("x</pre>")


@pytest.mark.parametrize("text", ["2*3*4 = 24", "(3*2.40+2*1.15)*7", "x**2 + y**2", "a*b*c", "3*x*2"])
def test_a_product_keeps_its_signs(text: str) -> None:
    assert prose(text) == f"<p>{text}</p>\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**H**yper**T**ext", "<strong>H</strong>yper<strong>T</strong>ext"),
        ("the **1**st and *b*", "the <strong>1</strong>st and <em>b</em>"),
        ("这是**重要**的", "这是<strong>重要</strong>的"),
        ("**2*3** is 6", "<strong>2*3</strong> is 6"),
    ],
)
def test_emphasis_in_a_word_is_no_product(text: str, shown: str) -> None:
    assert prose(text) == f"<p>{shown}</p>\n"
