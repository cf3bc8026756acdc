"""The page on advisors where the route has the advisor: any client will do, here curl."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders, call

from ... import pages
from ..serving import serving
from .conftest import Write
from .node import run

PAGE = pages.DOCS / "how-to" / "advise.md"


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
async def test_ollama_with_an_advisor(fakes: FakeProviders, write: Write, tmp_path: Path) -> None:
    server = [*pages.blocks(PAGE, "yaml")][-1].text
    [command] = [*pages.blocks(PAGE, "sh")][-2].commands
    fakes.ollama.says(call("advisor"), "It is 45.")
    fakes.anthropic.says("Take what stands behind the h.")
    async with serving(fakes, write(server)) as address:
        typed = shlex.split(command.replace("http://127.0.0.1:8787", address))
        told = json.loads(await run(*typed, "-s", cwd=tmp_path))

    assert told["choices"][0]["message"]["content"] == "It is 45."
    assert "Take what stands behind the h." in fakes.ollama.questions[1].raw.decode()
