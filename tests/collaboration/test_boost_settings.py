"""What the environment says of the boost model."""

from pathlib import Path

import pytest

from ai_battle import BoostLoop
from ai_battle.config.server import BoostSettings, boost_settings
from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ToolSpec
from ai_battle.testing import ScriptedClient

from .boosting import model_request

KEY = "sk-a-secret"
WHOLE = {"BOOST_BASE_URL": "https://api.example.org/v1", "BOOST_API_KEY": KEY, "BOOST_MODEL": "large-1"}


def settings_with(**more: str) -> BoostSettings:
    settings, status = boost_settings({**WHOLE, **more})
    assert settings
    assert status == (str(settings) if settings.tiers else "boost is not configured for the tiers")
    return settings


def test_s1_1_a_configured_boost_model_is_checked_and_its_status_told() -> None:
    """S1.1, at the level of the settings: the server prints them beside its mappings."""
    settings = settings_with(ENABLE_BOOST_SUPPORT="BIG_MODEL,SMALL_MODEL", BOOST_TIMEOUT="12.5")

    assert (settings.base_url, settings.api_key, settings.model) == (WHOLE["BOOST_BASE_URL"], KEY, "large-1")
    assert (settings.tiers, settings.template, settings.timeout) == (("BIG_MODEL", "SMALL_MODEL"), "", 12.5)
    assert str(settings) == "boost model large-1 at https://api.example.org/v1, for BIG_MODEL, SMALL_MODEL"


@pytest.mark.parametrize("environment", [{}, {"BOOST_MODEL": "  "}, {"ENABLE_BOOST_SUPPORT": "none"}, {"PATH": "/bin"}])
def test_s1_2_without_configuration_there_is_no_boost(environment: dict[str, str]) -> None:
    """S1.2, at the level of the settings: nothing is raised, so a server starts."""
    assert boost_settings(environment) == (None, "boost is not configured for the tiers")


@pytest.mark.parametrize(
    ("said", "served"),
    [
        ("NONE", ()),
        ("", ()),
        ("BIG_MODEL", ("BIG_MODEL",)),
        ("small_model , big_model,", ("BIG_MODEL", "SMALL_MODEL")),
        ("BIG_MODEL,MIDDLE_MODEL,SMALL_MODEL", ("BIG_MODEL", "MIDDLE_MODEL", "SMALL_MODEL")),
    ],
)
def test_s1_3_a_tier_that_is_not_named_goes_without_boost(said: str, served: tuple[str, ...]) -> None:
    """S1.3, at the level of the settings: `tiers` tells a route whether to put the loop around its model."""
    assert settings_with(ENABLE_BOOST_SUPPORT=said).tiers == served


@pytest.mark.parametrize("missing", WHOLE)
def test_a_partial_set_names_what_is_missing(missing: str) -> None:
    settings, status = boost_settings({name: value for name, value in WHOLE.items() if name != missing})
    assert settings is None
    assert f"without {missing}" in status
    assert KEY not in status


