"""Runs that the page starts and follows: what is heard of them, by whom, and how they end."""

import asyncio
import json
from pathlib import Path

import pytest

from ai_battle.arbiter.verdict import read_verdicts
from ai_battle.conversation.manager import ConversationManager
from ai_battle.conversation.runs import RunOverview
from ai_battle.core.files import lock_directory

from ..arbiter.test_comparing import judges_of
from .client import WITH_ME, WITH_TOOLS, FollowedRuns, PageClient, events, page_of, talk

PAIR = "  collaboration: {pairs: [{primary: Bob, strategy: mine, secondary: {type: scripted/x, script: [Oh.]}}]}\n"
STRATEGY = "def create(primary, secondary):\n    return secondary\n"


def is_over(heard: FollowedRuns) -> bool:
    return heard.status not in ("", "running")


async def test_a_run_is_started_and_heard_to_its_end(page: PageClient) -> None:
    run = await page.start(talk(2))
    heard = await page.hear(run, is_over)

    assert heard.status == "done"
    assert heard.turns == [(1, "Ann"), (2, "Bob"), (3, "Ann"), (4, "Bob")]
    assert heard.items[0]["kind"] == "prompt"
    assert heard.items[2]["parts"] == [{"prose": [["p", [["strong", ["Two"]], " <b>bold</b>."]]]}]
    assert heard.state["facts"]["participants"][1] == {"name": "Bob", "model": "scripted/bob", "colour": "c1"}
    assert RunOverview.read(Path("runs") / run).status == "done"


async def test_the_outcome_of_a_run_is_read_on_the_page(page: PageClient) -> None:
    heard = await page.hear(await page.start(talk(1) + "  outcome: Sum it up.\n"), is_over)
    outcome = next(item for item in heard.items if item["kind"] == "outcome")

    assert (outcome["speaker"], outcome["words"]) == ("Bob", "Bob gave the outcome: outcome.md")
    assert outcome["parts"] == [{"prose": [["p", [["strong", ["Two"]], " <b>bold</b>."]]]}]


async def test_an_answer_streams_and_is_replaced_by_its_turn(page: PageClient) -> None:
    run = await page.start(talk(1, pace=0.05))
    heard = await page.hear(run, is_over)
    said = [draft for draft in heard.drafts if draft]
    assert any("One and".startswith(draft.rstrip()) for draft in said), said
    assert heard.drafts[-1] == ""


async def test_who_comes_back_hears_everything_once(page: PageClient) -> None:
    run = await page.start(talk(6, pace=0.01))
    heard = FollowedRuns()
    while not is_over(heard):
        seen = heard.pieces

        def leaves_again(now: FollowedRuns, seen: int = seen) -> bool:
            return now.pieces > seen + 2 or is_over(now)

        heard = await page.hear(run, leaves_again, after=heard.last_id, heard=heard)

    assert [turn for turn, _ in heard.turns] == [*range(1, 13)]


async def test_two_who_listen_hear_the_same(page: PageClient) -> None:
    run = await page.start(talk(3, pace=0.01))
    first, second = await asyncio.gather(page.hear(run, is_over), page.hear(run, is_over))
    late = await page.hear(run, is_over)
    assert first.items == second.items == late.items


async def test_a_browser_that_leaves_does_not_end_the_run(page: PageClient) -> None:
    run = await page.start(talk(3, pace=0.02))
    await page.hear(run, lambda heard: bool(heard.turns))
    heard = await page.hear(run, is_over)
    assert (heard.status, len(heard.turns)) == ("done", 6)


