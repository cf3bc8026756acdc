"""Measures the page in headless Chromium: how fast 500 turns open, and how late streamed words arrive."""

import asyncio
import os
from pathlib import Path
from statistics import median, quantiles

from ai_battle.core.events import Event, ModelReplied, PromptGiven, RunFinished, RunStarted, TurnFinished, TurnStarted
from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.core.messages import assistant, user

from ..reporting.runs import write_run
from ..ui.browser import Tab, browser_of, tab_of
from ..ui.client import PageClient, page_of

TURNS, ROUNDS, RUNS, SPEAKERS = 500, 7, 10, 10
RUN = Path("runs") / "2026-01-01-long"
USED = Usage(1_000, 200, cost_usd=0.01)
SAID = """That is a **good** point, and I see it in another way: what a machine may do is not decided by what it can do.

- First, whoever builds it answers for it, also where nobody foresaw what came of it.
- Second, `robots` that serve many people have to be *predictable* before they are clever.

Take a hospital at night. A nurse asks for help with a patient who has fallen; the robot sees that the door of the
pharmacy is open. What would you have it do first, and who should have told it so?"""
OPENED = f"""window.opened = new Promise((resolve) => {{
  let first;
  const look = () => {{
    const turns = document.querySelectorAll("article.turn .fork").length;
    if (turns) first ??= performance.now();
    if (turns < {TURNS} || !document.querySelector(".status.done")) return setTimeout(look, 5);
    requestAnimationFrame(() => resolve([first, performance.now()]));
  }};
  look();
}})"""
"""Milliseconds from asking for the page until the first turns are there, and until all of them are drawn."""
LATE = """(() => {
  window.late = [];
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes)
        if (parseInt(node.data) && node.parentElement?.closest(".draft .raw"))
          window.late.push(Date.now() - parseInt(node.data));
  }).observe(document, { childList: true, subtree: true });
})()"""
"""Milliseconds between the oldest word of each piece of an answer and its place in the page."""


def page_load() -> None:
    """Prints the wall time from asking for a page of 500 turns to its last one, each in a new browser."""
    asyncio.run(_open())


async def _open() -> None:
    await write_run(RUN, *_long_run())
    async with page_of(Path.cwd()) as client:
        times = [await _opening_times(client) for _ in range(ROUNDS)]
    for name, values in zip(("the first turns", f"all {TURNS} turns"), zip(*times, strict=True), strict=True):
        print(f"{f'wall, {name} in the page':60} {median(values):9.0f} ms ({min(values):.0f} to {max(values):.0f})")


async def _opening_times(client: PageClient) -> list[float]:
    async with tab_of(client) as tab:
        await tab.page.add_init_script(OPENED)
        await tab.open(client, f"/watch?run={RUN.name}")
        times: list[float] = await tab.page.evaluate("window.opened")
        assert await tab.page.evaluate(f"find('Turn {TURNS - 1}.')"), "the browser's search does not find it"
        return times


def _long_run() -> list[Event]:
    events: list[Event] = [RunStarted("Robots", "run", {"Ann": "openai/gpt-4o", "Bob": "ollama/phi4"})]
    events.append(PromptGiven(user("What may robots do?")))
    for turn in range(1, TURNS + 1):
        name, place = ("Bob", "Ann")[turn % 2], (turn, (turn + 1) // 2)
        answer = assistant(f"Turn {turn}. {SAID}", name)
        events += [TurnStarted(*place, name), ModelReplied("gpt-4o", USED, 1.0, speaker=name)]
        events.append(TurnFinished(*place, name, answer, USED, "gpt-4o", 1.0))
    return [*events, RunFinished("done", "turns", TURNS, NOTHING_USED)]


def page_delay() -> None:
    """Prints how late the words of ten concurrent runs arrive in two tabs that watch all of them."""
    os.environ["XDG_STATE_HOME"] = str(Path.cwd())  # trust in code is stored in this folder, not in the user's
    for rate in (50, 200):
        asyncio.run(_watch(rate))


async def _watch(rate: int) -> None:
    async with page_of(Path.cwd()) as client, browser_of(client) as browser:
        tabs = [Tab(await browser.new_page()) for _ in range(2)]
        names = [await _start_run(client, rate, place) for place in range(RUNS)]
        for tab in tabs:
            await tab.page.add_init_script(LATE)
            await tab.open(client, f"/watch?{'&'.join(f'run={name}' for name in names)}")
        await asyncio.sleep(1)  # a new tab gets everything that was said before in one piece
        for tab in tabs:
            await tab.page.evaluate("window.late.length = 0")
        for tab in tabs:
            await tab.page.locator(".pane .status.done").nth(RUNS - 1).wait_for(timeout=120_000)
        late = [each for tab in tabs for each in await tab.page.evaluate("window.late")]
        shown = {await tab.page.text_content(".panes") for tab in tabs}
        assert len(shown) == 1, "the tabs do not agree"
        name = f"words of {RUNS} runs, {rate} a second each"
        last = quantiles(late, n=100)[98]
        print(f"{name:60} {median(late):9.0f} ms, 99 %: {last:.0f} ms, latest {max(late):.0f} ms, {len(late)} pieces")


async def _start_run(client: PageClient, rate: int, place: int) -> str:
    """Starts a run of ten speakers, and confirms the clock's code as a user would."""
    models = "".join(f"    P{n}: {{type: tests.performance._clock/{rate}}}\n" for n in range(SPEAKERS))
    body = {"source": f"run{place}.yaml", "text": f"discussion:\n  turns: 1\n  goal: Talk.\n  models:\n{models}"}
    status, said = await client.send("/api/runs", **body)
    if status == 409:
        status, said = await client.send("/api/runs", **body, trusted=said["trust"])
    assert status == 200, said
    return str(said["run"])
