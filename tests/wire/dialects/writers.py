"""Calls as models of each dialect write them: what a program that knows the calls would put down."""
# ruff: noqa: E501, RUF001

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ai_battle.core.exchange import ToolSpec

Call = tuple[str, dict[str, Any]]
Writer = Callable[[Sequence[Call]], str]


def _tool(name: str, required: tuple[str, ...] = (), **types: Any) -> ToolSpec:
    properties = {key: kind if isinstance(kind, dict) else {"type": kind} for key, kind in types.items()}
    return ToolSpec(name, name, {"type": "object", "properties": properties, "required": list(required)})


OFFERED = (
    _tool("write_note", ("path", "content"), path="string", content="string", append="boolean"),
    _tool("run_python", ("code",), code="string", timeout="integer"),
    _tool("weather.forecast", ("city",), city="string", days="integer", coords={"type": "array", "items": {"type": "number"}}),
    _tool("get_time"),
    _tool("find-rows", ("where",), where="object", limit="integer"),
)  # fmt: skip
CODE = (
    'x = [1, 2]\nprint(f"{x}")',
    '# Title\n\n```python\nprint("hi")\n```\n\nend',
    'echo \'{"name": "get_time", "arguments": {}}\' | jq \'.[]\' \\\n  && ls | grep -v "\\.py$"',
    'def f(s: str) -> dict:\n    """Doc with \'quotes\' and "quotes"."""\n    return {"a": [s, "}"], \'b\': ")]"}\n',
    '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>',
    '<html>\n  <parameter name="x">y</parameter>\n</html>',
    'Say ```tool\n{"tool": "get_time", "parameters": {}}\n``` to call.',
    'a\tb\\n c\\\\ d ünï 日本語 "“quoted”" 🐢',
    "const f = (x) => `${x}` + /['\"]/.test(x) ? {a: 1} : [2];\n// end */ /* x",
    "~~~\nfenced\n~~~\n> quote\n- list\n",
    "Action: get_time\nAction Input: {}\nObservation: 12",
)
SIMPLE: tuple[Call, ...] = (
    ("weather.forecast", {"city": "Zürich", "days": 31}),
    ("weather.forecast", {"city": "New York, NY", "coords": [40.7, -74.25]}),
    ("get_time", {}),
    ("find-rows", {"where": {"age": {"gt": 5}, "tags": ["a", "b"]}, "limit": 10}),
    ("weather.forecast", {"city": "O'Fallon (MO)"}),
)
WRITTEN: tuple[Call, ...] = tuple(
    ("write_note", {"path": f"d/n{number}.md", "content": code}) if number % 2 else ("run_python", {"code": code, "timeout": number + 1})
    for number, code in enumerate(CODE)
)  # fmt: skip
SETS: tuple[tuple[Call, ...], ...] = (
    *((call,) for call in (*WRITTEN, *SIMPLE)),
    SIMPLE[:2],
    (SIMPLE[0], SIMPLE[2]),
    (WRITTEN[1], SIMPLE[0], WRITTEN[0]),
    SIMPLE[::-1],
)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _objects(calls: Sequence[Call], name: str = "name", arguments: str = "arguments") -> list[dict[str, Any]]:
    return [{name: tool, arguments: given} for tool, given in calls]


def _python(call: Call) -> str:
    return f"{call[0]}({', '.join(f'{key}={value!r}' for key, value in call[1].items())})"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _gemma(value: Any) -> str:
    match value:
        case str():
            return f'<|"|>{value}<|"|>'
        case dict():
            return "{" + ",".join(f"{key}:{_gemma(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_gemma, value)) + "]"
    return _json(value)


def _each(template: str, name: str = "name", arguments: str = "arguments", indent: int | None = None) -> Writer:
    """JSON of one call at a time, in place of the `%`."""
    return lambda calls: "\n".join(
        template.replace("%", json.dumps(one, ensure_ascii=False, indent=indent)) for one in _objects(calls, name, arguments)
    )  # fmt: skip


def _all(template: str, name: str = "name", arguments: str = "arguments", indent: int | None = None) -> Writer:
    """One JSON list of all calls."""
    return lambda calls: template.replace(
        "%", json.dumps(_objects(calls, name, arguments), ensure_ascii=False, indent=indent)
    )


def _tag_writer(call: str, argument: str, around: str = "%") -> Writer:
    """`call` with NAME and %, `argument` with KEY and %, everything within `around`."""

    def write(calls: Sequence[Call]) -> str:
        parts = []
        for name, given in calls:
            inside = "".join(argument.replace("KEY", key).replace("%", _text(value)) for key, value in given.items())
            parts.append(re.sub(r"\bNAME\b", name, call).replace("%", inside))
        return around.replace("%", "\n".join(parts))

    return write


