"""The command line in processes that are forked from one that has loaded it; of what they do, the rest is the same."""

from importlib import import_module

from ai_battle import cli
from tests.nursery import serve

MODULES = (
    *("cli.ask", "cli.bench", "cli.run", "cli.runs", "cli.screen"),
    *("cli.serve", "server.running"),
    *("assembly.recipes", "assembly.tooling", "conversation.manager", "providers.openai", "providers.scripted"),
)

if __name__ == "__main__":
    for module in MODULES:
        import_module(f"ai_battle.{module}")
    serve(lambda *arguments: cli.main(arguments))
