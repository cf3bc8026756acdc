"""What users get wrong, and all that they then read: the thing, the place, the way out. Nothing is spent or left."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli import run_command
from ai_battle.testing import FakeProviders
from tests.pixels import png

GOOD = """\
discussion:
  turns: 1
  goal: Talk.
  models:
    Ann: {type: gpt-4o}
    Bob: {type: ollama-phi4}
"""
PNG = png()


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str


Command = Callable[..., CommandResult]


@pytest.fixture
def ai_battle(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., CommandResult]:
    """The command line, among providers that answer; nothing may be asked of them, and no file may change."""

    def run(*arguments: object) -> CommandResult:
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            before = _files(here)
            code = run_command(list(map(str, arguments)))
            assert not [request for fake in fakes.all for request in fake.questions], "nothing is spent"
        assert _files(here) == before, "nothing is left behind"
        told = CommandResult(code, *capsys.readouterr())
        assert "Traceback" not in told.err
        assert "please report it" not in told.err
        return told

    return run


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def refusal(told: CommandResult) -> str:
    """The message of a call that was refused."""
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("error: ")
    return told.err.removeprefix("error: ").rstrip("\n")


def write_config(text: str | bytes, name: str = "talk.yaml") -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def write_changed(old: str, new: str) -> str:
    assert old in GOOD
    return write_config(GOOD.replace(old, new))


class TestFiles:
    def test_a_missing_file(self, ai_battle: Command) -> None:
        write_config(GOOD)
        assert refusal(ai_battle("run", "tlak.yaml")) == ("tlak.yaml: there is no such file; did you mean 'talk.yaml'?")

    def test_a_missing_folder(self, ai_battle: Command) -> None:
        assert refusal(ai_battle("run", "talks/talk.yaml")) == (
            "talks/talk.yaml: there is no such file, and no directory 'talks' either"
        )

    def test_a_directory_instead_of_a_file(self, ai_battle: Command) -> None:
        Path("talks").mkdir()
        write_config(GOOD, "talks/robots.yaml")
        assert refusal(ai_battle("serve", "talks")) == "talks: is a directory; name a YAML file in it: robots.yaml"

    @pytest.mark.parametrize("text", ["", "\n\n", "# later\n", "---\n"])
    def test_an_empty_file(self, ai_battle: Command, text: str) -> None:
        message = refusal(ai_battle("run", write_config(text)))
        assert re.fullmatch(r"talk\.yaml:\d+:\d+: is empty; a discussion starts with the line 'discussion:'", message)

    def test_text_that_is_not_utf_8(self, ai_battle: Command) -> None:
        path = write_config(GOOD.replace("Talk.", "Schön.").encode("latin-1"))
        assert refusal(ai_battle("run", path)) == "talk.yaml:3: is not UTF-8 text (byte 0xf6); save it as UTF-8"

    def test_a_yaml_of_50_mb(self, ai_battle: Command) -> None:
        path = write_config(GOOD + "# " + "x" * 50_000_000)
        assert refusal(ai_battle("run", path)) == (
            "talk.yaml: is larger than 5 MB; long texts belong in files named by input_file"
        )

    def test_an_alias_bomb(self, ai_battle: Command) -> None:
        letters = "abcdefghijklm"
        lines = [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise(letters)]
        path = write_config("".join(["a: &a [x, x, x]\n", *lines, GOOD]))
        assert refusal(ai_battle("run", path)) == (
            "talk.yaml: holds more than 100,000 values, or 20 MB of text, its aliases written out"
        )

    def test_a_python_tag(self, ai_battle: Command) -> None:
        path = write_changed("Talk.", '!!python/object/apply:os.system ["touch owned"]')
        first, *_ = refusal(ai_battle("run", path)).splitlines()
        assert first == (
            "talk.yaml:3:9 the tag '!!python/object/apply:os.system' is not allowed; "
            "write plain text, numbers, lists and mappings"
        )

    def test_a_tab(self, ai_battle: Command) -> None:
        message = refusal(ai_battle("run", write_changed("  turns", "\tturns")))
        assert message.startswith("talk.yaml:2:1: a tab")
        assert "indent with spaces" in message

    def test_a_key_written_twice(self, ai_battle: Command) -> None:
        assert refusal(ai_battle("run", write_changed("  goal", "  turns: 2\n  goal"))) == (
            "talk.yaml:3:3 the key 'turns' is written twice, first in line 2; keep one"
        )


class TestKeysAndValues:
    def test_unknown_keys_at_every_level_are_told_at_once(self, ai_battle: Command) -> None:
        path = write_config("""\
