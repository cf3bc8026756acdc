"""What a fake provider was sent, in one shape whatever API it speaks, so that one test holds for all of them."""

import json
from dataclasses import dataclass, field
from typing import Any

Part = tuple[str, Any]
"""("text", str), ("image", data URL or URL), ("call", (name, arguments)), ("result", text), ("thinking", text)"""


@dataclass
class Sent:
    """`choice` is "auto", "required", "none" or a tool's name; `links` are the ids that results name."""

    system: str
    turns: list[tuple[str, list[Part]]]
    tools: list[tuple[str, str, Any]] = field(default_factory=list)
    choice: str = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    @property
    def parts(self) -> list[Part]:
        return [part for _, parts in self.turns for part in parts]

    def of(self, kind: str) -> list[Any]:
        return [value for name, value in self.parts if name == kind]

    @property
    def text(self) -> str:
        return "\n".join([self.system, *(value for name, value in self.parts if name in ("text", "result"))])


def read_sent(wire: str, body: dict[str, Any]) -> Sent:
    return {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama, "gemini": _gemini}[wire](body)


def _openai(body: dict[str, Any]) -> Sent:
    told = Sent("", [])
    for message in body["messages"]:
        parts = _openai_parts(message.get("content"))
        if message["role"] in ("system", "developer") and not told.turns:
            told.system += "".join(text for _, text in parts)
            continue
        for call in message.get("tool_calls") or ():
            told.calls.append(call["id"])
            parts.append(("call", (call["function"]["name"], json.loads(call["function"]["arguments"]))))
        if message["role"] == "tool":
            told.links.append(message["tool_call_id"])
            parts = [("result" if kind == "text" else kind, value) for kind, value in parts]
        told.turns.append((message["role"], parts))
    _openai_tools(body, told)
    known = {"max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "parallel_tool_calls"}
    told.options = {name.replace("max_completion", "max"): body[name] for name in known & body.keys()}
    return told


def _openai_tools(body: dict[str, Any], told: Sent) -> None:
    for tool in body.get("tools") or ():
        function = tool["function"]
        told.tools.append((function["name"], function.get("description", ""), function["parameters"]))
    choice = body.get("tool_choice", "auto")
    told.choice = choice if isinstance(choice, str) else choice["function"]["name"]
    if not told.tools:
        told.choice = "none"


def _openai_parts(content: Any) -> list[Part]:
    if isinstance(content, str) or content is None:
        return [("text", content)] if content else []
    named = {"text": "text", "image_url": "image"}
    return [
        (
            named.get(part["type"], part["type"]),
            part["image_url"]["url"] if part["type"] == "image_url" else part["text"],
        )
        for part in content
    ]


def _anthropic(body: dict[str, Any]) -> Sent:
    system = body.get("system") or ""
    told = Sent(system if isinstance(system, str) else "\n\n".join(block["text"] for block in system), [])
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        told.turns.append((message["role"], [part for block in blocks for part in _anthropic_parts(block, told)]))
    told.tools = [
        (t["name"], t.get("description", ""), t["input_schema"]) for t in body.get("tools", ()) if "input_schema" in t
    ]
    choice = body.get("tool_choice") or {"type": "auto"}
    told.choice = str({"any": "required", "tool": choice.get("name")}.get(choice["type"], choice["type"]))
    if not told.tools:
        told.choice = "none"
    told.options = {name: body[name] for name in ("max_tokens", "temperature", "top_p") if name in body}
    if "stop_sequences" in body:
        told.options["stop"] = body["stop_sequences"]
    if choice.get("disable_parallel_tool_use"):
        told.options["parallel_tool_calls"] = False
    return told


def _anthropic_parts(block: dict[str, Any], told: Sent) -> list[Part]:
    match block["type"]:
        case "text":
            return [("text", block["text"])]
        case "image":
            source = block["source"]
            data = f"data:{source.get('media_type')};base64,{source.get('data')}"
            return [("image", source.get("url") or data)]
        case "tool_use":
            told.calls.append(block["id"])
            return [("call", (block["name"], block["input"]))]
        case "tool_result":
            told.links.append(block["tool_use_id"])
            content = block.get("content") or ""
            inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
            parts = [part for each in inner for part in _anthropic_parts(each, told)]
            return [("result" if kind == "text" else kind, value) for kind, value in parts]
    return [(block["type"], block)]


def _ollama(body: dict[str, Any]) -> Sent:
    told = Sent("", [])
    for message in body["messages"]:
        parts: list[Part] = [("text", message["content"])] if message.get("content") else []
        if message["role"] == "system" and not told.turns:
            told.system += message["content"]
            continue
        parts += [("image", f"data:image/png;base64,{data}") for data in message.get("images") or ()]
        for call in message.get("tool_calls") or ():
            told.calls.append(call["function"]["name"])
            parts.append(("call", (call["function"]["name"], call["function"]["arguments"])))
        if message["role"] == "tool":
            told.links.append(message["tool_name"])
            parts = [("result" if kind == "text" else kind, value) for kind, value in parts]
        told.turns.append((message["role"], parts))
    functions = [tool["function"] for tool in body.get("tools") or ()]
    told.tools = [(each["name"], each.get("description", ""), each["parameters"]) for each in functions]
    told.choice = "auto" if told.tools else "none"
    options = dict(body.get("options") or {})
    if "num_predict" in options:
        options["max_tokens"] = options.pop("num_predict")
    told.options = options
    return told


def _gemini(body: dict[str, Any]) -> Sent:
    instruction = body.get("systemInstruction") or {"parts": []}
    told = Sent("".join(part["text"] for part in instruction["parts"]), [])
    for content in body["contents"]:
        told.turns.append((content["role"], [_gemini_part(part, told) for part in content["parts"]]))
    functions = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    schemas = ("parametersJsonSchema", "parameters")
    told.tools = [
        (f["name"], f.get("description", ""), next((f[name] for name in schemas if name in f), None)) for f in functions
    ]
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {"mode": "AUTO"}
    told.choice = {"ANY": "required", "NONE": "none"}.get(config["mode"], "auto")
    told.choice = next(iter(config.get("allowedFunctionNames") or ()), told.choice) if told.tools else "none"
    given = body.get("generationConfig") or {}
    names = {"maxOutputTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}
    told.options = {ours: given[theirs] for theirs, ours in names.items() if theirs in given}
    return told


def _gemini_part(part: dict[str, Any], told: Sent) -> Part:
    if "functionCall" in part:
        told.calls.append(part["functionCall"]["name"])
        return "call", (part["functionCall"]["name"], part["functionCall"]["args"])
    if "functionResponse" in part:
        told.links.append(part["functionResponse"]["name"])
        return "result", "".join(map(str, part["functionResponse"]["response"].values()))
    if "inlineData" in part:
        return "image", f"data:{part['inlineData']['mimeType']};base64,{part['inlineData']['data']}"
    if "fileData" in part:
        return "image", part["fileData"]["fileUri"]
    return ("thinking" if part.get("thought") else "text"), part["text"]
