"""What a benchmark found, on the terminal or as JSON."""

import json
from collections.abc import Iterator
from typing import Any

import click

from ai_battle.benchmark.store import Store

from ._money import dollars


def show(store: Store, *, as_json: bool) -> None:
    """The mean of each setting; prints the folder of the results last."""
    rows = list(_rows(store))
    if as_json:
        click.echo(json.dumps({"results": str(store.folder), "settings": rows}, indent=2, ensure_ascii=False))
        return
    for row in rows:
        quality = "not scored" if row["quality"] is None else f"{100 * row['quality']:.1f} %"
        missing = "".join(f", {row[kind]} {kind}" for kind in ("unscored", "failed") if row[kind])
        click.echo(f"{row['name']}: {quality} of {row['n']}, {dollars(row['cost_usd'])}{missing}")
    click.echo(str(store.folder))


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    for name in store.settings():
        samples = list(store.samples(name))
        answered = [sample for sample in samples if not sample.error]
        scores = [sample.score.value for sample in answered if sample.score.value is not None]
        costs = [sample.usage.cost_usd for sample in answered]
        yield {
            "name": name,
            "n": len(scores),
            "unscored": len(answered) - len(scores),
            "failed": len(samples) - len(answered),
            "quality": sum(scores) / len(scores) if scores else None,
            "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        }