async def test_the_person_sits_in_from_the_page(page: PageClient) -> None:
    run = await page.start(WITH_ME)
    heard = await page.hear(run, lambda heard: heard.question("line") > 0)
    question = heard.question("line")
    assert heard.state["questions"][0]["who"] == "Me"
    status, _ = await page.send(f"/api/runs/{run}/answer", number=question, text="Hello\nthere")
    assert status == 200
    status, body = await page.send(f"/api/runs/{run}/answer", number=question, text="again")
    assert (status, "answered already" in body["error"]) == (400, True)

    heard = await page.hear(run, lambda heard: heard.question("line") > question)
    assert heard.turns == [(1, "Me"), (2, "Bob")]
    await page.send(f"/api/runs/{run}/answer", number=heard.question("line"), text="/end")
    heard = await page.hear(run, is_over)
    assert (heard.status, heard.state["facts"]["reason"]) == ("done", "Me ended it")


async def test_an_unknown_command_of_a_person_is_told_with_the_next_question(page: PageClient) -> None:
    run = await page.start(WITH_ME)
    first = await page.hear(run, lambda heard: heard.question("line") > 0)
    await page.send(f"/api/runs/{run}/answer", number=first.question("line"), text="/dance")
    again = await page.hear(run, lambda heard: heard.question("line") > first.question("line"))
    assert "There is no command /dance" in again.state["questions"][0]["note"]


async def test_calls_of_tools_wait_for_the_page(page: PageClient) -> None:
    run = await page.start(WITH_TOOLS)
    heard = await page.hear(run, lambda heard: heard.question("approval") > 0)
    asked = heard.state["questions"][0]
    assert (asked["who"], asked["tool"], asked["arguments"]) == ("Ann", "calculator", [["expression", ["6 * 7"]]])
    await page.send(f"/api/runs/{run}/answer", number=asked["number"], allow=True)
    heard = await page.hear(run, is_over)
    assert (
        next(item for item in heard.items if item["kind"] == "turn")["parts"][0]["tool"]
        == "calculator(6 * 7) (allowed by a person) -> 42"
    )


async def test_a_call_that_is_denied_is_not_run_and_the_model_is_told_why(page: PageClient) -> None:
    run = await page.start(WITH_TOOLS)
    heard = await page.hear(run, lambda heard: heard.question("approval") > 0)
    await page.send(f"/api/runs/{run}/answer", number=heard.question("approval"), allow=False, reason="not today")
    heard = await page.hear(run, is_over)
    turn = next(item for item in heard.items if item["kind"] == "turn")
    assert "denied by a person: not today" in turn["parts"][0]["tool"]


async def test_a_run_is_stopped_and_resumed(page: PageClient) -> None:
    run = await page.start(talk(4, pace=0.03))
    await page.hear(run, lambda heard: bool(heard.turns))
    status, _ = await page.send(f"/api/runs/{run}/stop")
    assert status == 200
    stopped = await page.hear(run, is_over)
    assert stopped.status == "interrupted"
    assert len(stopped.turns) < 8
    assert (Path("runs") / run / "report.html").is_file()

    status, body = await page.send(f"/api/runs/{run}/resume")
    assert (status, body) == (200, {"run": run})
    heard = await page.hear(run, lambda heard: heard.status == "done")
    assert [turn for turn, _ in heard.turns] == [*range(1, 9)]


async def test_a_run_whose_configuration_was_edited_goes_on_only_where_that_is_accepted(page: PageClient) -> None:
    run = await page.start(talk(4, pace=0.03))
    await page.hear(run, lambda heard: bool(heard.turns))
    await page.send(f"/api/runs/{run}/stop")
    config = Path("runs") / run / "config.yaml"
    config.write_text(config.read_text().replace("turns: 4", "turns: 3"))

    status, body = await page.send(f"/api/runs/{run}/resume")
    assert (status, body["changed"]) == (409, True)
    assert "has changed since the run was started" in body["error"]
    assert "-  turns: 4\n" in body["error"]
    assert RunOverview.read(Path("runs") / run).status == "interrupted"

    status, _ = await page.send(f"/api/runs/{run}/resume", accept_changes="yes")
    assert status == 200
    heard = await page.hear(run, lambda heard: heard.status == "done")
    assert [turn for turn, _ in heard.turns] == [*range(1, 7)]