prizes: {}
discussion:
  tunrs: 1
  goal: Talk.
  models:
    Ann: {typ: gpt-4o, parameters: {temprature: 1}}
    Bob: {type: ollama-phi4, instructions: {tmplate: a}}
  stop: {any: [{phrse: x}]}
""")
        assert refusal(ai_battle("run", path)).splitlines() == [
            "talk.yaml:1:1 prizes: unknown key; did you mean 'prices'?",
            "talk.yaml:3:3 discussion.tunrs: unknown key; did you mean 'turns'?",
            "talk.yaml:6:11 discussion.models.Ann.typ: unknown key; did you mean 'type'?",
            "talk.yaml:6:37 discussion.models.Ann.parameters.temprature: unknown key; did you mean 'temperature'?",
            "talk.yaml:7:45 discussion.models.Bob.instructions.tmplate: unknown key; did you mean 'template'?",
            "talk.yaml:8:17 discussion.stop.any[0].phrse: unknown key; did you mean 'phrase'?",
        ]

    def test_wrong_types(self, ai_battle: Command) -> None:
        text = GOOD.replace("turns: 1", "turns: many").replace("Talk.", "[1, 2]").replace("{type: gpt-4o}", "[gpt-4o]")
        assert [
            line.partition("; there is")[0] for line in refusal(ai_battle("run", write_config(text))).splitlines()
        ] == [
            "talk.yaml:2:10 discussion.turns: must be a whole number, not 'many'",
            "talk.yaml:3:9 discussion.goal: must be text, not a list",
            "talk.yaml:5:10 discussion.models.Ann: must be a mapping of keys and values, not a list",
        ]

    def test_negative_and_huge_numbers(self, ai_battle: Command) -> None:
        text = "turns: -1\n  limits: {cost_usd: -5, tokens: 1e99}\n  timeouts: {request: 99999999999999}"
        assert refusal(ai_battle("run", write_changed("turns: 1", text))).splitlines() == [
            "talk.yaml:2:10 discussion.turns: must be at least 1, not -1",
            "talk.yaml:3:22 discussion.limits.cost_usd: must be at least 0, not -5",
            "talk.yaml:3:34 discussion.limits.tokens: is too large a number",
            "talk.yaml:4:23 discussion.timeouts.request: must be at most 31,536,000, not 99999999999999",
        ]

    def test_one_participant(self, ai_battle: Command) -> None:
        assert refusal(ai_battle("run", write_changed("    Bob: {type: ollama-phi4}\n", ""))) == (
            "talk.yaml:5:5 discussion.models: needs at least 2 participants, not 1"
        )

    @pytest.mark.parametrize("goal", ["", "  goal:\n", "  goal: ' '\n"])
    def test_no_goal(self, ai_battle: Command, goal: str) -> None:
        message = refusal(ai_battle("run", write_changed("  goal: Talk.\n", goal)))
        assert re.fullmatch(
            r"talk\.yaml:\d+:\d+ discussion\.goal: is missing: say what the discussion is about", message
        )

    @pytest.mark.parametrize(
        ("pair", "place", "said"),
        [
            (
                "secondary: openai/gpt-99, strategy: takeover, hedge: {wait: 8}",
                "hedge",
                "the price of openai/gpt-99 is unknown, so the cost of asking it early can't be limited",
            ),
            (
                "secondary: gpt-4o, lessons: {from: shadow}",
                "lessons.from",
                "shadow takes lessons from the pair's shadow, and the pair has none",
            ),
        ],
    )
    def test_a_pair_that_lacks_what_a_key_needs(self, ai_battle: Command, pair: str, place: str, said: str) -> None:
        told = ai_battle("validate", write_config(f"{GOOD}  collaboration: {{pairs: [{{primary: Bob, {pair}}}]}}\n"))
        assert told.code == 2
        assert f"discussion.collaboration.pairs[0].{place}: {said}" in told.out

    def test_a_variable_that_is_not_set(self, ai_battle: Command) -> None:
        assert refusal(ai_battle("run", write_changed("Talk.", "'About ${NOWHERE_SET}'"))) == (
            "talk.yaml:3:9 discussion.goal: the variable NOWHERE_SET is not set; set it, "
            "write ${NOWHERE_SET:-default}, or $${NOWHERE_SET} for that text"
        )

    def test_a_change_on_the_command_line(self, ai_battle: Command) -> None:
        message = refusal(ai_battle("run", write_config(GOOD), "--set", "discussion.tunrs=2"))
        assert message.startswith("--set discussion.tunrs")
        assert "did you mean 'turns'?" in message


class TestModels:
    def test_an_unknown_provider(self, ai_battle: Command) -> None:
        assert refusal(ai_battle("run", write_changed("gpt-4o", "opnai/gpt-4o"))) == (
            "talk.yaml:5:17 discussion.models.Ann.type: There is no provider 'opnai' for the model type "
            "'opnai/gpt-4o'; did you mean 'openai'?"
        )

    def test_an_unknown_model(self, ai_battle: Command) -> None:
        message = refusal(ai_battle("run", write_changed("gpt-4o", "gpt-4p")))
        assert message.startswith(
            "talk.yaml:5:17 discussion.models.Ann.type: No provider is known for model 'gpt-4p'; did you mean 'gpt-4o'"
        )
        assert message.endswith("Or name its provider: 'openai/gpt-4p'.")

    @pytest.mark.parametrize(
        ("type_", "variable"),
        [
            ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
            ("gemini-2.5-pro", "GEMINI_API_KEY"),
            ("groq/llama-3.3-70b-versatile", "GROQ_API_KEY"),
            ("openrouter/qwen/qwen3-8b", "OPENROUTER_API_KEY"),
        ],
    )
    def test_a_missing_key(
        self, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, type_: str, variable: str
    ) -> None:
        monkeypatch.delenv(variable, raising=False)
        before = _files(here)
        path = write_changed("gpt-4o", type_)

        code = run_command(["run", path])

        message = refusal(CommandResult(code, *capsys.readouterr()))
        assert message.startswith(
            f"talk.yaml:5:17 discussion.models.Ann.type: {variable.partition('_')[0].lower()} needs"
        )
        assert f"set the environment variable {variable}" in message
        assert "write api_key under 'providers:" in message
        assert set(_files(here)) - set(before) == {here / "talk.yaml"}

    def test_a_server_that_is_not_running(
        self, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
        text = GOOD.replace("gpt-4o", "ollama-gemma3-1b").replace("turns: 1", "turns: 1\n  timeouts: {retry_count: 0}")

        code = run_command(["run", write_config(text), "--out", "here"])

        told = CommandResult(code, *capsys.readouterr())
        assert told.code == 1
        assert "http://127.0.0.1:9" in told.err
        assert "Is Ollama running? Start it with: ollama serve" in told.err
        assert not Path("here").exists(), "nothing had begun that could be gone on with"
        assert "Traceback" not in told.out + told.err


class TestInputFiles:
    def test_one_that_does_not_exist(self, ai_battle: Command, here: Path) -> None:
        (here / "sketch.png").write_bytes(PNG)
        path = write_config(GOOD + "  input_file: {path: ./skecth.png, type: image}\n")
        message = refusal(ai_battle("run", path))
        assert message.startswith("talk.yaml:7:22 discussion.input_file.path: there is no file './skecth.png' in ")

    def test_one_that_is_nothing_that_can_be_sent(self, ai_battle: Command) -> None:
        write_config(bytes(range(256)), "thing.bin")
        path = write_config(GOOD + "  input_files: [{path: thing.bin, type: image}]\n")
        assert refusal(ai_battle("run", path)) == (
            "talk.yaml:7:24 discussion.input_files.files[0].path: "
            "thing.bin is not UTF-8 text (byte 128), and not a picture, PDF or video that models accept"
        )

    def test_a_pdf_that_is_damaged(self, ai_battle: Command) -> None:
        write_config(b"%PDF-1.7 text", "thing.any")
        path = write_config(GOOD + "  input_file: {path: thing.any, type: pdf}\n")

        message = refusal(ai_battle("run", path))
        assert message.startswith(
            "talk.yaml:7:22 discussion.input_file.path: thing.any is a PDF that can't be read: it is damaged"
        )
        assert ai_battle("validate", path).out.strip() == message

    def test_a_directory_without_a_file_that_matches(self, ai_battle: Command, here: Path) -> None:
        (here / "src").mkdir()
        write_config("x", "src/notes.txt")
        path = write_config(GOOD + "  input_files: {directory: src, file_pattern: '*.py'}\n")
        assert refusal(ai_battle("run", path)) == (
            "talk.yaml:7:28 discussion.input_files.directory: has no file that matches '*.py'"
        )

    def test_one_that_is_another_kind_is_sent_as_what_it_is_with_a_warning(
        self, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_config(PNG, "sketch.txt")
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            code = run_command(["run", write_config(GOOD + "  input_file: {path: sketch.txt, type: text}\n")])

        assert code == 0
        assert "! sketch.txt is an image, not a text as the configuration says" in capsys.readouterr().out


@pytest.fixture
def finished_run(here: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A run that is over."""
    said = "{type: scripted, script: [Hello.]}"
    write_config(GOOD.replace("{type: gpt-4o}", said).replace("{type: ollama-phi4}", said))
    assert run_command(["run", "talk.yaml", "--out", "kept"]) == 0
    capsys.readouterr()
    return here / "kept"


