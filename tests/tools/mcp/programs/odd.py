"""A server in a few lines, without the SDK, that behaves as its first argument says."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

how = sys.argv[1]
SCHEMA = {"type": "object", "properties": {}}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "A tool.", "inputSchema": SCHEMA, **more}


def description() -> str:
    """Returns what stands in the file that the second argument names."""
    return Path(sys.argv[2][1:]).read_text(encoding="utf-8") if sys.argv[2:] and sys.argv[2][:1] == "@" else ""


LISTS: dict[str, list[dict[str, Any]]] = {
    "guided": [tool("calm"), tool("same")],
    "odd_names": [
        tool("get weather/now"),
        tool("wetter.für.morgen"),
        tool(""),
        tool("x" * 100),
        tool("same"),
        tool("same"),
    ],
    "bad_schemas": [tool("good"), tool("bad", inputSchema={"type": "object", "properties": {"a": {"type": "texxt"}}})],
    "no_schema": [
        tool("none", inputSchema="text"),
        tool("list", inputSchema={"type": "array"}),
        {"description": "nameless"},
        "no tool at all",  # type: ignore[list-item]
        tool("fine"),
    ],
    "huge": [
        tool("small"),
        tool("huge", inputSchema={**SCHEMA, "properties": {"a": {"type": "string", "description": "x" * 1_000_000}}}),
        *(
            tool(f"large{n}", inputSchema={**SCHEMA, "properties": {"a": {"type": "string", "title": "x" * 30_000}}})
            for n in range(20)
        ),
    ],
    "broken": [tool("break")],
    "shapeless": [tool("shape")],
    "pinned": [tool("calm", description=description()), tool("same")],
    "orphans": [tool("leave")],
    "endless": [tool("again")],
    "flood": [tool("quiet")],
    "stubborn": [tool("stay")],
    "changes": [tool("grow")],
    "dies": [tool("die")],
    "rambles": [tool("ramble")],
    "leaves": [tool("leave")],
    "chatty": [tool("talk")],
}


def result_of(method: str) -> dict[str, Any]:
    if method == "initialize":
        server = {"name": "odd", "version": "1"}
        can = {"tools": {"listChanged": True}}
        guide = {"instructions": description()} if how == "guided" else {}
        return {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": server, **guide}
    if method == "tools/list":
        more = {"nextCursor": "more"} if how == "endless" else {}
        return {"tools": LISTS.get(how, []), **more}
    return {"content": [{"type": "text", "text": "here"}]}


def serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in ("initialize", "tools/list", "tools/call"):
            answer["result"] = result_of(asked["method"])
        else:
            answer["error"] = {"code": -32601, "message": "no such method"}
        if how == "flood":
            sys.stderr.write("noise\n" * 400_000)
        if how == "chatty":
            print("Loading the model ...")
        if asked["method"] == "tools/call":
            misbehave(answer)
        print(json.dumps(answer), flush=True)


def misbehave(answer: dict[str, Any]) -> None:
    match how:
        case "changes":
            LISTS["changes"] = [tool("grown")]
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        case "broken":
            sys.stdout.write('{"jsonrpc": "2.0", "id": 7, "result": {"content": [\n')
            answer.clear()
        case "shapeless":
            answer["result"] = "text"
        case "orphans":
            leave = ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"]
            number = subprocess.run(leave, start_new_session=True, stdout=subprocess.PIPE, text=True, check=True).stdout
            answer["result"] = {"content": [{"type": "text", "text": number.strip()}]}
        case "dies":
            sys.exit("out of memory")
        case "rambles":
            sys.stdout.write("and so on " * 2_000_000)
        case "leaves":
            child = subprocess.Popen(["sleep", "60"])
            answer["result"] = {"content": [{"type": "text", "text": str(child.pid)}]}


if how == "hangs":
    sys.stderr.write("still connecting")
    sys.stderr.flush()
    sys.stdin.read()
if how == "breaks":
    sys.exit("no licence found for token tok-12345")
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(sys.argv[2]).write_text(str(os.getpid()), encoding="utf-8")
serve()
if how == "stubborn":
    time.sleep(60)
