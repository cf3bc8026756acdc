"""What the tests of several wires share."""

from collections.abc import Iterator

import pytest

from .played import Player, playing


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    with playing() as player:
        yield player