class TestRunDirectories:
    def test_one_that_exists(self, ai_battle: Command, finished_run: Path) -> None:
        assert refusal(ai_battle("run", "talk.yaml", "--out", "kept")) == (
            "kept exists and is not empty; name another directory, or go on with its run: ai-battle resume kept"
        )

    def test_a_folder_with_other_things(self, ai_battle: Command, here: Path) -> None:
        (here / "kept").mkdir()
        write_config("precious", "kept/thesis.txt")
        assert refusal(ai_battle("run", write_config(GOOD), "--out", "kept")) == (
            "kept exists and is not empty; name another directory."
        )

    def test_one_that_is_a_file(self, ai_battle: Command) -> None:
        write_config("x", "kept")
        assert refusal(ai_battle("run", write_config(GOOD), "--out", "kept")) == (
            "kept is a file; name a directory with --out."
        )

    @pytest.mark.parametrize("command", ["resume", "replay", "export"])
    def test_a_journal_of_a_newer_version(self, ai_battle: Command, finished_run: Path, command: str) -> None:
        journal = finished_run / "journal.jsonl"
        journal.write_bytes(journal.read_bytes().replace(b'"v":1', b'"v":2'))

        told = ai_battle(command, "kept")

        assert (told.code, told.out) == (1, "")
        assert told.err.startswith("error: kept/journal.jsonl:1: written in journal format 2")
        assert told.err.endswith("upgrade it: pip install -U ai-battle\n")

    @pytest.mark.parametrize(
        "arguments",
        [
            ("resume", "nowhere"),
            ("replay", "nowhere"),
            ("replay", "nowhere", "--swap", "Ann=gpt-4o"),
            ("export", "nowhere"),
            ("show", "nowhere", "1"),
            ("show", "nowhere", "1", "--request"),
        ],
    )
    def test_what_is_no_run_directory(self, ai_battle: Command, arguments: tuple[str, ...]) -> None:
        assert refusal(ai_battle(*arguments)).startswith("nowhere is not a run directory")

    @pytest.mark.parametrize(
        "arguments",
        [("bench", "resume", "nowhere"), ("bench", "report", "nowhere"), ("bench", "compare", "nowhere", "here")],
    )
    def test_what_are_no_results(self, ai_battle: Command, arguments: tuple[str, ...]) -> None:
        assert "nowhere" in refusal(ai_battle(*arguments))

    def test_a_configuration_that_was_changed_since(self, ai_battle: Command, finished_run: Path) -> None:
        lines = (finished_run / "journal.jsonl").read_bytes().splitlines(keepends=True)
        (finished_run / "journal.jsonl").write_bytes(b"".join(lines[:-2]))
        config = finished_run / "config.yaml"
        config.write_text(config.read_text().replace("Talk.", "Sing."))

        message = refusal(ai_battle("resume", "kept"))

        assert message.startswith("kept/config.yaml has changed since the run was started; undo the change")
        assert "--accept-changes" in message
        assert re.search(r"^-.*Talk\.$", message, re.MULTILINE)
        assert re.search(r"^\+.*Sing\.$", message, re.MULTILINE)

    @pytest.mark.parametrize("options", [(), ("--accept-changes",)])
    def test_a_configuration_that_was_changed_after_the_end(
        self, ai_battle: Command, finished_run: Path, options: tuple[str, ...]
    ) -> None:
        config = finished_run / "config.yaml"
        config.write_text(config.read_text().replace("turns: 1", "turns: 2"))

        message = refusal(ai_battle("resume", "kept", *options))

        assert message.splitlines()[0].endswith("it is over; to go on from its end: ai-battle fork kept --at 2")


