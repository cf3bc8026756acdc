"""Bodies that are almost right: a real one in which some value is gone or another."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from .values import json_values

Place = tuple[Any, Any]  # what contains the value, and its key there


@st.composite
def mutants(draw: st.DrawFn, bodies: list[Any]) -> Any:
    body = [copy.deepcopy(draw(st.sampled_from(bodies)))]
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(list(_places(body))))
        if draw(st.booleans()) or container is body:
            container[key] = draw(json_values)
        else:
            del container[key]
    return body[0]


def _places(value: Any) -> Iterator[Place]:
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield value, key
        yield from _places(inner)
