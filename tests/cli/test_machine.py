"""`doctor`, `models` and `init`: what this machine can reach, and a discussion for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ai_battle.testing import FakeProviders, call, fault

from .conftest import Run

CLOSED = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def nothing_listens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No server that this machine may happen to run answers."""
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    for name in ("LMSTUDIO_BASE_URL", "VLLM_BASE_URL", "LLAMACPP_BASE_URL", "MLX_BASE_URL"):
        monkeypatch.setenv(name, CLOSED)
    for name in ("OPENROUTER_API_KEY", "GROQ_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


class TestDoctor:
    def test_a_person_has_no_models_to_look_for(self, ai_battle: Run) -> None:
        assert "person" not in {found["subject"] for found in json.loads(ai_battle("doctor", "--json").out)}

    def test_what_is_missing_comes_with_the_way_to_get_it(self, ai_battle: Run) -> None:
        said = ai_battle("doctor").out
        assert "ollama serve" in said
        assert "OPENAI_API_KEY" in said
        assert "ai-battle run quickstart" in said

    def test_what_is_there_is_listed(self, ai_battle: Run, fakes: FakeProviders) -> None:
        findings = {found["subject"]: found for found in json.loads(ai_battle("doctor", "--json").out)}
        assert findings["ollama"]["state"] == "ok"
        assert "phi4:latest" in findings["ollama"]["message"]
        assert findings["openai"]["state"] == "ok"
        assert findings["next"]["message"].endswith("of ollama and anthropic; this writes one")
        assert findings["next"]["mend"] == "ai-battle init"


class TestModels:
    def test_models_of_all_that_is_set_up_are_listed(self, ai_battle: Run, fakes: FakeProviders) -> None:
        said = ai_battle("models", "list").out
        for name in ("gemma3:1b", "gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"):
            assert name in said

    def test_nothing_to_list_is_said_with_the_way_out(self, ai_battle: Run) -> None:
        outcome = ai_battle("models", "list")
        assert (outcome.code, "ai-battle doctor" in outcome.err) == (1, True)

    def test_a_provider_that_was_asked_for_says_why_it_is_silent(self, ai_battle: Run) -> None:
        assert "OPENAI_API_KEY" in ai_battle("models", "list", "openai").out

    def test_a_model_is_shown_with_who_says_what(self, ai_battle: Run, fakes: FakeProviders) -> None:
        shown = json.loads(ai_battle("models", "show", "ollama-phi4", "--json").out)
        assert shown["capabilities"]["context_window"]["source"] == "server"
        assert shown["price_per_million_tokens"] == {"input": 0.0, "output": 0.0}

    def test_a_price_that_nobody_knows_is_unknown(self, ai_battle: Run, fakes: FakeProviders) -> None:
        said = ai_battle("models", "show", "openai/my-own-tune").out
        assert next(line.split() for line in said.splitlines() if "price" in line)[:2] == ["price", "unknown"]

    def test_an_unknown_type_is_answered_with_near_ones(self, ai_battle: Run) -> None:
        outcome = ai_battle("models", "show", "gpt-4oo")
        assert (outcome.code, "gpt-4o" in outcome.err) == (2, True)

    def test_a_probe_calls_the_model_and_says_what_works(self, ai_battle: Run, fakes: FakeProviders) -> None:
        fakes.openai.says("one two three", call("clock", place="Oslo"), '{"sum": 5}')
        outcome = ai_battle("models", "probe", "gpt-4o")
        assert (outcome.code, outcome.out.count("works")) == (0, 3)

    def test_a_probe_that_fails_says_how(self, ai_battle: Run, fakes: FakeProviders) -> None:
        fakes.openai.says("one two", "I have no clock.", fault("http_400"))
        outcome = ai_battle("models", "probe", "gpt-4o")
        assert outcome.code == 1
        assert "it answered in text instead of calling the tool" in outcome.out


class TestInit:
    def test_a_discussion_is_written_for_the_models_that_are_there(self, ai_battle: Run, fakes: FakeProviders) -> None:
        assert ai_battle("init").code == 0
        models = yaml.safe_load(Path("discussion.yaml").read_text())["discussion"]["models"]
        assert [spec["type"] for spec in models.values()] == ["ollama/gemma3:1b", "haiku"]
        assert ai_battle("validate", "discussion.yaml").code == 0
        assert ai_battle("run", "discussion.yaml").code == 0

    def test_without_any_model_a_scripted_discussion_is_written(self, ai_battle: Run) -> None:
        assert ai_battle("init", "--output", "mine.yaml").out == "ai-battle run mine.yaml\n"
        assert ai_battle("validate", "mine.yaml").code == 0

    def test_a_packaged_discussion_is_copied_with_the_files_that_it_reads(
        self, ai_battle: Run, fakes: FakeProviders
    ) -> None:
        ai_battle("init", "code-review")
        assert Path("material/discount.py").is_file()
        assert ai_battle("validate", "code-review.yaml").code == 0

    def test_nothing_is_written_over(self, ai_battle: Run) -> None:
        ai_battle("init")
        outcome = ai_battle("init")
        assert (outcome.code, "discussion.yaml exists" in outcome.err) == (2, True)

    def test_an_unknown_template_is_answered_with_near_ones(self, ai_battle: Run) -> None:
        outcome = ai_battle("init", "debaet")
        assert (outcome.code, "did you mean 'debate'" in outcome.err) == (2, True)

    @pytest.mark.parametrize("arguments", [(), ("debate",), ("--output", "deep/down/mine.yaml")])
    def test_the_schema_that_editors_are_pointed_at_is_beside_the_file(
        self, ai_battle: Run, arguments: tuple[str, ...]
    ) -> None:
        path = Path(ai_battle("init", *arguments).out.split()[-1])
        schema = path.read_text().splitlines()[0].partition("$schema=")[2]

        assert schema == "./discussion.schema.json"
        assert json.loads((path.parent / schema).read_text())["properties"]["discussion"]
        assert str(Path.cwd()) not in path.read_text()

    def test_a_pair_is_proposed_where_a_small_and_a_large_model_are_there(
        self, ai_battle: Run, fakes: FakeProviders
    ) -> None:
        ai_battle("init")
        discussion = yaml.safe_load(Path("discussion.yaml").read_text())["discussion"]

        pair = discussion["collaboration"]["pairs"][0]
        assert (discussion["models"][pair["primary"]]["type"], pair["secondary"]) == ("ollama/gemma3:1b", "haiku")

    def test_no_parameter_is_written_that_some_models_refuse(self, ai_battle: Run, fakes: FakeProviders) -> None:
        ai_battle("init")
        models = yaml.safe_load(Path("discussion.yaml").read_text())["discussion"]["models"]

        assert {key for spec in models.values() for key in spec["parameters"]} == {"max_tokens"}
