"""Runs the fake providers for a shell: paste the `export` lines that it prints into the one where you try a YAML."""

import argparse
import asyncio
import contextlib
from collections.abc import Sequence

from .faults import FAULTS, fault
from .servers import FakeProviders


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    if options.list_faults:
        print("\n".join(f"{name:24} {found.sentence}" for name, found in FAULTS.items()))
        return
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m ai_battle.testing", description=__doc__)
    parser.add_argument("--say", action="append", default=[], metavar="TEXT", help="an answer; may be repeated")
    parser.add_argument("--fault", action="append", default=[], choices=FAULTS, metavar="NAME", help="comes first")
    parser.add_argument("--list-faults", action="store_true", help="list all faults and exit")
    parser.add_argument("--seconds", type=float, default=3600.0, help="when to stop (default: 3600)")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    async with FakeProviders() as fakes:
        for provider in fakes.all:
            wanted = [fault(name) for name in options.fault if provider.name in FAULTS[name].wires]
            provider.says(*wanted, *options.say)
        for name, value in fakes.environment.items():
            print(f"export {name}={value}", flush=True)
        print(f"# four fake providers for {options.seconds:g} s; end them with Ctrl-C", flush=True)
        await asyncio.sleep(options.seconds)


if __name__ == "__main__":
    main()
