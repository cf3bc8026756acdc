"""A real engine, llama.cpp, held to the schema of tools: even random weights make a call that can be run."""

from pathlib import Path

import pytest

from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers import gguf
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient
from ai_battle.tools.decorator import tool
from ai_battle.tools.formats.auto import AutoTools

engine = pytest.importorskip("tests.engine")


@pytest.mark.slow
async def test_a_model_that_is_held_to_the_schema_makes_calls_that_are_run(tmp_path: Path) -> None:
    seen: list[str] = []

    @tool
    async def press(button: bool) -> str:
        """Presses a button, or lets it go."""
        seen.append(str(button))
        return "pressed"

    model = gguf.create(str(engine.write_model(tmp_path / "tiny.gguf")), threads=1)
    client = ToolCapableClient(AutoTools(model, "json"), [press], RunnerLimits(allow_chaining=False))
    wanted = {"type": "string", "enum": ["done"]}
    options = {"max_tokens": 3000, "seed": 1}
    request = ModelRequest((user("Go!"),), tool_choice="required", output_schema=wanted, options=options)
    try:
        response = await client.complete(request)
    finally:
        await client.aclose()

    assert response.used_tools
    assert seen
    assert all(not result.is_error for step in response.steps for result in step.tool_results)
