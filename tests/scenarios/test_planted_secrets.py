"""Secrets in tools, models, prompts, addresses and MCP servers: on no screen, in no file, at no other provider."""

import base64
import json
import random
import string
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from ai_battle.cli import run_command
from ai_battle.testing import FakeProviders, call, fault, reply

from .terminal import terminal

LETTERS = string.ascii_letters + string.digits
ODD = LETTERS + '-_+/=.:%"\\<>&@!# üß✓'
VAULT = '''
"""Reads a file of secrets, and says them in every way."""
import base64, json, os
from pathlib import Path
from urllib.parse import quote
from ai_battle import Tool

class Vault(Tool):
    name = "vault"
    description = "Opens the vault."
    parameters = {"how": {"type": "string"}}

    def __init__(self, api_key: str = "") -> None:
        self.api_key = api_key

    async def execute(self, parameters):
        text = Path(__file__).with_name(".env").read_text(encoding="utf-8") + self.api_key
        data = text.encode()
        return {
            "raw": text, "json": json.dumps(text), "url": quote(text, safe=""), "hex": data.hex(),
            "base64": [base64.b64encode(bytes(n) + data).decode() for n in range(3)],
            text: "as a key", "heard": parameters,
        }
'''
SERVER = '''
"""An MCP server that tells its token wherever it can."""
import json, os, sys

token = os.environ["TOKEN"]
schema = {"type": "object", "properties": {"a": {"type": "string", "description": f"Default: {token}"}}}
told = f"Knows {token[:3]}\\u200b{token[3:]} and \\U000e0041\\u202e{token}."
tool = {"name": "tell", "description": told, "inputSchema": schema}
server = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": token, "version": ""}}
results = {
    "initialize": server, "tools/list": {"tools": [tool]},
    "tools/call": {"content": [{"type": "text", "text": f"It is {token}."}], "structuredContent": {"token": token}},
}
print(token, file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "tools/call" and "fail" in str(asked["params"]):
        sys.exit(f"out of {token}")
    if asked.get("method") in results:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}), flush=True)
    elif "id" in asked:
        error = {"code": -32601, "message": f"no {token}"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
'''


def forms(secret: str) -> Iterator[str]:
    """The secret and its plain encodings, written without a word of the product."""
    data = secret.encode()
    yield from (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret), data.hex(), data.hex().upper())
    for before in range(3):  # whole groups of three bytes within the secret
        inside = data[-before % 3 :]
        whole = inside[: len(inside) // 3 * 3]
        yield base64.b64encode(whole).decode()


@dataclass(frozen=True)
class Planted:
    """The secrets of one run by the place where they were planted, and what was seen of it."""

    secrets: Mapping[str, str]
    fakes: FakeProviders
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: object) -> str:
        """What a command shows; what it answers with is its own affair."""
        run_command(list(map(str, arguments)))
        shown = self.capsys.readouterr()
        return shown.out + shown.err

    def leaks(self, where: str, text: str, but: tuple[str, ...] = ()) -> list[str]:
        known = {place: secret for place, secret in self.secrets.items() if place not in but}
        return [
            f"{place} {where}: {form!r}" for place, secret in known.items() for form in forms(secret) if form in text
        ]

    def leaks_in_files(self) -> list[str]:
        left = [path for name in ("left", "live") for path in (self.folder / name).rglob("*") if path.is_file()]
        files = [*left, *self.folder.glob("tape*"), *self.folder.glob("*.md")]
        assert len(files) >= 4
        return [leak for path in files for leak in self.leaks(str(path), path.read_text("utf-8", "replace"))]

    def leaks_at_providers(self) -> list[str]:
        """A key is for its own provider, and the password of an address for its server, and both in headers alone."""
        found = []
        for provider in self.fakes.all:
            for asked in provider.questions:
                found += self.leaks(f"sent to {asked.path}", asked.raw.decode("utf-8", "replace"), ("prompt",))
                if provider is not self.fakes.openai:
                    found += self.leaks("in headers", json.dumps(dict(asked.headers)), ("anthropic",))
        return found


@pytest.fixture
def around(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)

        def plant(seed: int) -> Planted:
            planted = Planted(values(random.Random(seed)), fakes, here, capsys)
            write(planted, monkeypatch)
            return planted

        yield plant


def values(chance: random.Random) -> dict[str, str]:
    """One for each place; what has to go into a header or a line of a file is no more than that."""

    def of(letters: str) -> str:
        length = chance.choice((8, 11, 20, 32, 48, 64))
        return "".join((chance.choice(LETTERS), *(chance.choice(letters) for _ in range(length - 2)), "9"))

    odd = ("tool", "file", "mcp")
    plain = ("openai", "anthropic", "url", "header", "unused", "listed", "prompt")
    return {**{place: of(ODD).replace("'", "") for place in odd}, **{place: of(LETTERS + "-_+/=") for place in plain}}


