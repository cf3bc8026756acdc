"""The help of commands says which strategies have a measured figure."""

from ai_battle.assembly import strategies
from ai_battle.cli._strategies import EXPERIMENTAL, MEASURED
from ai_battle.core import plugins


def test_the_help_tells_the_strategies_that_there_are_and_which_were_measured() -> None:
    figures = {name: plugins.load(strategies.STRATEGIES, name).MEASURED for name in strategies.names()}

    assert set(MEASURED) == {name for name, figure in figures.items() if figure}
    assert set(EXPERIMENTAL) == {name for name, figure in figures.items() if not figure}
