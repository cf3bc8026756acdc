"""Answers of models in every dialect that the reader knows, written for these tests, and what they call."""
# ruff: noqa: E501, RUF001

from dataclasses import dataclass
from typing import Any

from ai_battle.core.exchange import ToolSpec


def _tool(name: str, required: tuple[str, ...] = (), **types: Any) -> ToolSpec:
    properties = {key: kind if isinstance(kind, dict) else {"type": kind} for key, kind in types.items()}
    return ToolSpec(name, f"The tool {name}.", {"type": "object", "properties": properties, "required": list(required)})


TOOLS = (
    _tool("look_up", ("word",), word="string", limit="integer", exact="boolean"),
    _tool(
        "save.file", ("path", "body"), path="string", body="string", tags={"type": "array", "items": {"type": "string"}}
    ),
    _tool("clock"),
    _tool("scale", factor="number", box={"type": "object", "properties": {"w": {"type": "integer"}}}),
)
Call = tuple[str, dict[str, Any]]
CLOCK: Call = ("clock", {})
LOOK: Call = ("look_up", {"word": "żółw", "limit": 3})
CODE = 'def f(a):\n    return {"a": [a, "}"]}\n\n```python\nprint(f"{1}")\n```\n\'quoted\' \\ "twice"'
SAVE: Call = ("save.file", {"path": "a/b.md", "body": CODE})
_CODE_JSON = '"def f(a):\\n    return {\\"a\\": [a, \\"}\\"]}\\n\\n```python\\nprint(f\\"{1}\\")\\n```\\n\'quoted\' \\\\ \\"twice\\""'
_LOOK_JSON = '{"name": "look_up", "arguments": {"word": "żółw", "limit": 3}}'
_SAVE_JSON = f'{{"name": "save.file", "arguments": {{"path": "a/b.md", "body": {_CODE_JSON}}}}}'


@dataclass(frozen=True)
class Row:
    name: str
    text: str
    calls: tuple[Call, ...]
    explicit: bool = True
    """Whether it says by itself that it is a call, without the tools being known."""


