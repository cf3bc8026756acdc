"""Which model answers to which name."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.server.config import ConfigSource
from ai_battle.server.running import startup_lines
from ai_battle.testing import FakeProviders
from tests.scenarios.terminal import run

from .serving import ask_server, serving

HELLO: dict[str, Any] = {"max_tokens": 64, "messages": [{"role": "user", "content": "Hello?"}]}
STUCK = "I do not know. " * 40


@pytest.fixture
async def fakes() -> Any:
    async with FakeProviders() as running:
        yield running


async def test_tiers_are_found_by_the_words_in_a_name(fakes: FakeProviders) -> None:
    tiers = {"BIG_MODEL": "openai/large", "MIDDLE_MODEL": "ollama/phi4", "SMALL_MODEL": "openai/little"}
    async with serving(fakes, **tiers) as address:
        for name in ("claude-opus-4-1", "claude-3-5-sonnet-latest", "claude-3-haiku-20240307"):
            status, answer = await ask_server(address, "/v1/messages", {"model": name, **HELLO})
            assert (status, answer["model"]) == (200, name)

    assert [request.body["model"] for request in fakes.openai.questions] == ["large", "little"]
    assert [request.body["model"] for request in fakes.ollama.questions] == ["phi4"]


async def test_a_tier_without_a_model_has_that_of_the_next_larger_one(fakes: FakeProviders) -> None:
    async with serving(fakes, BIG_MODEL="large") as address:
        status, _ = await ask_server(address, "/v1/messages", {"model": "claude-haiku-4", **HELLO})

    assert status == 200
    assert fakes.openai.questions[0].body["model"] == "large"


async def test_a_type_that_names_its_provider_is_served_as_it_is(fakes: FakeProviders) -> None:
    async with serving(fakes, BIG_MODEL="large") as address:
        status, _ = await ask_server(address, "/v1/chat/completions", {"model": "ollama/gemma3:1b", **HELLO})

    assert status == 200
    assert fakes.ollama.questions[0].body["model"] == "gemma3:1b"


async def test_a_name_that_nobody_answers_to_lists_the_others(fakes: FakeProviders) -> None:
    async with serving(fakes, BIG_MODEL="large") as address:
        status, answer = await ask_server(address, "/v1/messages", {"model": "claude-opsu", **HELLO})

    assert (status, answer["error"]["type"]) == (404, "not_found_error")
    assert "did you mean 'claude-opus'" in answer["error"]["message"]


@pytest.mark.parametrize("name", ["gguf//etc/passwd", "scripted", "os.path/x", "replay"])
async def test_clients_can_name_neither_files_nor_code(fakes: FakeProviders, name: str) -> None:
    async with serving(fakes, BIG_MODEL="large") as address:
        status, _ = await ask_server(address, "/v1/messages", {"model": name, **HELLO})

    assert status == 404


async def test_a_route_of_the_file_is_a_pair(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "pair.yaml"
    file.write_text("server: {routes: {small+big: {model: ollama/phi4, secondary: openai/gpt-4o, max_retries: 1}}}")
    fakes.ollama.says(STUCK, "The number is seven.")
    fakes.openai.says("Count the dwarfs.")

    async with serving(fakes, str(file)) as address:
        status, answer = await ask_server(address, "/v1/messages", {"model": "small+big", **HELLO})

    assert (status, answer["content"][0]["text"]) == (200, "The number is seven.")
    assert len(fakes.openai.questions) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server: {rutes: {}}", "server.rutes: unknown key; did you mean 'routes'"),
        ("server: {port: 70000}", "server.port: must be at most 65,535, not 70000"),
        ("server: {routes: {a: {secondary: gpt-4o}}}", "server.routes.a.model: is missing"),
        ("server: {routes: {a: {model: gtp-4o}}}", ":1:30 server.routes.a.model: "),
        (
            "server: {routes: {a: {model: ollama/phi4, strategy: resuce}}}",
            ":1:53 server.routes.a.strategy: there is no strategy 'resuce'; did you mean",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, strategy: vote, samples: 1}}}",
            ":1:68 server.routes.a.samples: vote takes two samples or more",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, secondary: ollama-phi4}}}",
            ":1:54 server.routes.a.secondary: 'ollama/phi4' can't help itself",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, secondary: ollama/gemma3, judge: ollama-phi4}}}",
            "server.routes.a.judge: 'ollama/phi4' can't judge itself",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, strategy: peer, peers: [ollama/gemma3, ollama-phi4]}}}",
            "server.routes.a.peers[1]: 'ollama/phi4' answers already",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, secondary: [ollama/gemma3, gtp-4o]}}}",
            ":1:70 server.routes.a.secondary[1]: ",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, strategy: boost, secondary: ollama/gemma3, "
            "options: {template: none.md}}}}",
            ".options.template: The template of boost is 'none.md'",
        ),
        (
            "server: {routes: {a: {model: ollama/phi4, secondary: {type: ollama/gemma3, tools: [clock]}}}}",
            "server.routes.a.secondary: ollama/gemma3 has tools, which only a discussion gives its helpers",
        ),
        ("server: {routes: {a: {model: ollama/phi4, strategy: rescue}}}", "server.routes.a.secondary: is missing"),
        (
            "server: {routes: {a: {model: ollama/phi4, advisor: person/Ada}}}",
            "person/Ada is a person, and nobody sits at a server; name a model",
        ),
        (
            "server: {routes: {a: ollama/phi4}, advisors: {'*': person/Ada}}",
            "person/Ada is a person, and nobody sits at a server; name a model",
        ),
        ("server: {host: 0.0.0.0, routes: {a: ollama/phi4}}", "0.0.0.0 can be reached from elsewhere"),
        ("server: {}", "There is nothing to serve"),
    ],
)
def test_a_file_that_can_not_be_served_says_why(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)

    with pytest.raises(ConfigError) as caught:
        ConfigSource(str(file), {}).load()

    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("PORT", "many"), ("REQUEST_TIMEOUT", "-1"), ("MAX_TOKENS_LIMIT", "0")])
def test_a_variable_that_is_wrong_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"The variable {name}"):
        ConfigSource("", {"BIG_MODEL": "ollama/phi4", name: value}).load()


def test_a_key_of_a_variable_that_is_too_long_is_told_with_the_variable_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        ConfigSource("", {"BIG_MODEL": "ollama/phi4", "AI_BATTLE_SERVE_KEYS": f"a-key, {'k' * 201}"}).load()
    assert str(caught.value).startswith("The variable AI_BATTLE_SERVE_KEYS for server.keys[1].key must be at most 200")
    assert "kkk" not in str(caught.value)


@pytest.mark.parametrize(("variable", "words"), [("HOST", "null can be reached"), ("BIG_MODEL", "model 'null'")])
def test_what_a_variable_says_is_meant_as_it_is_written(variable: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ConfigSource("", {"BIG_MODEL": "ollama/phi4", variable: "null"}).load()


@pytest.mark.parametrize("host", ["", "null", " "])
def test_what_the_command_line_says_is_meant_as_it_is_written(host: str) -> None:
    with pytest.raises(ConfigError, match="can be reached from elsewhere"):
        ConfigSource("", {"BIG_MODEL": "ollama/phi4", "HOST": "localhost"}, {"host": host}).load()


@pytest.mark.parametrize(("keys", "needed"), [("[]", 0), ("", 2), ("[one]", 1)])
def test_a_file_that_names_its_keys_or_none_wins_over_the_variable(tmp_path: Path, keys: str, needed: int) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"server: {{keys: {keys}, routes: {{a: ollama/phi4}}}}")

    assert len(ConfigSource(str(file), {"AI_BATTLE_SERVE_KEYS": "a-key,b-key"}).load().server.keys) == needed


def test_the_file_wins_over_the_environment_and_the_command_line_over_both(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("server: {port: 1111, routes: {a: ollama/phi4}}")
    environment = {"PORT": "2222", "REQUEST_TIMEOUT": "30"}

    assert ConfigSource(str(file), environment).load().server.port == 1111
    assert ConfigSource(str(file), environment).load().server.request_timeout == 30
    assert ConfigSource(str(file), environment, {"port": 3333}).load().server.port == 3333


def test_what_is_served_is_told_at_the_start() -> None:
    boost = {
        "BOOST_BASE_URL": "http://127.0.0.1:9/v1",
        "BOOST_API_KEY": "key-of-boost",
        "BOOST_MODEL": "planner",
        "ENABLE_BOOST_SUPPORT": "BIG_MODEL",
    }
    tiers = {"BIG_MODEL": "ollama/phi4", "SMALL_MODEL": "ollama/gemma3:1b"}

    said = "\n".join(startup_lines(ConfigSource("", {**tiers, **boost}).load(), "http://x"))
    without = "\n".join(startup_lines(ConfigSource("", tiers).load(), "http://x"))

    assert "claude-opus    ollama/phi4, openai/planner  (boost)" in said
    assert "claude-haiku   ollama/gemma3:1b\n" in said
    assert "key-of-boost" not in said
    assert "boost is not configured" in without


@pytest.mark.parametrize(
    "route",
    ["{model: my_code.models/x}", "{model: ollama/phi4, secondary: ollama/phi3, strategy: my_code.helping}"],
)
def test_code_that_a_file_names_is_not_imported_before_it_is_trusted(tmp_path: Path, route: str) -> None:
    folder = tmp_path / "my_code"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('it ran')")
    file = tmp_path / "s.yaml"
    file.write_text(f"server: {{routes: {{a: {route}}}}}")

    done = run("serve", file, PYTHONPATH=str(tmp_path))

    assert done.code == 2
    assert "runs code of its own (my_code" in done.err
    assert "--trust" in done.err
    assert "it ran" not in done.err


async def test_a_strategy_in_a_file_beside_the_yaml_answers(fakes: FakeProviders, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def create(primary, secondary):\n    return secondary\n")
    path = tmp_path / "server.yaml"
    path.write_text("server: {routes: {pair: {primary: openai/small, secondary: openai/large, strategy: mine}}}")
    async with serving(fakes, str(path)) as address:
        await ask_server(address, "/v1/messages", {"model": "pair", **HELLO})

    assert [question.body["model"] for question in fakes.openai.questions] == ["large"]
