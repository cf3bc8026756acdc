"""The YAML files that the page shows, checks and saves: those of its folder, and nothing else."""

from pathlib import Path

import pytest

from .client import PageClient, talk

OUTSIDE = (
    "../out.yaml", "/etc/passwd", "/tmp/x.yaml", "a/../../out.yaml", ".hidden.yaml", ".git/x.yaml", "link.yaml",
    "links/out.yaml", "x.txt", "", "packaged:../x", "packaged:nothing", "x\0.yaml", "x\n.yaml",
)  # fmt: skip


@pytest.fixture
def outside(here: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("outside")
    (there / "out.yaml").write_text("secret: true\n")
    (here / "link.yaml").symlink_to(there / "out.yaml")
    (here / "links").symlink_to(there)
    return there


async def test_files_of_the_folder_and_packaged_ones_are_listed(page: PageClient, here: Path) -> None:
    (here / "talk.yaml").write_text(f"# Two count. Needs nothing.\n{talk()}")
    (here / "sub").mkdir()
    (here / "sub" / "suite.yml").write_text("benchmark: {}\n")
    (here / ".hidden.yaml").write_text("")
    (here / "runs").mkdir()
    (here / "runs" / "config.yaml").write_text("")
    (here / "first").mkdir()
    (here / "first" / "config.yaml").write_text(talk())
    (here / "first" / "journal.jsonl").write_text("")

    _, found = await page.get("/api/configs")
    entries = {each["source"]: each for each in found["configs"]}
    own = {name: each for name, each in entries.items() if not name.startswith("packaged:")}
    assert own == {
        "talk.yaml": {"source": "talk.yaml", "kind": "discussion", "about": "Two count", "needs": "nothing"},
        "sub/suite.yml": {"source": "sub/suite.yml", "kind": "benchmark", "about": "benchmark: {}\n", "needs": ""},
    } | {name: each for name, each in own.items() if name == "sub/suite.yml"}
    assert entries["packaged:quickstart"]["about"].startswith("A first discussion")


@pytest.mark.parametrize("source", OUTSIDE)
async def test_nothing_outside_of_the_folder_is_read_or_written(page: PageClient, outside: Path, source: str) -> None:
    from urllib.parse import urlencode

    status, body = await page.get(f"/api/config?{urlencode({'source': source})}")
    assert (status, "secret" in str(body)) == (400, False)
    status, _ = await page.send("/api/config", "PUT", source=source, text="x: 1\n", digest="")
    assert status == 400
    status, body = await page.send("/api/runs", source=source, text=talk())
    assert status == 400
    assert (outside / "out.yaml").read_text() == "secret: true\n"


async def test_a_file_is_checked_as_validate_checks_it_before_it_is_saved(page: PageClient) -> None:
    wrong = talk().replace("turns: 1", "turns: one").replace("goal", "gaol")
    _, found = await page.send("/api/check", source="new.yaml", text=wrong)
    places = {(each["line"], each["column"]): each["message"] for each in found["problems"]}
    assert "whole number" in places[3, 10]
    assert "did you mean 'goal'" in places[4, 3]

    _, found = await page.send("/api/check", source="new.yaml", text="a: [1\nb: {")
    assert found["problems"][0]["line"]
    _, found = await page.send("/api/check", source="new.yaml", text=talk())
    assert found == {"kind": "discussion", "problems": [], "notes": []}


@pytest.mark.parametrize("kind", ["benchmark", "server"])
async def test_files_of_other_kinds_are_checked_too_and_are_not_started(page: PageClient, kind: str) -> None:
    _, found = await page.send("/api/check", source="new.yaml", text=f"{kind}:\n  nothing: 1\n")
    assert found["kind"] == kind
    assert found["problems"]
    status, body = await page.send("/api/runs", source="new.yaml", text=f"{kind}:\n  nothing: 1\n")
    assert (status, kind in body["error"]) == (400, True)


async def test_a_file_that_was_changed_meanwhile_is_not_written_over(page: PageClient, here: Path) -> None:
    status, first = await page.send("/api/config", "PUT", source="a.yaml", text="x: 1\n", digest="")
    assert status == 200
    status, body = await page.send("/api/config", "PUT", source="a.yaml", text="x: 2\n", digest="")
    assert (status, "exists already" in body["error"]) == (409, True)

    (here / "a.yaml").write_text("x: 3\n")
    status, body = await page.send("/api/config", "PUT", source="a.yaml", text="x: 2\n", digest=first["digest"])
    assert (status, "has changed" in body["error"]) == (409, True)
    assert (here / "a.yaml").read_text() == "x: 3\n"

    _, now = await page.get("/api/config?source=a.yaml")
    status, _ = await page.send("/api/config", "PUT", source="a.yaml", text="x: 2\n", digest=now["digest"])
    assert status == 200
    assert (here / "a.yaml").read_text() == "x: 2\n"


async def test_line_ends_and_rights_of_a_file_stay_as_they_are(page: PageClient, here: Path) -> None:
    (here / "a.yaml").write_bytes(b"x: 1\r\ny: 2\r\n")
    (here / "a.yaml").chmod(0o664)
    _, found = await page.get("/api/config?source=a.yaml")
    assert found["text"] == "x: 1\ny: 2\n"
    status, saved = await page.send("/api/config", "PUT", source="a.yaml", text="x: 1\ny: 3\n", digest=found["digest"])
    assert status == 200
    assert (here / "a.yaml").read_bytes() == b"x: 1\r\ny: 3\r\n"
    assert (here / "a.yaml").stat().st_mode & 0o777 == 0o664
    status, _ = await page.send("/api/config", "PUT", source="a.yaml", text="x: 4\n", digest=saved["digest"])
    assert status == 200


async def test_packaged_files_are_read_and_never_written(page: PageClient) -> None:
    _, found = await page.get("/api/config?source=packaged:quickstart")
    assert "discussion:" in found["text"]
    status, body = await page.send("/api/config", "PUT", source="packaged:quickstart", text="x", digest=found["digest"])
    assert (status, "name of your own" in body["error"]) == (400, True)
