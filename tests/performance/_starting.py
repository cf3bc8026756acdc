"""Measures what a new Python process costs to import modules and to run commands."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ai_battle.testing import FakeProviders

from ._comparing import Cost

EMPTY = ("-c", "pass")


def milliseconds(*arguments: str) -> float:
    """Returns the CPU of `python ARGUMENTS` beyond that of an empty program."""
    return _cpu(*arguments) - _cpu(*EMPTY)


@contextmanager
def live_run() -> Iterator[Cost]:
    """Yields a function that returns the CPU of `ai-battle run` of two turns, with fakes of OpenAI and Ollama."""
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


@contextmanager
def first_text() -> Iterator[Cost]:
    """Yields a function that returns the wall time from `ai-battle talk` to its first answer, with instant fakes."""
    with FakeProviders.in_thread() as fakes, tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **fakes.environment, "XDG_CACHE_HOME": folder}
        numbers = iter(range(1_000))

        def cost() -> float:
            out = os.path.join(folder, str(next(numbers)))
            words = ("talk", "Rain.", "-m", "gpt-4o", "-m", "ollama/phi4", "--turns", "1", "--out", out)
            began = time.perf_counter()
            with subprocess.Popen(
                [sys.executable, "-m", "ai_battle", *words], env=environment, stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout
                next(line for line in process.stdout if line.startswith("[1]"))
                took = time.perf_counter() - began
                process.stdout.read()
            return took * 1e3

        yield cost


def whole(*arguments: str) -> float:
    """Returns the CPU of `python ARGUMENTS`, with that of starting Python."""
    return _cpu(*arguments)


def whole_wall(*arguments: str) -> float:
    """Returns the wall time of `python ARGUMENTS`."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


def _cpu(*arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """Returns the CPU of a command whose bytecode is kept, as an installed package's is."""
    kept = {name: value for name, value in (environment or os.environ).items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = _children_cpu()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=kept)
    return (_children_cpu() - before) * 1e3


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
