"""The JSON Schema: what editors complete and underline."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import ai_battle.config
from ai_battle.config.editors import json_schema
from ai_battle.config.loading import load
from ai_battle.config.packaged import packaged_config, packaged_names
from ai_battle.conversation.inputs import problems as input_problems
from ai_battle.core.errors import ConfigError
from ai_battle.providers._endpoints import packaged_providers

from .test_loading import EVERYTHING
from .test_specification import FRAGMENT, GENERATION, RESEARCH

SHIPPED = Path(ai_battle.config.__file__).parent / "schemas"


def errors(document: Any) -> list[str]:
    schema = json_schema(providers=packaged_providers())
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


@pytest.mark.parametrize(
    ("server", "fits"),
    [
        ({"routes": {"small": "ollama/phi4", "both": {"model": "ollama/phi4", "secondary": "gpt-4o"}}}, True),
        ({"tiers": {"big": "gpt-4o"}, "keys": ["a", {"key": "b", "budget_usd": 3}]}, True),
        ({"rotes": {}}, False),
        ({"routes": {"both": {"secondary": "gpt-4o"}}}, False),
        ({"port": 70_000}, False),
    ],
)
def test_a_server_file_is_completed_and_underlined_too(server: dict[str, Any], fits: bool) -> None:
    validator = Draft202012Validator(json_schema("server", packaged_providers()))

    assert validator.is_valid({"server": server}) == fits


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())


def test_every_key_is_described() -> None:
    def undescribed_keys(schema: Any, name: str) -> Iterator[str]:
        for key, value in schema.get("properties", {}).items():
            if "description" not in value:
                yield f"{name}.{key}"

    schema = json_schema()
    sections = {"": schema, **schema["$defs"]}

    assert not [key for name, section in sections.items() for key in undescribed_keys(section, name)]


def test_no_mapping_takes_unknown_keys() -> None:
    sections = json_schema()["$defs"].values()

    assert all(section["additionalProperties"] is False for section in sections if "properties" in section)


@pytest.mark.parametrize("name", packaged_names())
def test_shipped_configurations_fit_the_schema_and_load(name: str) -> None:
    path = packaged_config(name)
    assert path is not None

    assert not errors(yaml.safe_load(path.read_text()))
    assert not [*input_problems(load(path, {}))]


@pytest.mark.parametrize("name", packaged_names())
def test_shipped_configurations_name_their_schema(name: str) -> None:
    path = packaged_config(name)
    assert path is not None
    first = path.read_text().splitlines()[0]

    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).resolve() == (SHIPPED / "discussion.json").resolve()


@pytest.mark.parametrize(
    "document",
    [
        yaml.safe_load(EVERYTHING.replace("1e6", "1000000").replace("say: no", "say: yes indeed")),
        yaml.safe_load(FRAGMENT),
        GENERATION,
        RESEARCH,
    ],
)
def test_what_loads_fits_the_schema(document: Any) -> None:
    assert not errors(document)


@pytest.mark.parametrize(
    "change",
    [{"turns": 0}, {"trns": 3}, {"mode": "x"}, {"models": {"a": {"type": "x"}}}, {"goal": 3}, {"stop": {"phrse": "x"}}],
)
def test_what_does_not_load_does_not_fit_the_schema(change: dict[str, Any]) -> None:
    discussion = {"goal": "Talk.", "models": {"a": {"type": "x"}, "b": {"role": "user"}}}

    assert not errors({"discussion": discussion})
    assert errors({"discussion": {**discussion, **change}})


def test_an_unknown_schema_is_told_with_near_names() -> None:
    with pytest.raises(ConfigError, match="there is no schema 'discusion'; did you mean 'discussion'"):
        json_schema("discusion")


def test_keys_of_built_in_providers_are_checked_and_a_plug_in_may_have_its_own() -> None:
    talk = {"goal": "x", "models": {"A": {"type": "gpt-4o"}, "B": {"type": "parrot/grey"}}}
    assert errors({"discussion": talk, "providers": {"parrot": {"colour": "grey"}}}) == []
    (wrong,) = errors({"discussion": talk, "providers": {"openai": {"api_kee": "x"}}})
    assert "api_kee" in wrong
