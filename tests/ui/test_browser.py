"""The page as people use it, in a real browser."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ai_battle.conversation.runs import RunOverview

from ..arbiter.test_comparing import judges_of
from ..reporting.hostile import events, texts
from ..reporting.runs import EVENTS, write_run
from ..reporting.test_browser import Bait
from .browser import CHROMIUM, Tab, axe, browser_of, tab_of
from .client import WITH_LONG_TEXTS, WITH_ME, WITH_TOOLS, PageClient, talk
from .test_runs import PAIR, STRATEGY, is_over

if TYPE_CHECKING:
    from playwright.async_api import Locator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium"),
]
RUN = Path("runs") / "2026-01-01-recorded"
TELEPHONE = {"width": 390, "height": 700}


async def is_in_window(element: "Locator") -> bool:
    box = await element.bounding_box()
    return box is not None and 0 <= box["y"] <= TELEPHONE["height"] - box["height"]


async def test_a_file_is_mended_saved_started_stopped_and_resumed(page: PageClient, here: Path) -> None:
    (here / "talk.yaml").write_text(talk(3, pace=0.1).replace("turns: 3", "turns: three"))
    async with tab_of(page) as tab:
        await tab.open(page, "/")
        await tab.page.get_by_role("link", name="talk.yaml").click()
        await tab.see("1 problem")
        message = tab.page.locator(".lens .message")
        assert "whole number" in await message.inner_text()
        box, line = await message.bounding_box(), await tab.page.locator(".gutter .bad").bounding_box()
        assert box
        assert line
        assert abs(box["y"] - line["y"]) < 4, "it stands beside its line"
        await tab.page.get_by_role("button", name="Start").click(force=True)
        await tab.see("The file has problems")

        editor = tab.page.get_by_label("The text of talk.yaml")
        await editor.fill(talk(3, pace=0.1))
        await tab.see("No problems")
        await tab.press("Save")
        await tab.page.locator("#announcer", has_text="talk.yaml is saved.").wait_for(state="attached")
        assert (here / "talk.yaml").read_text() == talk(3, pace=0.1)

        await tab.press("Start")
        await tab.page.locator("article.draft .raw", has_text="One").wait_for()
        await tab.page.locator("article.turn", has_text="Two").first.wait_for()
        await tab.press("Stop")
        await tab.page.locator(".pane .status.interrupted").wait_for()
        await tab.press("Resume")
        await tab.page.locator(".pane .status.done").wait_for()
        assert await tab.page.locator("article.turn h2 .number").all_inner_texts() == ["1", "2", "3", "4", "5", "6"]
        assert await tab.page.locator("article.turn strong").first.inner_text() == "Two"


async def test_two_tabs_agree_and_the_first_answer_counts(page: PageClient) -> None:
    run = await page.start(WITH_ME)
    async with browser_of(page) as context:
        tabs = [Tab(await context.new_page()) for _ in range(2)]
        for tab in tabs:
            await tab.open(page, f"/watch?run={run}")
            await tab.see("Your turn, Me")
        first, second = tabs
        await first.see("1 waits for you")
        await first.page.get_by_label("What Me says").fill("Hello <b>all</b>")
        await first.page.keyboard.press("Enter")
        for tab in tabs:
            await tab.see("Hello <b>all</b>")
            await tab.page.locator("article.turn", has_text="I see.").wait_for()
        await second.page.get_by_label("What Me says").fill("Bye")
        await second.press("Send")
        for tab in tabs:
            await tab.page.locator(".pane .status.done").wait_for()
            assert await tab.page.locator(".question").count() == 0
        assert await first.page.text_content(".log") == await second.page.text_content(".log")
        assert [tab.faults for tab in tabs] == [[], []]


async def test_on_a_telephone_all_that_a_person_may_press_is_in_the_window(page: PageClient) -> None:
    run = await page.start(WITH_ME)
    async with tab_of(page, viewport=TELEPHONE) as tab:
        await tab.open(page, f"/watch?run={run}")
        await tab.see("Your turn, Me")
        await tab.see("1 waits for you")
        for name in ("Stop", "Send", "End the discussion"):
            assert await is_in_window(tab.page.get_by_role("button", name=name)), name


@pytest.mark.parametrize("window", [TELEPHONE, {"width": 1280, "height": 700}], ids=["telephone", "desktop"])
async def test_a_long_call_is_decided_and_the_last_words_are_seen_without_scrolling(
    page: PageClient, window: dict[str, int]
) -> None:
    run = await page.start(WITH_LONG_TEXTS)
    async with tab_of(page, viewport=window) as tab:
        await tab.open(page, f"/watch?run={run}")
        await tab.see("Ann wants to use")
        for name in ("Allow", "Deny"):
            assert await is_in_window(tab.page.get_by_role("button", name=name, exact=True)), name
        await tab.press("Allow")
        await tab.page.locator(".pane .status.done").wait_for()
        await tab.see("The last words.")
        await tab.page.wait_for_timeout(200)
        assert await is_in_window(tab.page.get_by_text("The last words."))


async def test_a_call_is_allowed_where_one_sees_what_it_would_do(page: PageClient) -> None:
    run = await page.start(WITH_TOOLS)
    async with tab_of(page) as tab:
        await tab.open(page, f"/watch?run={run}")
        asked = tab.page.get_by_role("region", name="Ann wants to use calculator")
        await asked.wait_for()
        assert "6 * 7" in await asked.inner_text()
        await tab.press("Allow")
        await tab.see("calculator(6 * 7) (allowed by a person) -> 42")


async def test_a_browser_that_leaves_in_the_middle_finds_the_run_where_it_is(page: PageClient) -> None:
    run = await page.start(talk(3, pace=0.05))
    async with tab_of(page) as tab:
        await tab.open(page, f"/watch?run={run}")
        await tab.page.locator("article.turn", has_text="One").first.wait_for()
    heard = await page.hear(run, is_over)
    assert (heard.status, len(heard.turns)) == ("done", 6)


async def test_runs_are_searched_watched_together_forked_and_compared(page: PageClient) -> None:
    first = await page.start(talk())
    second = await page.start(talk(2).replace("Two", "Zwei"), "german.yaml")
    for run in (first, second):
        await page.hear(run, is_over)
    async with tab_of(page) as tab:
        await tab.open(page, "/runs")
        await tab.page.get_by_label(f"Choose {first}").check()
        await tab.page.get_by_label(f"Choose {second}").check()
        async with tab.page.expect_popup() as popup:
            await tab.press("Compare")
        other = await popup.value
        await other.get_by_text("Zwei").first.wait_for()
        await other.close()
        await tab.press("Watch together")
        await tab.page.locator(".pane").nth(1).locator("article", has_text="Zwei").first.wait_for()

        await tab.open(page, "/runs")
        await tab.page.get_by_label("Search what was said").fill("zwei")
        await tab.page.keyboard.press("Enter")
        await tab.see("Bob: **Zwei**")
        await tab.page.get_by_role("link", name="german").click()
        await tab.page.get_by_role("button", name="Fork after turn 2").click()
        await tab.page.get_by_label("Another goal from there (optional)").fill("Count in French.")
        rounds = tab.page.get_by_label("Rounds in all (optional)")
        await rounds.fill("1")
        dialog = tab.page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Fork").click()
        await dialog.get_by_role("alert").filter(has_text="turn").wait_for()
        await rounds.fill("3")
        await dialog.get_by_role("button", name="Fork").click()
        await tab.page.get_by_role("heading", name="Count in French.", level=1).wait_for()
        await tab.page.locator(".pane .status.done").nth(1).wait_for()


@pytest.mark.parametrize("has_policy", [True, False], ids=["as it is", "without its policy"])
async def test_what_models_wrote_runs_nothing_and_fetches_nothing(
    page: PageClient,
    bait: Bait,
    here: Path,
    has_policy: bool,
) -> None:
    """The policy is the second lock: what is never taken as markup needs none."""
    await write_run(RUN, *events(bait.address))
    hostile = "\n".join(texts(bait.address))
    (here / "hostile.yaml").write_text(
        f"# {hostile.splitlines()[0]}\ndiscussion:\n  goal: |\n    <img src=x>\n  {hostile}\n"
    )
    async with tab_of(page, bypass_csp=not has_policy) as tab:
        await tab.open(page, f"/watch?run={RUN.name}")
        await tab.page.locator(".pane .status.failed").wait_for()
        await tab.page.locator("article.turn").nth(2).wait_for()
        for summary in await tab.page.locator("summary").all():
            await summary.click()
        shown = await tab.text()
        assert "<script>document.title='owned'</script>" in shown
        assert "[object" not in shown
        for place, words in (
            ("/", "hostile.yaml"),
            ("/edit?source=hostile.yaml", "problem"),
            ("/runs?words=owned", "failed"),
        ):
            await tab.open(page, place)
            await tab.see(words)
        assert "owned" not in await tab.page.title()
        assert (
            await tab.page.locator("main script, main iframe, main object, main link, main style, main base").count()
            == 0
        )
    assert bait.paths == []


async def test_a_run_that_streams_from_ten_participants_is_shown_to_its_end(page: PageClient) -> None:
    said = " ".join(f"word{number}" for number in range(200))
    models = "\n".join(f"    P{n}: {{type: scripted/p{n}, pace: 0.0005, script: [{said}]}}" for n in range(10))
    run = await page.start(f"discussion:\n  turns: 1\n  goal: Talk.\n  models:\n{models}\n")
    async with tab_of(page) as tab:
        await tab.open(page, f"/watch?run={run}")
        await tab.page.locator(".pane .status.done").wait_for()
        assert await tab.page.locator("article.turn", has_text="word199").count() == 10


async def test_the_page_is_used_without_a_mouse(page: PageClient, here: Path) -> None:
    (here / "talk.yaml").write_text(WITH_ME)
    async with tab_of(page) as tab:
        await tab.open(page, "/edit?source=talk.yaml")
        await tab.see("No problems")
        await tab.page.keyboard.press("Tab")
        assert await tab.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        await tab.page.get_by_label("The text of talk.yaml").focus()
        await tab.page.keyboard.press("Control+Enter")
        await tab.see("Your turn, Me")
        await tab.page.wait_for_timeout(100)
        await tab.page.keyboard.type("Typed at once")
        await tab.page.keyboard.press("Enter")
        await tab.see("Typed at once")
        await tab.page.locator("#announcer", has_text="It is your turn, Me.").wait_for(state="attached")
        await tab.press("End the discussion")
        await tab.page.locator(".pane .status.done").wait_for()


async def test_code_of_a_file_is_trusted_in_the_page_before_it_runs(page: PageClient, here: Path) -> None:
    (here / "mine.py").write_text(STRATEGY)
    (here / "talk.yaml").write_text(talk() + PAIR)
    async with tab_of(page) as tab:
        await tab.open(page, "/edit?source=talk.yaml")
        await tab.see("No problems")
        await tab.press("Start")
        dialog = tab.page.get_by_role("dialog", name="Do you trust this code?")
        assert "mine" in await dialog.inner_text()
        await tab.page.keyboard.press("Escape")
        await dialog.wait_for(state="detached")
        assert (await page.get("/api/runs"))[1] == []
        await tab.press("Start")
        await tab.press("Trust and run")
        await tab.page.locator(".pane .status.done").wait_for()


async def test_a_run_whose_configuration_was_edited_is_resumed_judged_and_deleted(
    page: PageClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await page.start(talk(4, pace=0.05))
    await page.hear(run, lambda heard: bool(heard.turns))
    await page.send(f"/api/runs/{run}/stop")
    config = Path("runs") / run / "config.yaml"
    config.write_text(config.read_text().replace("turns: 4", "turns: 3"))
    async with tab_of(page) as tab:
        await tab.open(page, f"/watch?run={run}")
        await tab.press("Resume")
        dialog = tab.page.get_by_role("dialog", name="The configuration has changed")
        assert "+  turns: 3" in await dialog.inner_text()
        await tab.press("Cancel")
        assert RunOverview.read(Path("runs") / run).status == "interrupted"
        await tab.press("Resume")
        await tab.press("Accept the changes and resume")
        await tab.page.locator(".pane .status.done").wait_for()

        await tab.press("Judge …")
        await tab.page.get_by_label("Who judges").fill("openai/gpt-4o")
        with judges_of(monkeypatch):
            await tab.press("Judge")
            await tab.see("Judged by openai/gpt-4o: Ann 3.00, Bob 3.00")
        assert await tab.page.locator(".verdict-of tbody tr").count() == 6

        await tab.open(page, "/runs")
        await tab.page.get_by_label(f"Choose {run}").check()
        await tab.press("Delete")
        await tab.press("Cancel")
        assert config.is_file()
        await tab.press("Delete")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await tab.see("Nothing was run in this folder yet.")
        assert not config.is_file()
        await tab.open(page, f"/watch?run={run}")
        await tab.see("There is no such run here.")


PLACES = (
    "/",
    "/edit?source=broken.yaml",
    "/runs",
    "/runs?words=nothing-like-it",
    f"/watch?run={RUN.name}&run={{live}}",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
async def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_window(
    page: PageClient,
    here: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    width: int,
) -> None:
    script = axe(tmp_path_factory.mktemp("npm"))
    (here / "broken.yaml").write_text(talk().replace("goal", "gaol"))
    await write_run(RUN, *EVENTS)
    with judges_of(monkeypatch):
        assert await page.send(f"/api/runs/{RUN.name}/judge", models="openai/gpt-4o") == (200, {})
    live = await page.start(WITH_TOOLS)
    async with tab_of(page, color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True) as tab:
        for place in PLACES:
            await tab.open(page, place.format(live=live))
            await tab.page.locator("main h1").first.wait_for()
            await tab.page.wait_for_timeout(1500)
            if "watch" in place:
                await tab.see("Judged by openai/gpt-4o")
            await tab.page.evaluate(script)
            found = await tab.page.evaluate("axe.run().then(found => JSON.stringify(found.violations))")
            bad = [each for each in json.loads(found) if each["impact"] in ("serious", "critical")]
            assert [(place, each["id"], each["nodes"][0]["html"]) for each in bad] == []
            assert await tab.page.evaluate("document.documentElement.scrollWidth") <= width


async def test_a_run_that_ended_while_nobody_looked_is_there_as_it_was_left(page: PageClient) -> None:
    await write_run(RUN, *EVENTS)
    assert RunOverview.read(RUN).status == "limit"
    async with tab_of(page) as tab:
        await tab.open(page, f"/watch?run={RUN.name}")
        await tab.see("cut off at the length limit")
        await tab.see("gave no answer (the turn was skipped)")
