"""What the pages on serving show can be served."""

import asyncio
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from ai_battle.config.server import VARIABLES
from ai_battle.server.config import SERVE_KEYS, ConfigSource
from ai_battle.server.metrics import COUNTERS, HISTOGRAMS
from ai_battle.testing import FakeProviders

from ..pages import DOCS, Block, blocks, every_block
from .serving import serving

PAGE = DOCS / "how-to" / "serve.md"
CLIENTS = DOCS / "how-to" / "serve-clients.md"
WORKERS = DOCS / "how-to" / "serve-many-workers.md"
HERE = "http://127.0.0.1:8787"
KEYS = {
    name: f"{name} of a test"
    for name in ("TEAM_KEY", "CI_KEY", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "REDIS_PASSWORD")
}
SERVED = [block for block in every_block("yaml") if "server" in (yaml.safe_load(block.text) or {})]


@pytest.mark.parametrize("block", SERVED, ids=str)
def test_a_yaml_on_a_page_is_a_server_that_can_start(block: Block, tmp_path: Path) -> None:
    (path := tmp_path / "server.yaml").write_text(block.text, encoding="utf-8")

    assert ConfigSource(str(path), KEYS).load().deployment.routes.named


def test_the_page_names_every_metric_and_every_variable() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (*COUNTERS, *HISTOGRAMS, *VARIABLES.values(), SERVE_KEYS):
        assert f"`{name}`" in text, f"{name} is missing"


async def ran(command: list[str]) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def ran_against_a_server(fakes: FakeProviders, folder: Path, *command: str) -> str:
    """Returns what is printed by a command of the page, whose server is elsewhere."""
    (path := folder / "server.yaml").write_text("server: {routes: {small+big: ollama/phi4}}", encoding="utf-8")
    fakes.ollama.always("Hi from behind.")
    async with serving(fakes, str(path)) as address:
        code, said = await ran([word.replace(HERE, address) for word in command])
    assert code == 0, said
    return said


@pytest.mark.slow
@pytest.mark.parametrize("block", [*blocks(CLIENTS, "python")], ids=str)
async def test_the_sdks_are_pointed_at_the_server_as_the_page_says(
    fakes: FakeProviders, tmp_path: Path, block: Block
) -> None:
    said = await ran_against_a_server(fakes, tmp_path, sys.executable, "-c", block.text)

    assert said.count("Hi from behind.") == block.text.count("Hello!")


CURL = [line for block in blocks(CLIENTS, "sh") for line in block.commands if line.startswith("curl")]


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
@pytest.mark.parametrize("command", CURL, ids=lambda command: command.split()[1])
async def test_curl_gets_what_the_page_says(fakes: FakeProviders, tmp_path: Path, command: str) -> None:
    said = await ran_against_a_server(fakes, tmp_path, "sh", "-c", f"{command} --fail-with-body --silent")

    assert ("behind." in said) == ("/models" not in command)
    assert "small+big" in said


def test_every_address_on_the_page_is_one_of_the_server_and_every_setting_can_be_read() -> None:
    """`/v1` belongs to those of OpenAI's clients."""
    text = CLIENTS.read_text(encoding="utf-8")
    [codex], [llm], [opencode] = (list(blocks(CLIENTS, kind)) for kind in ("toml", "yaml", "json"))
    paths = set(re.findall(rf"{HERE}(/[a-z_/0-9]*)?", text))

    assert paths == {"", "/v1", "/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/models"}
    assert tomllib.loads(codex.text)["model_providers"]["ai-battle"]["base_url"] == f"{HERE}/v1"
    assert yaml.safe_load(llm.text)[0]["api_base"] == f"{HERE}/v1"
    assert json.loads(opencode.text)["provider"]["ai-battle"]["options"]["baseURL"] == f"{HERE}/v1"


def test_the_arithmetic_for_users_is_right() -> None:
    """From the measured costs above it: one answer a minute, 400 chunks over 15 seconds."""
    text = WORKERS.read_text(encoding="utf-8")
    milliseconds = float(re.search(r"a stream of 400 chunks \| ([\d.]+) ms", text)[1])  # type: ignore[index]
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.,]+) \| ([\d,]+) \| ([^|]+) \|[^|]+\| ([^|]+) \|", text, re.MULTILINE)
    told = {number(users): (number(rate), number(open_), cpu, redis) for users, rate, open_, cpu, redis in rows}

    assert told.keys() == {1, 100, 10_000, 100_000}
    for users, (rate, at_once, *_) in told.items():
        assert rate == pytest.approx(users / 60, abs=0.05, rel=0.01)
        assert at_once == pytest.approx(max(1, users / 60 * 15), rel=0.01)
    for users in (10_000, 100_000):
        assert told[users][2] == f"{users / 60 * milliseconds / 1000:.1f} cores"
    assert told[100][2] == f"{100 / 60 * milliseconds / 10:.0f} % of a core"
    for users, claim in (
        (10_000, 0.05),
        (100_000, 0.22),
    ):  # milliseconds of the Redis for a claim among 8 and 80 workers
        assert told[users][3] == f"{users / 60 * (0.09 + 1.2 * (claim - 0.03)) / 10:.0f} % of a core"


def number(written: str) -> float:
    return float(written.replace(",", ""))