def test_boost_for_a_tier_without_a_boost_model_names_all_that_is_missing() -> None:
    _, status = boost_settings({"ENABLE_BOOST_SUPPORT": "BIG_MODEL"})
    assert "BOOST_BASE_URL and BOOST_API_KEY and BOOST_MODEL" in status


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ENABLE_BOOST_SUPPORT", "BIG_MODELS", "did you mean 'BIG_MODEL'"),
        ("ENABLE_BOOST_SUPPORT", "NONE,BIG_MODEL", "NONE stands alone"),
        ("BOOST_TIMEOUT", "soon", "BOOST_TIMEOUT .* 'soon'"),
        ("BOOST_TIMEOUT", "0", "more than 0"),
        ("BOOST_TIMEOUT", "nan", "BOOST_TIMEOUT must be a finite number"),
        ("BOOST_TIMEOUT", "inf", "BOOST_TIMEOUT must be a finite number"),
        ("BOOST_BASE_URL", "api.example.org", "BOOST_BASE_URL is not an address"),
        ("BOOST_BASE_URL", "ftp://example.org", "BOOST_BASE_URL is not an address"),
        ("BOOST_BASE_URL", "http://", "BOOST_BASE_URL is not an address"),
        ("BOOST_BASE_URL", "http://[::1", "BOOST_BASE_URL is not an address"),
        ("BOOST_BASE_URL", "http://host:port/", "BOOST_BASE_URL is not an address"),
    ],
)
def test_a_wrong_value_is_named_with_the_way_out(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        boost_settings({**WHOLE, name: value})


@pytest.mark.parametrize("others", [{}, {"BOOST_MODEL": "large-1"}, WHOLE], ids=["alone", "half", "whole"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("BIG_MODLE", "ENABLE_BOOST_SUPPORT has no 'BIG_MODLE'; did you mean 'BIG_MODEL'?"),
        ("SMALL_MODEL,middle_mode", "ENABLE_BOOST_SUPPORT has no 'MIDDLE_MODE'; did you mean 'MIDDLE_MODEL'?"),
        ("NONE,BIG_MODEL", "ENABLE_BOOST_SUPPORT is 'NONE,BIG_MODEL': NONE stands alone."),
    ],
)
def test_a_wrong_tier_is_told_in_the_same_words_whatever_else_is_set(
    others: dict[str, str], value: str, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        boost_settings({**others, "ENABLE_BOOST_SUPPORT": value})
    assert str(caught.value) == words


def test_no_key_is_ever_shown() -> None:
    settings = settings_with(BOOST_BASE_URL="https://me:hunter2@api.example.org/v1")
    assert all(KEY not in shown for shown in (repr(settings), str(settings)))
    assert "hunter2" not in f"{settings} {settings!r}"


def test_the_environment_is_left_as_it_is() -> None:
    environment = {**WHOLE, "BOOST_MODEL": " large-1 "}
    boost_settings(environment)
    assert environment["BOOST_MODEL"] == " large-1 "


async def second_prompt(template: str, request: str, *tools: ToolSpec) -> str:
    """Returns what the boost model is sent in the second round, after a reply that led to nothing."""
    boost = ScriptedClient("Hm.", "SUMMARY: Yes.")
    await BoostLoop(boost, ScriptedClient(), template=template).complete(model_request(request, *tools))
    return boost.requests[1].messages[-1].text


async def test_a_template_is_filled_in_one_go() -> None:
    """What is inserted is never looked at again; other dollars and braces are text."""
    text = 'Loop $loop, {loop_count}.\n$request {"json": {x}} $requests $$ ${HOME} {tools}\n$tools-{previous_attempts}'
    filled = await second_prompt(text, "$tools {tools_text}")

    assert filled.startswith('Loop 1, 1.\n$tools {tools_text} {"json": {x}} $requests $$ ${HOME} {tools}\n-')
    assert "Loop 0 failed" in filled


@pytest.mark.parametrize("place", ["$request", "{user_request}"])
async def test_a_template_is_a_text_or_a_path(place: str, tmp_path: Path) -> None:
    text = f"Plan: {place}"
    (tmp_path / "wrapper.md").write_text(text, encoding="utf-8")

    assert await second_prompt(text, "R") == "Plan: R"
    assert await second_prompt(str(tmp_path / "wrapper.md"), "R") == "Plan: R"


async def test_the_packaged_template_has_all_places() -> None:
    filled = await second_prompt("", "(R)", ToolSpec("look", "(T)", {}))
    assert all(value in filled for value in ("Loop: 1", "Loop 0 failed", "(R)", "(T)"))
    assert all(word in filled for word in ("FORMAT 1", "SUMMARY:", "FORMAT 2", "ANALYSIS:", "GUIDANCE:", "FORMAT 3"))


def refusal(template: str) -> str:
    with pytest.raises(ConfigError) as error:
        BoostLoop(ScriptedClient(), ScriptedClient(), template=template)
    return str(error.value)


@pytest.mark.parametrize("text", ["Plan for\n$tools", "Plan {tools_text}", "Plan\n$requests", "Plan\n{request}"])
def test_a_template_without_a_place_for_the_request_is_refused_by_name(text: str) -> None:
    said = refusal(text)
    assert "template of boost has no place for the request; write $request" in said
    assert "BOOST_WRAPPER_TEMPLATE" in said


def test_a_file_without_a_place_for_the_request_is_named(tmp_path: Path) -> None:
    (tmp_path / "wrapper.md").write_text("Plan.", encoding="utf-8")
    assert "wrapper.md, has no place for the request" in refusal(str(tmp_path / "wrapper.md"))


@pytest.mark.parametrize("stated", ["no/such/file.md", "Just plan.", "nul\0", "x" * 5000, "~nobody-at-all/x.md"])
def test_what_is_neither_a_text_nor_a_file_is_said_to_be(stated: str) -> None:
    assert "no file that can be read" in refusal(stated)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrapper.md").write_bytes(b"\xff\xfe$request")
    assert "no file that can be read" in refusal(str(tmp_path / "wrapper.md"))
