"""What the pages on serving show can be served."""

from pathlib import Path

import pytest
import yaml

from ai_battle.server.metrics import COUNTERS, HISTOGRAMS
from ai_battle.server.running import Told
from ai_battle.server.settings import VARIABLES

from ..pages import DOCS, Block, every_block

PAGE = DOCS / "how-to" / "serve.md"
KEYS = {"TEAM_KEY": "key-of-team", "CI_KEY": "key-of-ci", "OPENAI_API_KEY": "any", "ANTHROPIC_AUTH_TOKEN": "any"}
SERVED = [block for block in every_block("yaml") if "server" in (yaml.safe_load(block.text) or {})]


@pytest.mark.parametrize("block", SERVED, ids=str)
def test_a_yaml_on_a_page_is_a_server_that_can_start(block: Block, tmp_path: Path) -> None:
    (path := tmp_path / "server.yaml").write_text(block.text, encoding="utf-8")

    assert Told(str(path), KEYS).plan().generation.routes.named


def test_the_page_names_every_metric_and_every_variable() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (*COUNTERS, *HISTOGRAMS, *VARIABLES.values()):
        assert f"`{name}`" in text, f"{name} is missing"
