"""Shows a dry run: the first requests, and the approximate cost of a run or a series."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import click

from ..config.loading import LoadedDiscussion
from ..conversation.forecast import Expected, ExpectedHelp, forecast
from ..core.events import Event, Warned
from ..core.exchange import NOTHING_USED, Usage
from ..core.texts import printable
from ..reporting.figures import cost, count_of
from ..wire.genai import usage_to_json
from .output import bill, opening_text, print_json
from .planned import MODE, PlannedRun
from .tools import tool_descriptions


def show_forecast(
    loaded: LoadedDiscussion, series: Sequence[PlannedRun] = (), *, as_json: bool, kind: str = MODE
) -> None:
    """Shows the forecast of one run, or of a `series` by its variants of a `kind` and in total."""
    if series:
        _show_series(series, kind, as_json=as_json)
    else:
        _show_run(forecast(loaded, _show_warning), as_json=as_json)
    if loaded.file.discussion.judge and not as_json:
        click.echo("A judge reads the whole discussion twice, and once more if a quotation is false.")


async def _show_warning(event: Event) -> None:
    if isinstance(event, Warned):
        click.echo(f"! {printable(event.message)}", err=True)


def _show_run(expected: Sequence[Expected], *, as_json: bool) -> None:
    if as_json:
        print_json([one.to_json() for one in expected])
        return
    _show(expected)
    _show_total(_usage(expected), expected)


def _show_series(runs: Sequence[PlannedRun], kind: str, *, as_json: bool) -> None:
    variants = Counter(run.variant for run in runs)
    expected = {run.variant: forecast(run.loaded, _show_warning) for run in runs if run.repeat == 1}
    total = sum((_usage(expected[run.variant]) for run in runs), NOTHING_USED)
    if as_json:
        entries = [
            {kind: variant, "runs": number, "forecast": [one.to_json() for one in expected[variant]]}
            for variant, number in variants.items()
        ]
        print_json({f"{kind}s": entries, "usage": usage_to_json(total)})
        return
    for variant, number in variants.items():
        click.secho(f"\n{kind.capitalize()} {variant}, {count_of(number, 'run')}", bold=True)
        _show(expected[variant])
    _show_total(total, chain.from_iterable(expected.values()))


def _show(expected: Iterable[Expected]) -> None:
    for one in expected:
        click.secho(f"\n{printable(one.name)} {one.model}", bold=True)
        for role, text in (("system", one.request.system), *((m.role, opening_text(m)) for m in one.request.messages)):
            if text:
                click.echo(f"  {role}: {printable(text)}".replace("\n", "\n    "))
        _show_files(one)
        for tool in tool_descriptions(one.request.tools):
            click.echo(f"  tool: {tool}".replace("\n", "\n    "))
        click.echo(f"  expected: {count_of(one.turns, 'turn')}, {bill(one.usage)}")
        for help_ in one.help:
            click.echo(f"  {_help_line(help_)}")


def _show_files(one: Expected) -> None:
    for file in one.files:
        click.echo(f"  file: {printable(file.name)}, {printable(file.about)}: about {count_of(file.tokens, 'token')}")
    if one.files:
        read, price = count_of(one.file_usage.input_tokens, "token"), cost(one.file_usage.cost_usd)
        click.echo(f"  files: about {read} in {count_of(one.turns, 'turn')}, {price} if nothing is cached")


def _help_line(one: ExpectedHelp) -> str:
    """Describes a model that helps a participant, and says if its cost is not in the sum."""
    if one.calls is None:
        return f"{one.role} {printable(one.model)}, {one.when}: {bill(one.each)} each time, not in the sum"
    calls = "1 call" if one.calls == 1 else f"{one.calls:.4g} calls"
    return f"{one.role} {printable(one.model)}, {one.when}: {calls}, {bill(one.usage)}"


def _show_total(usage: Usage, expected: Iterable[Expected]) -> None:
    click.echo(f"\nAll together about {bill(usage)}. No model was called.")
    if any(one.calls is None for each in expected for one in each.help):
        click.echo("Calls that are not in the sum come on top: how often help is needed depends on the answers.")


def _usage(expected: Iterable[Expected]) -> Usage:
    return sum((one.total for one in expected), NOTHING_USED)