EXPLICIT = (
    Row("tool fence", '```tool\n{"tool": "look_up", "parameters": {"word": "żółw", "limit": 3}}\n```', (LOOK,)),
    Row("quotation marks inside a text", '```tool\n{"tool": "save.file", "parameters": {"path": "a", "body": "<p id="b">He said "no" (twice).</p>"}}\n```',
        (("save.file", {"path": "a", "body": '<p id="b">He said "no" (twice).</p>'}),)),
    Row("two in a fence", f'Both.\n```tool\n{_LOOK_JSON}\n{{"tool": "clock", "parameters": {{}}}}\n```\nDone.', (LOOK, CLOCK)),
    Row("two fences", f"```tool\n{_LOOK_JSON}\n```\nand\n```tool_call\n{_SAVE_JSON}\n```", (LOOK, SAVE)),
    Row("hermes", f"Let me see.\n<tool_call>\n{_LOOK_JSON}\n</tool_call>\n<tool_call>\n{_SAVE_JSON}\n</tool_call>", (LOOK, SAVE)),
    Row("hermes without the end", f"<tool_call>\n{_LOOK_JSON}", (LOOK,)),
    Row("a list in tags", f"<tool_calls>[{_LOOK_JSON}, {_SAVE_JSON}]</tool_calls>", (LOOK, SAVE)),
    Row("invoke", '<function_calls>\n<invoke name="look_up">\n<parameter name="word">żółw</parameter>\n'
        '<parameter name="limit">3</parameter>\n</invoke>\n</function_calls>', (LOOK,)),
    Row("invoke in a name space", '<antml:function_calls>\n<antml:invoke name="look_up">\n<antml:parameter name="word">żółw</antml:parameter>\n'
        '<antml:parameter name="limit">3</antml:parameter>\n</antml:invoke>\n</antml:function_calls>', (LOOK,)),
    Row("name and arguments in elements", '<tool_call>\n<name>look_up</name>\n<arguments>{"word": "żółw", "limit": 3}</arguments>\n'
        "</tool_call>", (LOOK,)),
    Row("character data in a value", f'<invoke name="save.file">\n<parameter name="path">a/b.md</parameter>\n'
        f'<parameter name="body"><![CDATA[{CODE}]]></parameter>\n</invoke>', (SAVE,)),
    Row("the older invoke", "<function_calls>\n<invoke>\n<tool_name>look_up</tool_name>\n<parameters>\n<word>żółw</word>\n"
        "<limit>3</limit>\n</parameters>\n</invoke>\n</function_calls>", (LOOK,)),
    Row("qwen coder", f"<tool_call>\n<function=save.file>\n<parameter=path>\na/b.md\n</parameter>\n<parameter=body>\n{CODE}\n"
        "</parameter>\n</function>\n</tool_call>", (SAVE,)),
    Row("function tag", '<function=look_up>{"word": "żółw", "limit": 3}</function>', (LOOK,)),
    Row("python tag", '<|python_tag|>{"name": "look_up", "parameters": {"word": "żółw", "limit": 3}}; '
        '{"name": "clock", "parameters": {}}', (LOOK, CLOCK)),
    Row("mistral list", f"[TOOL_CALLS] [{_LOOK_JSON}, {_SAVE_JSON}]", (LOOK, SAVE)),
    Row("mistral names", '[TOOL_CALLS]look_up[ARGS]{"word": "żółw", "limit": 3}[TOOL_CALLS]clock[CALL_ID]a1[ARGS]{}', (LOOK, CLOCK)),
    Row("command r", 'Action: ```json\n[{"tool_name": "look_up", "parameters": {"word": "żółw", "limit": 3}}]\n```', (LOOK,)),
    Row("command r7b", '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "clock", "parameters": {}}]<|END_ACTION|>', (CLOCK,)),
    Row("react", 'Thought: hm\nAction: look_up\nAction Input: {"word": "żółw", "limit": 3}\nObservation: a turtle', (LOOK,)),
    Row("deepseek v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look_up\n```json\n"
        '{"word": "żółw", "limit": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>', (LOOK,)),
    Row("deepseek v3.1", '<｜tool▁call▁begin｜>look_up<｜tool▁sep｜>{"word": "żółw", "limit": 3}<｜tool▁call▁end｜>', (LOOK,)),
    Row("deepseek v3.2", '<｜DSML｜function_calls>\n<｜DSML｜invoke name="look_up">\n<｜DSML｜parameter name="word" string="true">'
        'żółw</｜DSML｜parameter>\n<｜DSML｜parameter name="limit" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>", (LOOK,)),
    Row("functools", f"functools[{_LOOK_JSON}]", (LOOK,)),
    Row("granite", f"<|tool_call|>[{_LOOK_JSON}]", (LOOK,)),
    Row("harmony", "<|channel|>analysis<|message|>look_up or clock?<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.look_up <|constrain|>json<|message|>{"word": "żółw", "limit": 3}<|call|>', (LOOK,)),
    Row("kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.look_up:0<|tool_call_argument_begin|>"
        '{"word": "żółw", "limit": 3}<|tool_call_end|><|tool_calls_section_end|>', (LOOK,)),
    Row("glm", "<tool_call>look_up\n<arg_key>word</arg_key>\n<arg_value>żółw</arg_value>\n<arg_key>limit</arg_key>\n"
        "<arg_value>3</arg_value>\n</tool_call>", (LOOK,)),
    Row("gemma", '<|tool_call>call:look_up{word:<|"|>żółw<|"|>,limit:3}<tool_call|>', (LOOK,)),
    Row("minimax", '<minimax:tool_call>\n<invoke name="look_up">\n<parameter name="word">żółw</parameter>\n'
        '<parameter name="limit">3</parameter>\n</invoke>\n</minimax:tool_call>', (LOOK,)),
    Row("lfm", "<|tool_call_start|>[look_up(word='żółw', limit=3), clock()]<|tool_call_end|>", (LOOK, CLOCK)),
    Row("tool request", f"[TOOL_REQUEST]{_LOOK_JSON}[END_TOOL_REQUEST]", (LOOK,)),
    Row("blocks without escapes", f"```tool\nTOOL_NAME: save.file\nBEGIN_ARG: path\na/b.md\nEND_ARG\nBEGIN_ARG: body\n{CODE}\nEND_ARG\n```",
        (SAVE,)),
    Row("toolCalls", f'{{"toolCalls": [{_LOOK_JSON}], "content": "", "needsMoreWork": true}}', (LOOK,)),
    Row("tool_calls of an API", '{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look_up", '
        '"arguments": "{\\"word\\": \\"żółw\\", \\"limit\\": 3}"}}]}', (LOOK,)),
    Row("a message without a channel", 'to=functions.look_up <|constrain|>json<|message|>{"word": "żółw", "limit": 3}<|call|>', (LOOK,)),
    Row("an argument for each element", "<tool_call>\n<name>look_up</name>\n<arguments>\n<word>żółw</word>\n<limit>3</limit>\n"
        "</arguments>\n</tool_call>", (LOOK,)),
    Row("tool and input in elements", '<tool>look_up</tool>\n<tool_input>{"word": "żółw", "limit": 3}</tool_input>', (LOOK,)),
    Row("functionary", '>>>look_up\n{"word": "żółw", "limit": 3}', (LOOK,)),
    Row("a call of llama's own tools", '<|python_tag|>look_up.call(word="żółw", limit=3)', (LOOK,)),
    Row("a call after reasoning", f"<think>\n<tool_call>{_SAVE_JSON}</tool_call>?\n</think>\n<tool_call>{_LOOK_JSON}</tool_call>", (LOOK,)),
)  # fmt: skip
BARE = (
    Row("bare object", _LOOK_JSON, (LOOK,)),
    Row("after prose", f"I shall look it up.\n\n{_SAVE_JSON}\n\nThat is all.", (SAVE,)),
    Row("json fence", f"```json\n[{_LOOK_JSON},\n {_SAVE_JSON}]\n```", (LOOK, SAVE)),
    Row("in the tag of definitions", f"<tools>\n{_LOOK_JSON}\n</tools>", (LOOK,)),
    Row("escaped once too often", _LOOK_JSON.replace('"', '\\"'), (LOOK,)),
    Row("a fence of the tool's name", '```look_up\n{"word": "żółw", "limit": 3}\n```', (LOOK,)),
    Row("an object around the call", f'{{"call": {_LOOK_JSON}}}', (LOOK,)),
    Row("a function's arguments", '{"function_name": "look_up", "function_args": {"word": "żółw", "limit": 3}}', (LOOK,)),
    Row("glued json fence", f"```{_LOOK_JSON}```", (LOOK,)),
    Row("name and object", 'look_up\n{"word": "żółw", "limit": 3}', (LOOK,)),
    Row("name as key", '[{"look_up": {"word": "żółw", "limit": 3}}, {"clock": {}}]', (LOOK, CLOCK)),
    Row("beside the name", '{"name": "look_up", "word": "żółw", "limit": 3}', (LOOK,)),
    Row("pairs", "[('look_up', {'word': 'żółw', 'limit': 3}), ('clock', {})]", (LOOK, CLOCK)),
    Row("python list", "[look_up(word='żółw', limit=3), clock()]", (LOOK, CLOCK)),
    Row("nothing first", "[clock(), look_up(word='żółw', limit=3)]", (CLOCK, LOOK)),
    Row("python lines", "look_up(word='żółw', limit=1 + 2)\nsave_file(path='a', body=\"\"\"x\n'y'\"\"\")",
        (LOOK, ("save.file", {"path": "a", "body": "x\n'y'"}))),
    Row("by position", "look_up('żółw', 3)", (LOOK,)),
    Row("one mapping", 'look_up({"word": "żółw", "limit": 3})', (LOOK,)),
    Row("python in strings", "[\"look_up(word='żółw', limit=3)\", \"clock()\"]", (LOOK, CLOCK)),
    Row("python fence", "```python\nresult = look_up(word='żółw', limit=3)\nprint(clock())\n```", (LOOK,)),
    Row("markdown escapes", "[look\\_up(word='a\\_b')]", (("look_up", {"word": "a_b"}),)),
    Row("tags of the tool's name", "<look_up>\n<word>żółw</word>\n<limit>3</limit>\n</look_up>", (LOOK,)),
    Row("a code line of its own", "`look_up(word='żółw', limit=3)`", (LOOK,)),
    Row("attributes", '<tool name="look_up" word="żółw" limit="3"/>', (LOOK,)),
    Row("attributes of the tool's name", "<look_up word='żółw' limit='3' />", (LOOK,)),
    Row("capitals", '{"Name": "look_up", "Arguments": {"word": "żółw", "limit": 3}}', (LOOK,)),
    Row("an object in strings", "['{\"name\": \"clock\", \"arguments\": {}}']", (CLOCK,)),
    Row("character data", f"<xml><![CDATA[{_LOOK_JSON}]]></xml>", (LOOK,)),
    Row("a command", '{"thoughts": "now", "command": {"name": "look_up", "args": {"word": "żółw", "limit": 3}}}', (LOOK,)),
    Row("actions", f'{{"thought": "both", "actions": [{_LOOK_JSON}, {_SAVE_JSON}]}}', (LOOK, SAVE)),
    Row("a call and what it is for", "look_up(word='żółw', limit=3) → for the first of them\n", (LOOK,)),
    Row("a pleasant list", f"tools call: [{_LOOK_JSON}]", (LOOK,)),
)  # fmt: skip
ANNOUNCED = (
    Row("a name above a fence", 'Using tool: `look_up`\n\n```json\n{"word": "żółw", "limit": 3}\n```', (LOOK,)),
    Row("labels", '**Tool:** look_up\n**Arguments:** {"word": "żółw", "limit": 3}', (LOOK,)),
    Row("a heading above a fence", '**look_up**\n```\n{"word": "żółw", "limit": 3}\n```', (LOOK,)),
)  # fmt: skip
"""The line that names the tool is a sentence of its own, and stays one."""
CALLS = EXPLICIT + tuple(Row(row.name, row.text, row.calls, explicit=False) for row in BARE + ANNOUNCED)
QUOTED = {
    "a fence of four marks": f"````text\n<tool_call>{_LOOK_JSON}</tool_call>\n````",
    "a call and what it gave": 'As before:\nlook_up(word="x") -> {"found": 1}\nlook_up(word="y") => 2\n',
    "an outer fence": f"````markdown\n```tool\n{_LOOK_JSON}\n```\n````",
    "a fence in a plain fence": f"```\n```tool\n{_LOOK_JSON}\n```\n```",
    "a block quote": f"You wrote:\n> <tool_call>\n> {_LOOK_JSON}\n> </tool_call>\n",
    "inline code": 'You can use `look_up(word="x")` for that.',
    "a sentence": 'One could say look_up(word="x") here, but no.',
    "marks of French": f"La forme est « {_LOOK_JSON} », sans plus.",
    "marks of German": f"Sie schrieben: „{_LOOK_JSON}“ — nein.",
    "marks of Japanese": f"形式は「{_LOOK_JSON}」です。",
    "an object in a sentence": f"The server answers {_LOOK_JSON} to that.",
    "an indented block": f"Never this:\n\n    ```tool\n    {_LOOK_JSON}\n    ```\n\nIt harms.",
    "an indented tag": f"As the manual says:\n\n    <tool_call>\n    {_LOOK_JSON}\n    </tool_call>\n\nThat is all.",
    "a tag between quotation marks": f'It said:\n"<tool_call>{_LOOK_JSON}</tool_call>"\nand stopped.',
    "a list of what tools do": '- look_up: {"word": "x"} finds a word\n- clock: {} tells the time\n',
    "a comment": "# look_up(word='x')\n// look_up(word='y')\n",
    "an object below a sentence about the tool": 'The tool look_up takes these:\n```json\n{"word": "x"}\n```',
    "an object that is not what the tool above it needs": 'look_up\n```json\n{"limit": 3}\n```',
    "attributes that are not the tool's": '<look_up word="x" lang="pl"/> and <clock of="Ann"/>',
    "a definition without parameters": '[{"name": "clock", "description": "Tells the time."}]',
    "another language": "```bash\nlook_up(word='x')\n```",
    "a definition in Python": '```python\ndef look_up(word="x"):\n    return {"name": "clock", "arguments": {}}\n```',
    "reasoning": f"<think>\n<tool_call>{_LOOK_JSON}</tool_call>\n</think>\nHello!",
    "reasoning that was never opened": f"I could <tool_call>{_LOOK_JSON}</tool_call> now.\n</think>\nHello!",
    "analysis": '<|channel|>analysis<|message|>call look_up(word="x")<|end|><|start|>assistant<|channel|>final<|message|>Hi.',
    "the tool's definition": '<tools>\n{"name": "look_up", "parameters": {"type": "object", "properties": {}}}\n</tools>',
    "a definition in a fence": '```json\n{"name": "look_up", "parameters": {"type": "object", "properties": {"word": {}}}}\n```',
    "a table": "| call | gives |\n|---|---|\n| look_up(word='x') | 1 |",
    "a traceback": "```\nTraceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    look_up(word='x')\n```",
    "a block of the tool's name that shows code": "```clock\nclock.tick(word='x')\n```",
    "a result": f"<tool_response>\n{_LOOK_JSON}\n</tool_response>",
    "a record with its result": '{"name": "look_up", "arguments": {"word": "x"}, "result": 1}',
    "a placeholder": "Use look_up(word) to search, or `clock()`; look_up() alone fails.",
    "data": '{"name": "Ann", "age": 3} and [1, 2] (see f(x))',
    "a query": "SELECT name, arguments FROM calls WHERE name = 'look_up';",
    "a function of another name": "[frobnicate(word='x')]",
}