async def test_a_run_is_judged_and_all_who_watch_see_the_verdict(
    page: PageClient, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "mine.yaml").write_text("rubric:\n  criteria: {wit: Is it witty?}\n")
    run = await page.start(talk())
    await page.hear(run, is_over)
    with judges_of(monkeypatch):
        for body in ({"models": "openai/gpt-4o"}, {"models": "openai/gpt-4o", "rubric": "mine.yaml", "max_cost": "1"}):
            status, said = await page.send(f"/api/runs/{run}/judge", **body)
            assert (status, said) == (200, {})
    heard = await page.hear(run, lambda heard: len(heard.state.get("verdicts", ())) == 2)
    usual, mine = heard.state["verdicts"]
    assert usual["words"].startswith("Judged by openai/gpt-4o: Ann 3.00, Bob 3.00")
    assert [row[0] for row in usual["rows"]][1:3] == ["goal (25%)", "reasoning (25%)"]
    assert mine["rows"][1] == ["wit (100%)", "3.10", "3.10"]
    assert heard.status == "done"
    assert "Judged by openai/gpt-4o" in (Path("runs") / run / "report.html").read_text()


async def test_a_browser_that_leaves_while_a_run_is_judged_finds_the_verdict(
    page: PageClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await page.start(talk())
    await page.hear(run, is_over)
    with judges_of(monkeypatch):
        watching = asyncio.create_task(page.hear(run, lambda heard: bool(heard.state.get("verdicts"))))
        judged = asyncio.create_task(page.send(f"/api/runs/{run}/judge", models="openai/gpt-4o"))
        await page.hear(run, lambda heard: heard.status == "judging" or bool(heard.state.get("verdicts")))
        judged.cancel()
        await watching
    assert len([*read_verdicts(Path("runs") / run)]) == 1


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "There is no judge"),
        ({"models": "nobody/x"}, "nobody"),
        ({"models": "ollama/x", "rubric": "../mine.yaml"}, "not a YAML file of this folder"),
        ({"models": "ollama/x", "rubric": "talk.yaml"}, "talk.yaml:2:1"),
        ({"models": "ollama/x", "max_cost": "much"}, "'much' is not a number above 0"),
        ({"models": "ollama/x", "max_cost": "-1"}, "'-1' is not a number above 0"),
    ],
)
async def test_what_keeps_a_run_from_being_judged_is_told_and_leaves_nothing(
    page: PageClient, here: Path, asked: dict[str, str], why: str
) -> None:
    (here / "talk.yaml").write_text(talk())
    run = await page.start(talk())
    await page.hear(run, is_over)
    status, body = await page.send(f"/api/runs/{run}/judge", **asked)
    assert (status, why in body["error"]) == (400, True), body
    assert [*read_verdicts(Path("runs") / run)] == []


async def test_a_run_is_deleted_and_those_who_watch_it_are_told(page: PageClient) -> None:
    run, other = await page.start(talk()), await page.start(talk(), "other.yaml")
    await page.hear(run, is_over)
    watching = asyncio.create_task(page.hear(run, lambda heard: heard.status == "gone"))
    await page.hear(run, is_over)
    status, _ = await page.send(f"/api/runs/{run}", "DELETE")
    assert status == 200
    assert len((await watching).turns) == 2
    assert [each["run"] for each in (await page.get("/api/runs"))[1]] == [other]
    status, body = await page.send(f"/api/runs/{run}", "DELETE")
    assert (status, body["error"]) == (404, f"There is no run {run!r} in runs.")


async def test_a_run_that_goes_on_is_not_deleted_or_judged(page: PageClient) -> None:
    run = await page.start(talk())
    await page.hear(run, is_over)
    with lock_directory(Path("runs") / run):
        status, _ = await page.send(f"/api/runs/{run}", "DELETE")
        assert status == 409
        status, _ = await page.send(f"/api/runs/{run}/judge", models="ollama/x")
        assert status == 409
    assert RunOverview.read(Path("runs") / run).status == "done"


