"""Options and words that several commands have."""

import click

approve = click.option(
    "--approve",
    metavar="ask|allow|deny",
    default="",
    help="What becomes of calls of tools, and for single ones: ask,calculator=allow,code_execution=deny.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, all else on stderr.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Show nothing on the way.")
trust = click.option("--trust", is_flag=True, help="Run code that the file names without asking.")
allow_unsandboxed = click.option(
    "--allow-unsandboxed", is_flag=True, help="Let code run without a fence, where the file says so too."
)


class WithStrategies(click.Command):
    """A command whose help lists the strategies that are installed, which are looked up when it is shown."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ai_battle.assembly import strategies

        measured = {name: bool(strategies.traits(name).measured) for name in strategies.names()}
        known = ", ".join(name for name in measured if measured[name])
        others = ", ".join(name for name in measured if not measured[name])
        self.epilog = f"Strategies of pairs: {known}; experimental, as no figure of theirs was measured yet: {others}."
        super().format_epilog(ctx, formatter)
