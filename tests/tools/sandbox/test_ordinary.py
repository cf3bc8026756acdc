"""Programs that harm nobody work behind the fence as they do without one."""

import os
from pathlib import Path

from ai_battle.tools.sandbox import Language, Program, Sandbox

from .cases import Case, cases
from .conftest import Run, aim, failing_cases


async def test_ordinary_programs(language: Language, sandbox: Sandbox, quarter: slice) -> None:
    """Those that need what Landlock alone can't give fail there: what is documented is true."""

    async def works(case: Case, workspace: Path) -> None:
        outcome = await sandbox.run(Program(language, aim(case.code, workspace)), workspace)
        is_as_expected = (outcome.stdout.strip(), outcome.stderr, outcome.exit_code) == (case.expected, "", 0)
        assert is_as_expected != (case.needs != "" and sandbox.name == "landlock"), outcome
        assert outcome.killed_because == ""

    assert await failing_cases(cases("ordinary.txt", language)[quarter], works) == []


async def test_what_a_program_leaves_in_the_workspace_is_there_for_the_next(run: Run, workspace: Path) -> None:
    await run("open('kept.txt', 'w').write('for later')")
    assert (await run("cat kept.txt", "bash")).stdout == "for later"
    assert os.listdir(workspace) == ["kept.txt"]


async def test_a_repository_that_a_program_has_made_can_be_worked_in_by_the_next(run: Run, workspace: Path) -> None:
    begun = await run("git init -q . && git config user.name A && git config user.email a@b && echo 1 > a", "bash")
    assert begun.exit_code == 0, begun.stderr
    for subject in ("first", "second"):
        outcome = await run(f"git add a && git commit -q --allow-empty -m {subject} && git log --format=%s%an", "bash")
        assert outcome.stdout.startswith(f"{subject}A\n"), outcome.stderr


async def test_nothing_can_be_written_beside_a_workspace_in_tmp(sandbox: Sandbox, tmp_path: Path) -> None:
    """Behind bubblewrap /tmp is another one, where it would be lost."""
    workspace = tmp_path / "run" / "workspace"
    workspace.mkdir(parents=True)
    code = (
        "for up in .. ../.. ../../..; do touch $up/x; [ -e $up/x ] && echo ESCAPED; done; touch x /tmp/x $TMPDIR/x; ls"
    )
    outcome = await sandbox.run(Program("bash", code), workspace)
    assert outcome.stdout == "x\n"


async def test_a_traceback_shows_the_program_and_nothing_of_ours(run: Run) -> None:
    outcome = await run("def f():\n    return 1 / 0\nf()")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("Traceback (most recent call last):\n  File")
    assert outcome.stderr.count("File ") == 2
    assert outcome.stderr.endswith("ZeroDivisionError: division by zero\n")


async def test_a_syntax_error_is_an_outcome(run: Run) -> None:
    outcome = await run("print(")
    assert outcome.exit_code == 1
    assert "SyntaxError: '(' was never closed" in outcome.stderr


async def test_the_exit_code_is_the_programs_own(run: Run) -> None:
    assert (await run("import sys; sys.exit(7)")).exit_code == 7
    assert (await run("exit 9", "bash")).exit_code == 9
    assert (await run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")).exit_code == -15
