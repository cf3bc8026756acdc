"""The page of the exit codes."""

from ai_battle import cli

from .tables import code, table

MEANING = {
    cli.DONE: ("done", "The command did what it is for. A discussion came to its end or to a `stop` condition."),
    cli.FAILED: (
        "failed, or stopped by a limit",
        "The run failed, or one of its `limits` ended it before its goal. The journal is whole. A failed run goes on "
        "with `ai-battle resume RUN_DIR` when what failed is mended.",
    ),
    cli.MISUSED: (
        "wrong configuration, or wrong call",
        "Nothing was spent. The message names the place and the way out; `ai-battle validate` ends with it too.",
    ),
    cli.INTERRUPTED: (
        "interrupted",
        "Ctrl-C or SIGTERM. Every finished turn is kept; the command to go on is shown. A second Ctrl-C kills.",
    ),
}


def page() -> str:
    rows = ((code(str(number)), what, meaning) for number, (what, meaning) in sorted(MEANING.items()))
    described = table(("code", "what", "meaning"), rows)
    in_words = "`ai-battle run --json` also gives the outcome in words, in `status` and `stop_reason`."
    return f"# Exit codes\n\n{described}\n\n{in_words}"