def test_misspelt_commands_and_options_are_answered_with_the_usage(ai_battle: Command) -> None:
    assert ai_battle("rnu", "talk.yaml").code == 2
    told: Any = ai_battle("run", write_config(GOOD), "--trun", "1")
    assert told.code == 2
    assert "--turns" in told.err


SCRIPTED = """\
discussion:
  turns: 1
  goal: Talk.
  models:
    Ann: {type: scripted/ann, script: [One.]}
    Bob: {type: scripted/bob, script: [Two.]}
"""
KINDS = {
    "run": ("discussion", SCRIPTED),
    "bench run": ("benchmark", "benchmark: {datasets: [{path: tasks.jsonl}], settings: [{name: a, model: gpt-4o}]}"),
    "serve": ("server", "server: {routes: {a: gpt-4o}}"),
}


class TestFilesOfAnotherKind:
    @pytest.mark.parametrize("command", KINDS)
    @pytest.mark.parametrize("other", KINDS)
    def test_the_command_for_it_is_named(self, ai_battle: Command, command: str, other: str) -> None:
        kind, text = KINDS[other]
        if command == other:
            return
        message = refusal(ai_battle(*command.split(), write_config(text)))
        assert message == (f"talk.yaml:1:1 {kind}: this is a {kind} file; run it with: ai-battle {other} talk.yaml")

    @pytest.mark.parametrize("command", KINDS)
    def test_an_empty_one_is_told_how_it_starts(self, ai_battle: Command, command: str) -> None:
        kind, _ = KINDS[command]
        message = refusal(ai_battle(*command.split(), write_config("")))
        assert message == f"talk.yaml:1:1: is empty; a {kind} starts with the line '{kind}:'"


