"""One recorded run: real commands, real servers on loopback, and all that they leave, but for time and place."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ai_battle.testing import FakeProviders

# What differs from run to run: how long a thing took, when, where, and names that are drawn.
CHANGING = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d|Z| UTC)?", "<time>"),
    (r"http://127\.0\.0\.1:\d+", "<address>"),
    (r'("(?:(?:\w*_)?(?:seconds|ms)\w*|delay|pid|created(?:_at)?)":\s*)\d[\d.e+-]*', r"\g<1>0"),
    (r'(?: data-by="[\d.e+-]+")?(>?(?:<span>)?)\b\d+(?:\.\d+)? (?:ms|s|min)\b', r"\g<1>"),
    (r"\b[0-9a-f]{40,64}\b", "<digest>"),
    (r"\b(chatcmpl-|msg_|resp_|req_|rs_|fc_|call_|toolu_)[0-9a-zA-Z]{16,}", r"\g<1><drawn>"),
    (r"<style>.*?</style>", ""),
    (r"<figure><figcaption><strong>Seconds per turn.*?</figure>", ""),
    (r"<figure[^>]*><figcaption><strong>How long answers take.*?</figure>", ""),
    (r"(?m)^[^\n]*\d/\d+ samples \([^\n]*\n", ""),
    (r'event: ping\ndata: {"type":"ping"}\n\n', ""),
    (r"(?<=[^\s]) {2,}", "  "),
)


@dataclass
class World:
    """A folder, fake providers, and what was seen; `place` is the folder's name, which stands in no record."""

    fakes: FakeProviders
    place: Path
    seen: list[str] = field(default_factory=list)

    def write(self, name: str, content: Any) -> None:
        """A file of the folder: text as it is, all else as JSON, which is YAML too."""
        (self.place / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1))

    def command(self, *arguments: str, stdin: str = "") -> None:
        """Runs ai-battle and notes what it shows."""
        done = subprocess.run(
            self.argv(*arguments), cwd=self.place, env=self.environment, input=stdin, capture_output=True, text=True,
            timeout=100, check=False,
        )  # fmt: skip
        self.note(f"$ ai-battle {' '.join(arguments)}", f"{done.stdout}{done.stderr}exit {done.returncode}\n")

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ai_battle", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.place), "XDG_CACHE_HOME": str(self.place / "cache"), "COLUMNS": "100", "TZ": "UTC"}
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}
        return {**kept, **own, **self.fakes.environment}

    def discuss(self, stdin: str = "", **discussion: Any) -> None:
        """A discussion between Ann and Bob, unless it says otherwise, run and exported."""
        models = {"Ann": {"type": "gpt-4o"}, "Bob": {"type": "anthropic/claude-sonnet-4-5"}}
        told = {"turns": 2, "mode": "ai-ai", "goal": "Plan a kitchen garden.", "models": models, **discussion}
        self.write("talk.yaml", {"discussion": told})
        self.command("run", "talk.yaml", "--out", "run", stdin=stdin)
        self.export()

    def export(self) -> None:
        self.command("export", "run", "--format", "jsonl,openai,csv", "-o", "exported")

    def note(self, title: str, text: str) -> None:
        self.seen.append(f"=== {title}\n{text}\n")

    def record(self) -> str:
        """Returns what was shown, what was left in files, and what each provider received."""
        for path in sorted(self._files()):
            self.note(
                str(path.relative_to(self.place)), _without_times(path) if path.suffix == ".csv" else path.read_text()
            )
        for provider in (self.fakes.openai, self.fakes.anthropic, self.fakes.ollama, self.fakes.gemini):
            for request in provider.questions:
                self.note(f"{provider.name} {request.path}", json.dumps(request.body, ensure_ascii=False, indent=1))
        return _without_chance("".join(self.seen).replace(str(self.place), "<place>").replace(CHECKOUT, "<checkout>"))

    def _files(self) -> Iterator[Path]:
        for pattern in KEPT:
            yield from self.place.glob(pattern)


CHECKOUT = str(Path(__file__).parents[2])
KEPT = ("run/*.*", "exported/*", "out/*.csv", "out/*.html", "out/*.md", "out/*.yaml")
Scene = Callable[[World], None]


def _without_chance(text: str) -> str:
    for pattern, instead in CHANGING:
        text = re.sub(pattern, instead, text, flags=re.DOTALL)
    return text


def _without_times(path: Path) -> str:
    """A table without the columns that say how long something took."""
    head, *rows = csv.reader(path.read_text().splitlines())
    kept = [at for at, name in enumerate(head) if "seconds" not in name]
    return "".join(",".join(row[at] for at in kept) + "\n" for row in (head, *rows))


def record(scene: Scene, place: Path) -> str:
    with FakeProviders.in_thread() as fakes:
        world = World(fakes, place)
        scene(world)
        return world.record()
