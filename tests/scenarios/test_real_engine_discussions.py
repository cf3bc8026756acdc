"""The command line with a real engine: three ways to one tiny model, in one discussion, streamed and counted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.cli import run_command
from ai_battle.conversation.reading import read
from ai_battle.core.events import AttemptFailed, ModelReplied, TurnFinished

pytest.importorskip("xllamacpp", reason="the engine is an extra: pip install 'ai-battle[local]'")
engine = pytest.importorskip("tests.engine")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written: Path = engine.write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return written


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with engine.serve_model(model) as url:
        yield url


def talk(types: dict[str, str], address: str, **discussion: object) -> str:
    said = {"max_tokens": 16, "seed": 1, "temperature": 0.8}
    models = {name: {"type": type_, "persona": f"A {name}.", "parameters": said} for name, type_ in types.items()}
    closing = {"connection": "close"}
    providers = {
        "llamacpp": {"base_url": f"{address}/v1", "headers": closing},
        "anthropic": {"base_url": address, "api_key": "none", "headers": closing},
    }
    settings = {"goal": "Talk about the weather.", "mode": "ai-ai", "models": models, **discussion}
    return json.dumps({"discussion": settings, "providers": providers})


def turns(run_dir: str) -> list[TurnFinished]:
    finished = (event for _, event in read(Path(run_dir)) if isinstance(event, TurnFinished))
    return [event for event in finished if event.kind == "turn"]


@pytest.mark.slow
def test_three_apis_and_a_file_in_one_discussion(
    here: Path, address: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types = {"poet": "llamacpp/tiny", "sailor": "anthropic/tiny", "miller": f"gguf/{model}", "judge": "llamacpp/tiny"}
    (here / "weather.yaml").write_text(talk(types, address, turns=5, local_only=True))

    code = run_command(["run", "weather.yaml", "--out", "here", "--json"])

    shown = json.loads(capsys.readouterr().out)
    assert (code, shown["status"], shown["turns"]) == (0, "done", 20)
    assert [message["name"] for message in shown["messages"][1:]] == [*types] * 5
    assert all(turn.usage.input_tokens and turn.usage.output_tokens and turn.message.text for turn in turns("here"))
    events = [event for _, event in read(Path("here"))]
    assert not [event for event in events if isinstance(event, AttemptFailed)]
    assert not [event for event in events if isinstance(event, ModelReplied) and event.estimated]
    assert shown["usage"]["input_tokens"] == sum(turn.usage.input_tokens for turn in turns("here"))


def test_a_long_talk_stays_within_what_the_engine_can_read(here: Path, address: str) -> None:
    """A budget of 400 tokens: old turns become notes, made by the engine itself."""
    types = {"poet": "llamacpp/tiny", "sailor": "llamacpp/tiny"}
    source = talk(types, address, turns=8, execution={"max_conversation_tokens": 400})
    (here / "weather.yaml").write_text(source)

    assert run_command(["run", "weather.yaml", "--out", "here", "--quiet"]) == 0

    assert len(turns("here")) == 16
    assert max(turn.usage.input_tokens for turn in turns("here")) < 1_500
