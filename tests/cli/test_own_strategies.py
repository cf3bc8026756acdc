"""A strategy in a file beside the YAML: found by its name, trusted before it runs, counted as help."""

import json
from pathlib import Path

import pytest

from .conftest import Run

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "write-a-strategy.md"
TALK = """\
discussion:
  turns: 1
  goal: Talk.
  models:
    Ann: {type: scripted/ann, script: [What is it?], role: human}
    Bob: {type: scripted/bob, script: [%s]}
  collaboration:
    pairs:
      - primary: Bob
        secondary: {type: scripted/large, script: [It is a long and complete answer.]}
        strategy: %s
"""


@pytest.fixture
def second_opinion(folder: Path) -> Path:
    """The strategy of the page on how to write one."""
    source = PAGE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    path = folder / "second_opinion.py"
    path.write_text(source, encoding="utf-8")
    return path


def write_config(said: str = "Short.", strategy: str = "second_opinion") -> str:
    Path("talk.yaml").write_text(TALK % (said, strategy), encoding="utf-8")
    return "talk.yaml"


@pytest.mark.usefixtures("second_opinion")
@pytest.mark.parametrize("strategy", ["second_opinion", "second_opinion.py", "./second_opinion.py"])
def test_a_file_beside_the_yaml_helps_and_its_help_is_counted(ai_battle: Run, strategy: str) -> None:
    document = json.loads(ai_battle("run", write_config(strategy=strategy), "--trust", "--json").out)

    assert document["messages"][-1]["parts"][0]["content"] == "It is a long and complete answer."
    helped = document["collaboration"]
    assert helped["helped"] == 1
    assert [row["calls"] for row in helped["ledger"] if row["role"] == "helper"] == [1]


@pytest.mark.usefixtures("second_opinion")
def test_where_no_help_was_needed_none_is_counted(ai_battle: Run) -> None:
    document = json.loads(ai_battle("run", write_config("This is long enough to stand."), "--trust", "--json").out)

    assert document["collaboration"]["helped"] == 0


@pytest.mark.usefixtures("second_opinion")
def test_it_is_trusted_before_it_runs(ai_battle: Run) -> None:
    said = ai_battle("run", write_config())

    assert said.code == 2
    assert "runs code of its own" in said.err
    assert "second_opinion.py" in said.err


def test_validating_imports_nothing(ai_battle: Run, folder: Path) -> None:
    (folder / "second_opinion.py").write_text("open('ran', 'w').close()")

    assert ai_battle("validate", write_config()).code == 0
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1", "has no function 'create'"),
        ("\n1 / 0", "does not load: ZeroDivisionError: division by zero (second_opinion.py, line 2)"),
        ("def create(:", "does not load: SyntaxError"),
        ("def create(primary, secondary): pass", "creates is None, which is not a ModelClient"),
    ],
)
def test_a_file_that_is_none_is_told(ai_battle: Run, folder: Path, source: str, words: str) -> None:
    (folder / "second_opinion.py").write_text(source)

    said = ai_battle("run", write_config(), "--trust")
    assert said.code == 2
    assert words in said.err


@pytest.mark.usefixtures("second_opinion")
@pytest.mark.parametrize(
    ("options", "words"), [("shortst: 40", "did you mean 'shortest'?"), ("shortest: forty", "must be a whole number")]
)
def test_a_wrong_option_is_told_with_its_place(ai_battle: Run, options: str, words: str) -> None:
    said = ai_battle("run", write_config(strategy=f"second_opinion\n        options: {{{options}}}"), "--trust")

    assert said.code == 2
    assert "talk.yaml:12:18 discussion.collaboration.pairs[0].options: " in said.err
    assert words in said.err


def test_without_a_file_the_built_in_ones_are_named(ai_battle: Run) -> None:
    assert "there is no strategy 'mine'" in ai_battle("validate", write_config(strategy="mine")).out


@pytest.mark.parametrize("key", ["primary", "model"])
def test_the_model_of_a_pair_has_the_same_name_in_every_kind_of_file(ai_battle: Run, folder: Path, key: str) -> None:
    """A misspelt helper is found behind it, so the key was read."""
    (folder / "tasks.jsonl").write_text('{"prompt": "2 + 2?", "reference": "4"}\n')
    pair = f"{key}: ollama/phi4, secondary: ollama/gemma3, strategy: rescue"
    Path("server.yaml").write_text(f"server: {{routes: {{both: {{{pair}}}}}}}\n")
    Path("suite.yaml").write_text(
        f"benchmark: {{datasets: [{{path: tasks.jsonl}}], scorers: [numeric], settings: [{{name: both, {pair}}}]}}\n"
    )
    Path("talk.yaml").write_text(
        f"discussion: {{goal: Talk., models: {{A: {{type: ollama/phi4}}, B: {{type: scripted, script: [x]}}}}, "
        f"collaboration: {{pairs: [{{{pair}}}]}}}}\n"
    )

    said = ai_battle("validate", "server.yaml", "suite.yaml", "talk.yaml")

    assert (said.code, said.out.count(": ok")) == (0, 3), said.out