async def test_a_run_of_nobody_here_can_not_be_stopped(page: PageClient) -> None:
    run = await page.start(talk())
    await page.hear(run, is_over)
    status, body = await page.send(f"/api/runs/{run}/stop")
    assert (status, "over" in body["error"]) == (400, True)


async def test_the_end_of_the_server_leaves_its_runs_resumable_and_says_so(here: Path) -> None:
    async with page_of(here) as page:
        run = await page.start(talk(50, pace=0.05))
        listening = asyncio.create_task(page.hear(run, lambda heard: heard.status == "interrupted"))
        await page.hear(run, lambda heard: bool(heard.turns))
    assert (await listening).status == "interrupted"
    assert RunOverview.read(Path("runs") / run).status == "interrupted"


async def test_a_run_is_forked_from_a_turn_with_another_goal(page: PageClient) -> None:
    run = await page.start(talk(2))
    await page.hear(run, is_over)
    status, body = await page.send(f"/api/runs/{run}/fork", turn="2", goal="Count backwards.", turns="3")
    assert status == 200, body
    heard = await page.hear(body["run"], is_over)
    assert heard.state["facts"]["title"] == "Count backwards."
    assert [turn for turn, _ in heard.turns] == [1, 2, 3, 4, 5, 6]

    for turn in ("9", "", "x"):
        status, body = await page.send(f"/api/runs/{run}/fork", turn=turn)
        assert (status, bool(body["error"])) == (400, True)


async def test_what_keeps_a_run_from_beginning_is_told_and_leaves_nothing(page: PageClient) -> None:
    status, body = await page.send("/api/runs", source="talk.yaml", text=talk().replace("scripted/ann", "nobody/x"))
    assert status == 400
    assert "talk.yaml:6" in body["error"]
    assert (await page.get("/api/runs"))[1] == []


async def test_a_file_that_is_changed_while_it_runs_changes_nothing_of_the_run(page: PageClient, here: Path) -> None:
    (here / "talk.yaml").write_text(talk(3, pace=0.02))
    run = await page.start((here / "talk.yaml").read_text())
    await page.hear(run, lambda heard: bool(heard.turns))
    (here / "talk.yaml").write_text("discussion: [")
    assert len((await page.hear(run, is_over)).turns) == 6


async def test_code_of_a_file_runs_only_after_it_was_trusted(page: PageClient, here: Path) -> None:
    (here / "mine.py").write_text(STRATEGY)
    status, body = await page.send("/api/runs", source="talk.yaml", text=talk() + PAIR)
    assert status == 409
    assert "mine" in body["code"][0]
    status, _ = await page.send("/api/runs", source="talk.yaml", text=talk() + PAIR, trusted="0" * 64)
    assert status == 409
    assert (await page.get("/api/runs"))[1] == []
    status, _ = await page.send("/api/runs", source="talk.yaml", text=talk() + PAIR, trusted=body["trust"])
    assert status == 200
    (here / "mine.py").write_text(f"{STRATEGY}# changed\n")
    status, _ = await page.send("/api/runs", source="talk.yaml", text=talk() + PAIR, trusted=body["trust"])
    assert status == 409


async def test_a_run_of_another_program_is_watched_while_it_goes_on(page: PageClient, here: Path) -> None:
    (here / "other.yaml").write_text(talk(2, pace=0.01))
    result = await ConversationManager.from_config("other.yaml").run_discussion()
    heard = await page.hear(result.run_dir.name, is_over)
    assert (heard.status, len(heard.turns), heard.state["ours"]) == ("done", 4, False)


