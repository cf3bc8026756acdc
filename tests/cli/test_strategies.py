"""The help of commands says which strategies have a measured figure."""

from ai_battle.assembly import strategies
from ai_battle.cli._strategies import EXPERIMENTAL, MEASURED


def test_the_help_tells_the_strategies_that_there_are_and_which_were_measured() -> None:
    figures = {name: strategies.traits(name).measured for name in strategies.names()}

    assert set(MEASURED) == {name for name, figure in figures.items() if figure}
    assert set(EXPERIMENTAL) == {name for name, figure in figures.items() if not figure}
