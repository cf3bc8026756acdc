"""The packaged prompts and templates."""

from importlib.resources import files

import pytest

from ai_battle.conversation.templates import PACKAGED, packaged_templates
from ai_battle.core.errors import ConfigError


@pytest.mark.parametrize("template", packaged_templates())
def test_a_packaged_template_is_filled(template: str) -> None:
    filled = PACKAGED.fill(template, {"domain": "tidal power", "goal": "tidal power"})

    assert "tidal power" in filled
    assert "$" not in filled


def test_values_are_taken_as_they_are() -> None:
    assert "$1 and {this}" in PACKAGED.fill("ai_assistant_instructions", {"domain": "$1 and {this}"})


@pytest.mark.parametrize(
    ("template", "params", "message"),
    [
        ("human_system_instruction", {"domain": "x"}, "did you mean 'human_system_instructions'"),
        ("human_system_instructions", {}, "needs the parameter 'domain'"),
        ("human_system_instructions", {"domian": "x"}, "needs the parameter 'domain'; given: 'domian'"),
        ("../secret", {}, "there is no template"),
    ],
)
def test_what_can_not_be_filled_is_named(template: str, params: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PACKAGED.fill(template, params)


def test_every_prompt_is_short_and_ends_in_a_sentence() -> None:
    prompts = files("ai_battle.conversation").joinpath("prompts")
    for path in (*prompts.iterdir(), *prompts.joinpath("templates").iterdir()):
        if path.is_file():
            text = path.read_text(encoding="utf-8").strip()
            assert 0 < len(text) < 1200, path.name
            assert text.rstrip(")")[-1] in ".:" or text.split()[-1].startswith("$"), path.name
