"""Whatever is in a file: it loads, or it is a `ConfigError`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ai_battle.config.discussion import DiscussionFile
from ai_battle.config.loading import LoadedDiscussion, load
from ai_battle.core.errors import ConfigError

from .conftest import SMALL

KEYS = st.sampled_from([
    *DiscussionFile.model_fields, "discussion", "goal", "turns", "models", "stop", "any", "all", "type", "role",
    "script", "call", "tools", "registry", "timeouts", "input_files", "<<", "[key]", "", "0",
])  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["${A}", "${", "human"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(), inner, max_size=4),
    max_leaves=20,
)
YAML = st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@`?,.\n\t \\~<0\u00e9\u2028\x00\x85"), max_size=80)
ENVIRONMENT = {"A": "1"}


def load_or_refuse(source: Any, overrides: tuple[str, ...] = ()) -> None:
    try:
        assert isinstance(load(source, ENVIRONMENT, overrides), LoadedDiscussion)
    except ConfigError as error:
        assert str(error)  # noqa: PT017 - loading is as good


@given(st.binary() | YAML.map(str.encode) | YAML.map(lambda text: f"{SMALL}  {text}".encode()))
@example(b"\xef\xbb\xbf")
@example(b"a: &a [*a]")
@example(b"? {a: b}\n: c")
@example(b"<<: [1]\n<<: 2")
@example(b"%YAML 9.9\n---\na: b")
@example(b"!!binary x")
@example(b"!!int [a]")
@example(b"*a : b")
def test_any_bytes_load_or_are_refused(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "any.yaml")
        path.write_bytes(content)
        load_or_refuse(path)


@pytest.mark.slow
@given(
    st.dictionaries(KEYS, VALUES, max_size=4)
    | VALUES.map(lambda value: {"discussion": {"models": value, "stop": value}})
)
def test_any_dictionary_loads_or_is_refused(source: dict[str, Any]) -> None:
    load_or_refuse(source)


@given(st.text() | st.builds(lambda key, text: f"{key}={text}", KEYS, YAML | st.text()))
@example("a=\ud800")
@example("discussion=5")
def test_any_override_is_taken_or_refused(override: str) -> None:
    load_or_refuse({"discussion": {"goal": "x", "models": {"a": {"type": "x"}, "b": {"type": "y"}}}}, (override,))


@given(st.text())
@example("\x00")
@example("a" * 5000)
def test_any_name_is_taken_or_refused(name: str) -> None:
    load_or_refuse(name)


@given(VALUES, st.text(min_size=1))
def test_what_is_resolved_loads_to_the_same(facts: Any, goal: str) -> None:
    source = {"discussion": {"goal": f"G{goal}", "models": {"a": {"type": "x"}, "b": {"type": "y"}}, "signals": facts}}
    try:
        first = load(source, ENVIRONMENT)
    except ConfigError:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "config.yaml")
        path.write_text(first.as_yaml(), encoding="utf-8")
        assert repr(load(path, ENVIRONMENT).file.discussion) == repr(first.file.discussion)