def write(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a discussion, with its tools and servers; every secret is in it, or where it looks."""
    secret, fakes = planted.secrets, planted.fakes
    for name in ("openai", "tool", "mcp", "header"):
        monkeypatch.setenv(f"PLANTED_{name.upper()}", secret[name])
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret["anthropic"])
    monkeypatch.setenv("PROMPT_PASSWORD", secret["prompt"])
    monkeypatch.setenv("UNUSED_TOKEN", secret["unused"])
    Path(".env").write_text(f"VAULT_PASSWORD='{secret['file']}'\nLISTED_KEYS='{secret['listed']}'\n", encoding="utf-8")
    Path("vault.py").write_text(VAULT, encoding="utf-8")
    Path("server.py").write_text(SERVER, encoding="utf-8")
    address = fakes.openai.url.replace("://", f"://ann:{quote(secret['url'], safe='')}@")
    openai = {"base_url": f"{address}/v1", "api_key": "${PLANTED_OPENAI}", "headers": {"x-team": "${PLANTED_HEADER}"}}
    program = {"command": sys.executable, "args": ["server.py"], "env": {"TOKEN": "${PLANTED_MCP}"}}
    discussion = {
        "turns": 2,
        "mode": "ai-ai",
        "goal": "Talk.",
        "allow_secrets": ["PROMPT_PASSWORD"],
        "models": {
            "Ann": {"type": "openai/gpt-4o", "persona": "The word is ${PROMPT_PASSWORD}."},
            "Bob": {"type": "anthropic/claude-sonnet-4-5"},
        },
        "tools": {
            "paths": ["vault.py"],
            "registry": [{"name": "vault", "parameters": {"api_key": "${PLANTED_TOOL}"}}],
            "mcp": {"servers": {"odd": program}},
            "approval": {"default": "allow"},
            "runner": {"max_rounds": 6, "summarize_threshold": 1_000_000},
        },
    }
    Path("talk.yaml").write_text(json.dumps({"discussion": discussion, "providers": {"openai": openai}}))
    bare = {**discussion, "allow_secrets": []}
    Path("bare.yaml").write_text(json.dumps({"discussion": bare, "providers": {"openai": openai}}))
    say(planted)


def say(planted: Planted) -> None:
    """Both models use the tools, and repeat all that there is: in pieces, in thoughts, in calls, before a fault."""
    every = " | ".join(planted.secrets.values())
    coded = " ".join(base64.b64encode(f"{n}{every}".encode()).decode() for n in (1, 12, 123))
    for fake in (planted.fakes.openai, planted.fakes.anthropic):
        fake.says(
            reply("Let me look.", calls=[call("vault", how=every), call("odd:tell", a=every)]),
            call("odd:tell", a="fail"),
            fault("close_mid_stream", reply=reply(f"It is {every}, I think.", chunks=3)),
            reply(f"They are {every}. {coded}", thinking=f"So {every}.", chunks=97),
        )
        fake.always(reply(f"Again: {every}", chunks=61))


def everything(planted: Planted) -> list[str]:
    """All doors: a run, its recording, what is shown of it, and what is written of it."""
    leaks = []
    for arguments in (
        ("run", "bare.yaml", "--trust"),
        ("validate", "bare.yaml"),
        ("validate", "talk.yaml"),
        ("run", "talk.yaml", "--trust", "--dry-run"),
        ("run", "talk.yaml", "--trust", "--out", "left", "--record", "tape.jsonl", "--verbose"),
        ("resume", "left"),
        ("show", "left", "1"),
        ("show", "left", "1", "--json"),
        ("show", "left", "3", "--request"),
        ("show", "left", "3", "--request", "--json"),
        *(("export", "left", "--format", form) for form in ("md", "html", "jsonl", "openai", "csv")),
        ("export", "left", "--format", "md", "-o", "talk.md"),
        ("replay", "left"),
        ("tools", "accept", "talk.yaml", "--trust"),
        ("tools", "call", "vault", "--path", "vault.py"),
        ("tools", "list", "--path", "vault.py", "--json"),
    ):
        leaks += planted.leaks(" ".join(arguments), planted.run(*arguments))
    say(planted)
    leaks += planted.leaks("--json", planted.run("run", "talk.yaml", "--trust", "--json", "--out", "left/../live"))
    return [*leaks, *planted.leaks_in_files(), *planted.leaks_at_providers()]


def test_a_secret_leaves_through_no_door(around: Any) -> None:
    planted = around(1)

    assert everything(planted) == []
    assert len(planted.fakes.openai.questions) >= 8
    assert "${PLANTED_TOOL}" in Path("left/journal.jsonl").read_text()
    assert "${PLANTED_MCP}" in Path("left/transcript.md").read_text()
    assert "vault" in planted.fakes.anthropic.questions[-1].raw.decode()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 32))
def test_three_hundred_secrets_leave_through_no_door(around: Any, seed: int) -> None:
    assert everything(around(seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 43))
def test_a_secret_is_on_no_terminal(around: Any, seed: int) -> None:
    planted = around(seed)

    with terminal("run", "talk.yaml", "--trust", "--out", "left", "--verbose") as opened:
        opened.end()

    assert planted.leaks("on the terminal", opened.shown.replace("\r\n", "").replace("\n", "")) == []
    assert planted.leaks_in_files() == []
