"""What a new Python pays to import something, without what it pays to start at all."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ai_battle.testing import FakeProviders

from ._comparing import Cost

EMPTY = ("-c", "pass")


def milliseconds(*arguments: str) -> float:
    """CPU of `python ARGUMENTS` beyond that of an empty program."""
    return _cpu(*arguments) - _cpu(*EMPTY)


@contextmanager
def live_run() -> Iterator[Cost]:
    """The CPU of `ai-battle run` of two turns with a model of OpenAI and one of Ollama, as fakes play them."""
    with FakeProviders.in_thread() as fakes, tempfile.TemporaryDirectory() as folder:
        fakes.openai.says(*["From the cloud."] * 40)
        fakes.ollama.says(*["From this machine."] * 40)
        file = Path(folder, "pair.yaml")
        models = "{Ann: {type: gpt-4o}, Bob: {type: ollama-phi4}}"
        file.write_text(f"discussion: {{turns: 1, goal: Say something., models: {models}}}\n")
        environment = {**os.environ, **fakes.environment, "XDG_CACHE_HOME": folder}
        numbers = iter(range(1_000))

        def cost() -> float:
            out = os.path.join(folder, str(next(numbers)))
            return _cpu("-m", "ai_battle", "run", str(file), "--quiet", "--out", out, environment=environment)

        yield cost


def whole(*arguments: str) -> float:
    """CPU of `python ARGUMENTS`, with that of starting Python at all."""
    return _cpu(*arguments)


def _cpu(*arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """As of an installed package, whose bytecode is there from the first time on."""
    kept = {name: value for name, value in (environment or os.environ).items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = _of_children()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=kept)
    return (_of_children() - before) * 1e3


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
