"""The forms in which models are told to write calls: each is described, written, and read back."""

import json

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, TextDelta
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import contract
from ai_battle.tools.formats.auto import AutoTools
from ai_battle.tools.formats.forms import DIALECTS, dialect
from ai_battle.tools.formats.text import TextTools
from ai_battle.wire.dialects.reader import read

SCHEMA = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "What to run."},
        "times": {"type": "integer"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "how": {"type": "object"},
    },
    "required": ["code"],
}
RUN = ToolSpec("run", "Runs code.", SCHEMA)
CODE = 'def f(x):\n    """Says {x!r}."""\n    return f\'{x}\' + "<b>&amp;</b>" # ```python\n\nprint(f("a\\n"))'
CALLS = [
    ToolCall("run", {"code": "print(1)"}),
    ToolCall("run", {"code": CODE, "times": 3, "loud": True, "tags": ["a", "ü"], "how": {"deep": [1, None]}}),
    ToolCall("run", {"code": "12", "times": 12}),
    ToolCall("run", {"code": '{"tool": "run", "parameters": {}}'}),
]
REQUEST = ModelRequest((user("Go."),), "Be brief.", (RUN,))

every_form = pytest.mark.parametrize("form", ["fenced", "json", "xml"])


@every_form
def test_the_fields_of_objects_are_described(form: str) -> None:
    properties = {"name": {"type": "string"}, "born": {"type": "string", "format": "date"}}
    person = {"type": "object", "properties": properties, "required": ["name"]}
    guests = {"type": "array", "items": {"$ref": "#/$defs/person"}}
    schema = {"type": "object", "properties": {"host": person, "guests": guests}, "$defs": {"person": person}}
    fields = "{name: string, born?: string (date)}"

    assert f"invite(host?: {fields}, guests?: array of {fields})" in dialect(form).describe(
        [ToolSpec("invite", "Invites.", schema)]
    )


def test_an_unknown_form_is_told_with_near_ones() -> None:
    with pytest.raises(ConfigError, match="There is no tool_format 'fence'; did you mean 'fenced'"):
        dialect("fence")


@every_form
def test_what_is_written_is_read_back(form: str) -> None:
    for call in CALLS:
        [found] = read(f"I run it.\n\n{dialect(form).write(call)}", [RUN]).calls
        assert (found.name, found.arguments) == (call.name, call.arguments)


@every_form
def test_several_calls_of_one_answer_are_read_back(form: str) -> None:
    text = "\n".join(dialect(form).write(call) for call in CALLS[:2])
    assert [call.arguments for call in read(text, [RUN]).calls] == [call.arguments for call in CALLS[:2]]


@every_form
async def test_the_model_is_told_of_the_form_and_sees_its_earlier_calls_in_it(form: str) -> None:
    model = ScriptedClient("Hello.")
    earlier = (
        user("Go."),
        Message("assistant", (Text("I run it."), CALLS[0])),
        Message("tool", (ToolResult(CALLS[0], (Text("1"),)),)),
    )
    await TextTools(model, dialect(form)).complete(ModelRequest(earlier, "Be brief.", (RUN,)))

    [request] = model.requests
    assert request.system.startswith("Be brief.\n\nYou have access to the following tools:")
    assert "run(code: string, times?: integer" in request.system
    assert request.messages[1].text == f"I run it.\n{dialect(form).write(CALLS[0])}"
    assert "<tool_result" in request.messages[2].text


@every_form
@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
async def test_tools_in_every_form_keep_the_contract(check: contract.Check, form: str) -> None:
    said = f"Let me look.\n{dialect(form).write(CALLS[1])}"
    subject = contract.wrapper(lambda inner: TextTools(inner, dialect(form)), said)
    await check(contract.Subject(subject.answers, subject.fails, subject.stalls, REQUEST))


async def test_whatever_the_form_all_others_are_read_too() -> None:
    for form in DIALECTS:
        model = ScriptedClient(f"I run it.\n{dialect(form).write(CALLS[1])}")
        client = AutoTools(model, "text", tool_format="xml")
        response = await client.complete(REQUEST, log := EventLog())
        assert [call.arguments for call in response.tool_calls] == [CALLS[1].arguments]
        assert "".join(event.text for event in log.events if isinstance(event, TextDelta)).strip() == "I run it."
        assert "<invoke name=" in model.requests[0].system


def test_the_json_form_is_json() -> None:
    assert json.loads(dialect("json").write(CALLS[1])) == {"name": "run", "arguments": CALLS[1].arguments}