async def test_runs_are_listed_searched_reported_and_compared(page: PageClient) -> None:
    first = await page.start(talk())
    second = await page.start(talk(2).replace("Two", "Zwei"), "german.yaml")
    for run in (first, second):
        await page.hear(run, is_over)
    _, listed = await page.get("/api/runs")
    assert {each["run"]: each["status"] for each in listed} == {first: "done", second: "done"}
    _, found = await page.get("/api/runs?words=zwei")
    assert [(each["run"], each["speaker"], each["excerpt"]) for each in found] == [
        (second, "Bob", "**Zwei** <b>bold</b>.")
    ]

    status, report = await page.get(f"/runs/{first}/report")
    assert (status, "Count." in report) == (200, True)
    status, both = await page.get(f"/compare?run={first}&run={second}")
    assert (status, "Zwei" in both, f"/runs/{second}/report" in both) == (200, True, True)
    status, _ = await page.get(f"/compare?run={first}")
    assert status == 400


async def test_reports_of_benchmarks_are_shown_without_an_origin_to_work_in(page: PageClient, here: Path) -> None:
    (here / "results").mkdir()
    (here / "results" / "results.sqlite").write_bytes(b"")
    (here / "results" / "report.html").write_text("<title>figures</title>")
    _, found = await page.get("/api/configs")
    assert found["benchmarks"] == ["results"]
    async with page.session.get(f"{page.base}/benchmark?folder=results") as response:
        assert "figures" in await response.text()
        assert "sandbox allow-scripts;" in response.headers["Content-Security-Policy"]
    for folder in ("..", "", "runs", "results/../.."):
        status, _ = await page.get(f"/benchmark?folder={folder}")
        assert status == 404


async def test_who_takes_part_does_not_see_what_is_not_for_them_until_it_is_over(page: PageClient) -> None:
    eve = "    Eve: {type: scripted/eve, loop: true, script: [Only between us.]}\n  visibility: {Me: [Bob]}\n"
    run = await page.start(WITH_ME + eve)
    heard = await page.hear(run, lambda heard: heard.question("line") > 0)
    first = heard.question("line")
    await page.send(f"/api/runs/{run}/answer", number=first, text="Hello")
    heard = await page.hear(run, lambda heard: heard.question("line") > first)
    assert "I see." in str(heard.items)
    assert "(you do not hear it)" in str(heard.items)
    assert "Only between us." not in str(heard)
    await page.send(f"/api/runs/{run}/answer", number=heard.question("line"), text="/end")
    await page.hear(run, is_over)
    assert "Only between us." in str((await page.hear(run, is_over)).items)


async def test_runs_outside_of_the_folder_are_not_there(page: PageClient, here: Path) -> None:
    (here / "runs").mkdir()
    away = here.parent / f"{here.name}-away"
    run = await page.start(talk())
    await page.hear(run, is_over)
    (here / "runs" / run).rename(away)
    (here / "runs" / "link").symlink_to(away)
    for name in ("..", "%2e%2e", f"..%2f{away.name}", "link", "nothing"):
        status, _ = await page.get(f"/runs/{name}/report")
        assert status == 404, name
    for found in ("", "?words=more"):
        assert (await page.get(f"/api/runs{found}"))[1] == []
    async with page.session.get(f"{page.base}/api/events?..=-1&link=-1") as response:
        assert (await anext(events(response.content)))[0] == "runs"


async def test_a_damaged_journal_is_told_and_nothing_else_suffers(page: PageClient) -> None:
    run = await page.start(talk(2))
    await page.hear(run, is_over)
    journal = Path("runs") / run / "journal.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:4], "{oh", *lines[5:]]) + "\n")
    heard = await page.hear(run, lambda heard: any(item["kind"] == "failure" for item in heard.items))
    assert "malformed line" in heard.items[-1]["words"]
    status, body = await page.get(f"/runs/{run}/report")
    assert (status, "malformed" in body) == (409, True)
    assert json.loads(lines[0])["type"] == "run_started"