OF_A_RUN = ["resume {}", "replay {}", "show {} 1", "export {}"]


class TestWhatIsNoRunAnyMore:
    @pytest.mark.parametrize("command", OF_A_RUN)
    def test_a_yaml_in_the_place_of_a_run_is_told(self, ai_battle: Command, command: str) -> None:
        message = refusal(ai_battle(*command.format(write_config(SCRIPTED)).split()))
        assert message.startswith("talk.yaml is a file, not a run directory; name the folder that 'ai-battle run' made")

    @pytest.mark.parametrize("command", OF_A_RUN)
    def test_a_folder_that_is_not_there_is_told(self, ai_battle: Command, command: str) -> None:
        message = refusal(ai_battle(*command.format("nowhere").split()))
        way_out = "'ai-battle runs' lists the runs, or says how to begin one"
        assert message == f"nowhere is not a run directory: there is no such folder; {way_out}."

    @pytest.mark.parametrize("command", ["resume kept", "show kept 1 --request", "replay kept --swap Ann=gpt-4o"])
    @pytest.mark.parametrize(
        ("config", "wrong"),
        [
            (b"discussion: [", "config.yaml:2:1: a value is missing here, or a bracket above is not closed"),
            (b"", "config.yaml:1:1: is empty"),
            (b"\xff\xfe\xe8", "config.yaml:1: is not UTF-8"),
            (b"only text", "config.yaml:1:1: must be a mapping"),
            (b"{discussion: {goal: x}}", "config.yaml"),
        ],
    )
    def test_a_configuration_that_was_damaged_since_is_told(
        self, ai_battle: Command, finished_run: Path, command: str, config: bytes, wrong: str
    ) -> None:
        (finished_run / "config.yaml").write_bytes(config)
        assert wrong in refusal(ai_battle(*command.split()))

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    @pytest.mark.usefixtures("finished_run")
    def test_a_place_without_room_is_named(self, ai_battle: Command) -> None:
        message = refusal(ai_battle("export", "kept", "-o", "/dev/full"))
        assert message == "/dev/full can't be written: No space left on device; name another place with --output."


def test_a_provider_that_there_is_not_is_told(ai_battle: Command) -> None:
    said = ai_battle("models", "list", "vlm")
    assert said.code == 1
    assert "There is no provider 'vlm', and no base_url for one; did you mean 'vllm'?" in said.out
