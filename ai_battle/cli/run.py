"""`ai-battle run`: one discussion, live on the terminal."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._options import as_json

if TYPE_CHECKING:
    from ai_battle.assembly import Tapes
    from ai_battle.config import Loaded
    from ai_battle.conversation.forecast import Expected


@click.command("run")
@click.argument("config")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a key: discussion.turns=5.")
@click.option("--turns", type=click.IntRange(1), help="How many rounds: everyone speaks once per round.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="The most that it may cost.")
@click.option("--out", type=click.Path(path_type=Path), help="The run directory; by default one under runs/.")
@click.option("--record", metavar="FILE", default="", help="Write every exchange with a model to FILE.")
@click.option("--replay", metavar="FILE", default="", help="Answer from such a FILE; no model is called.")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing on the way.")
@click.option("-v", "--verbose", is_flag=True, help="Show the models' reasoning too.")
@click.option("--dry-run", is_flag=True, help="Show the first requests and a forecast of the cost; call no model.")
@click.option("--trust", is_flag=True, help="Run code that the file names without asking.")
@click.option("--allow-unsandboxed", is_flag=True, help="Let code run without a fence, where the file says so too.")
@as_json
def command(
    config: str,
    changes: tuple[str, ...],
    turns: int | None,
    max_cost: float | None,
    **how: object,
) -> int:
    """Run the discussion of CONFIG: a YAML file, or the name of a packaged one such as quickstart."""
    from ai_battle.assembly import Tapes
    from ai_battle.conversation import checked

    from ._trust import require_trust

    shortcuts = {"discussion.turns": turns, "discussion.limits.cost_usd": max_cost}
    overrides = (*changes, *(f"{path}={value}" for path, value in shortcuts.items() if value is not None))
    tapes = Tapes(str(how["record"]), str(how["replay"]))
    loaded = checked(config, overrides, tapes)
    require_trust(loaded, given=bool(how["trust"]))
    return _forecast(loaded, bool(how["as_json"])) if how["dry_run"] else _run(loaded, tapes, how)


def _run(loaded: "Loaded", tapes: "Tapes", how: dict[str, object]) -> int:
    from ai_battle.conversation import ConversationManager

    from ._live import Look
    from ._running import Showing, run

    manager = ConversationManager.from_config(
        loaded,
        out=how["out"],  # type: ignore[arg-type]
        tapes=tapes,
        allow_unsandboxed=bool(how["allow_unsandboxed"]),
    )
    showing = Showing(bool(how["quiet"]), bool(how["as_json"]), Look.of(loaded, verbose=bool(how["verbose"])))
    return run(manager.run_discussion, showing)


def _forecast(loaded: "Loaded", as_json: bool) -> int:
    from ai_battle.conversation.forecast import forecast

    expected = forecast(loaded)
    if as_json:
        click.echo(json.dumps([one.to_json() for one in expected], indent=2, ensure_ascii=False))
    else:
        _show_forecast(expected)
    return 0


def _show_forecast(expected: "list[Expected]") -> None:
    from ai_battle.core.exchange import NOTHING_USED

    from ._money import dollars, tokens
    from ._plain import plain

    for one in expected:
        click.secho(f"\n{plain(one.name)} {one.model}", bold=True)
        for role, text in (("system", one.request.system), *((m.role, m.text) for m in one.request.messages)):
            if text:
                click.echo(f"  {role}: {plain(text)}".replace("\n", "\n    "))
        click.echo(f"  expected: {one.turns} turns, {tokens(one.usage)}, {dollars(one.usage.cost_usd)}")
    total = sum((one.usage for one in expected), NOTHING_USED)
    click.echo(f"\nAll together about {tokens(total)}, {dollars(total.cost_usd)}. No model was called.")
