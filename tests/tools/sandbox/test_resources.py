"""Whatever a program takes, it ends at its limits, in time, and nobody of its kind is left."""

import os
from pathlib import Path

from ai_battle.tools.sandbox import Language, Outcome, Program, Sandbox

from .cases import Case, cases
from .conftest import TIGHT, Run, aim, failing_cases, survivors


async def test_programs_that_take_too_much(language: Language, sandbox: Sandbox, quarter: slice) -> None:
    async def ends(case: Case, workspace: Path) -> None:
        allowed = case.expected.split()
        # Where another limit has to end it, the clock must not come first on a busy machine.
        seconds = 0.8 if allowed == ["time"] else 4.0 if "time" in allowed else 100.0
        outcome = await sandbox.run(Program(language, aim(case.code, workspace), seconds), workspace, TIGHT)
        assert "ESCAPED" not in outcome.stdout
        assert outcome.killed_because in allowed or (not outcome.killed_because and "-" in allowed), outcome
        assert survivors(workspace) == []

    assert await failing_cases(cases("resources.txt", language)[quarter], ends) == []


async def test_threads_may_use_all_processors_for_the_whole_time(run: Run) -> None:
    outcome = await run("import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[0])", timeout=7)
    assert int(outcome.stdout) >= 7 * (os.cpu_count() or 1)


async def test_what_is_kept_of_endless_output_is_its_head_and_tail(run: Run) -> None:
    outcome = await run("for n in range(100_000): print(n)\nimport sys\nprint('x' * 200_000, file=sys.stderr)")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("0\n1\n2\n")
    assert outcome.stdout.endswith("99998\n99999\n")
    assert "bytes left out" in outcome.stdout
    assert len(outcome.stdout) < 66_000
    assert len(outcome.stderr) < 66_000


async def test_what_was_printed_before_the_end_is_kept(run: Run) -> None:
    outcome = await run("print('so far')\nwhile True: pass", timeout=3)
    assert (outcome.stdout, outcome.killed_because) == ("so far\n", "time")


async def test_a_program_is_not_waited_for_when_only_its_orphans_are_left(run: Run) -> None:
    outcome: Outcome = await run("sleep 300 & echo started", "bash", timeout=100)
    assert (outcome.stdout, outcome.exit_code) == ("started\n", 0)
    assert outcome.killed_because == ""


async def test_others_who_fill_the_disk_end_nobodys_program(run: Run, workspace: Path) -> None:
    code = "import time\nopen('beside', 'w').write('x')\ntime.sleep(0.4)\nprint('done')"
    other = workspace.parents[1] / "of-another"
    descriptor = os.open(other, os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(descriptor, 0, 1 << 20)
    os.close(descriptor)
    outcome = await run(code, limits=TIGHT)
    assert (outcome.stdout, outcome.killed_because) == ("done\n", "")