def _glue_writer(template: str) -> Writer:
    """NAME, NUMBER and, for the arguments as JSON, %, one call right behind the other."""
    return lambda calls: "".join(
        template.replace("NAME", name).replace("NUMBER", str(number)).replace("%", _json(given)) for number, (name, given) in enumerate(calls)
    )  # fmt: skip


def _in_python(template: str, between: str = ", ", one: str = "%") -> Writer:
    return lambda calls: template.replace("%", between.join(one.replace("%", _python(call)) for call in calls))


def _of_api(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": _json(given)}}
        for number, (name, given) in enumerate(calls)
    ]


DIALECTS: Mapping[str, Writer] = {
    "tool fence": _each("```tool\n%\n```", "tool", "parameters"),
    "tool fence on many lines": _each("```tool\n%\n```", "tool", "parameters", 2),
    "a list in a tool fence": _all("```tool\n%\n```", "tool", "parameters"),
    "tool fence on one line": _each("```tool %\n```", "tool", "parameters"),
    "tool fence on one line and many": _each("```tool %\n```", "tool", "parameters", 2),
    "tool fence without a break": _each("```tool%\n```", "tool", "parameters"),
    "Tool fence": _each("```Tool\n%\n```", "tool", "parameters"),
    "tools fence": _each("```tools\n%\n```", "tool", "parameters"),
    "tool fence glued at its end": _each("```tool\n%```", "tool", "parameters"),
    "tool fence in a list": _each("- Call:\n\n  ```tool\n  %\n  ```", "tool", "parameters"),
    "tool_call fence": _each("```tool_call\n%\n```"),
    "json fence of a list": _all("```json\n%\n```"),
    "json fences": _each("```json\n%\n```", indent=2),
    "plain fence": _each("```\n%\n```"),
    "plain fence behind a colon": _each("Call: ```\n%\n```"),
    "tilde fence": _each("~~~tool\n%\n~~~", "tool", "parameters"),
    "four marks": _each("````tool\n%\n````", "tool", "parameters"),
    "four marks and three": _each("````tool\n%\n```", "tool", "parameters"),
    "four marks around json": _each("````json\n%\n````"),
    "crlf": _each("```tool\r\n%\r\n```\r", "tool", "parameters"),
    "tool_code fence": _in_python("```tool_code\n%\n```", "\n"),
    "printed": _in_python("```tool_code\n%\n```", "\n", "print(%)"),
    "python fence": _in_python("```python\n%\n```", "\n"),
    "hermes": _each("<tool_call>\n%\n</tool_call>"),
    "hermes on one line": _each("<tool_call>%</tool_call>"),
    "hermes in a fence": _each("```xml\n<tool_call>\n%\n</tool_call>\n```"),
    "a list in a tag": _all("<tool_call>%"),
    "named tag": _tag_writer('<tool_call name="NAME">\n%</tool_call>', '<parameter name="KEY">%</parameter>\n'),
    "invoke": _tag_writer('<invoke name="NAME">\n%</invoke>', '<parameter name="KEY">%</parameter>\n', "<function_calls>\n%\n</function_calls>"),
    "minimax": _tag_writer('<invoke name="NAME">\n%</invoke>', '<parameter name="KEY">%</parameter>\n', "<minimax:tool_call>\n%\n</minimax:tool_call>"),
    "the older invoke": _tag_writer("<invoke>\n<tool_name>NAME</tool_name>\n<parameters>\n%</parameters>\n</invoke>", "<KEY>%</KEY>\n", "<function_calls>\n%\n</function_calls>"),
    "qwen coder": _tag_writer("<tool_call>\n<function=NAME>\n%</function>\n</tool_call>", "<parameter=KEY>\n%\n</parameter>\n"),
    "openhands": _tag_writer("<function=NAME>\n%</function>", "<parameter=KEY>%</parameter>\n"),
    "cline": _tag_writer("<NAME>\n%</NAME>", "<KEY>%</KEY>\n"),
    "json in the tool's tag": lambda calls: "\n".join(f"<{name}>{_json(given)}</{name}>" for name, given in calls),
    "glm": _tag_writer("<tool_call>NAME\n%</tool_call>", "<arg_key>KEY</arg_key>\n<arg_value>%</arg_value>\n"),
    "blocks": _tag_writer("```tool\nTOOL_NAME: NAME\n%```", "BEGIN_ARG: KEY\n%\nEND_ARG\n"),
    "function tag": lambda calls: "\n".join(f"<function={name}>{_json(given)}</function>" for name, given in calls),
    "python tag": lambda calls: "<|python_tag|>" + "; ".join(map(_json, _objects(calls, "name", "parameters"))),
    "python tag with python": _in_python("<|python_tag|>[%]"),
    "llama": lambda calls: "; ".join(map(_json, _objects(calls, "name", "parameters"))),
    "python list": _in_python("[%]"),
    "python lines": _in_python("%", "\n"),
    "mistral": _all("[TOOL_CALLS] %"),
    "mistral names": _glue_writer("[TOOL_CALLS]NAME[ARGS]%"),
    "mistral ids": _glue_writer("[TOOL_CALLS]NAME[CALL_ID]aB3dE6gH9[ARGS]%"),
    "command r": _all("Action: ```json\n%\n```", "tool_name", "parameters", 4),
    "command r7b": _all("<|START_THINKING|>get_time() now.<|END_THINKING|><|START_ACTION|>%<|END_ACTION|>", "tool_name", "parameters"),
    "deepseek v3": _glue_writer("<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n%\n```<｜tool▁call▁end｜>"),
    "deepseek v3.1": _glue_writer("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>%<｜tool▁call▁end｜>"),
    "functools": _all("functools%"),
    "granite": _all("<|tool_call|>%"),
    "harmony": _glue_writer("<|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>%<|call|>"),
    "harmony, told early": _glue_writer("<|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>%<|call|>"),
    "kimi": _glue_writer("<|tool_call_begin|>functions.NAME:NUMBER<|tool_call_argument_begin|>%<|tool_call_end|>"),
    "gemma": lambda calls: "".join(f"<|tool_call>call:{name}{_gemma(given)}<tool_call|>" for name, given in calls),
    "lfm": _in_python("<|tool_call_start|>[%]<|tool_call_end|>"),
    "tool request": _each("[TOOL_REQUEST]%[END_TOOL_REQUEST]"),
    "jamba": _all("<tool_calls>%</tool_calls>", indent=4),
    "internlm": _each("<|action_start|><|plugin|>\n%<|action_end|>", "name", "parameters"),
    "toolCalls": lambda calls: _json({"toolCalls": _objects(calls), "content": "", "needsMoreWork": True}),
    "of an API": lambda calls: _json({"role": "assistant", "content": None, "tool_calls": _of_api(calls)}),
    "tool_use": _each("<tool_use>\n%\n</tool_use>", "name", "input"),
    "functionCall": lambda calls: _json([{"functionCall": one} for one in _objects(calls, "name", "args")]),
    "inside of tool": lambda calls: _json([{"tool": one} for one in _objects(calls, "name", "parameters")]),
    "by name": lambda calls: _json([{name: given} for name, given in calls]),
    "bare list": _all("%"),
    "bare list on many lines": _all("%", indent=2),
    "python's own": lambda calls: repr(_objects(calls)),
}  # fmt: skip
SINGLE: Mapping[str, Writer] = {
    "react": _glue_writer("Thought: hm\nAction: NAME\nAction Input: %"),
    "react, bold": _glue_writer("**Thought:** hm\n**Action:** NAME\n**Action Input:** %\n**Observation:** 5"),
    "react, as code": _glue_writer("Thought: hm\nAction: `NAME`\nAction Input: `%`"),
    "react, fenced": _glue_writer("Thought: hm\nAction: NAME\nAction Input:\n```json\n%\n```"),
    "smolagents": _each("Thought: hm\nAction:\n%", indent=2),
    "langchain": _each("Action:\n```json\n%\n```", "action", "action_input", 2),
    "name and object": _glue_writer("NAME\n%"),
}
AROUND: Mapping[str, str] = {
    "alone": "%",
    "before": "Let me check that for you.\n\n%",
    "around": "First I need data (see below):\n\n%\n\nThen I'll continue.",
    "German": "Ich sehe gleich nach – „einen Moment“ bitte:\n\n%\n",
    "Chinese": "好的，我来查一下（请稍候）：\n\n%\n\n以上。",
    "French": "D'accord, j'appelle l'outil « adéquat » :\n\n%\n",
    "reasoning": '<think>\nMaybe get_time() or <tool_call>{"name": "get_time", "arguments": {}}</tool_call>? No.\n</think>\n\n%',
    "reasoning that was never opened": 'I might use {"name": "get_time", "arguments": {}} here.\n</think>\n\n%',
    "code before": "I will use the `write_note` and `get_time` tools.\n\n%",
    "headings": "## Step 1: `weather`\n\n- one\n- two\n\n%\n\n## Step 2\nnothing",
}
