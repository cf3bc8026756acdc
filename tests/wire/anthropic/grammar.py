"""The grammar of a stream of the Messages API, as the SDKs demand it."""

import json
from typing import Any, NamedTuple

Event = dict[str, Any]


class Read(NamedTuple):
    """`blocks` are as their events put them together."""

    start: Event
    blocks: list[Event]
    delta: Event


def events(stream: bytes) -> list[Event]:
    """Each has an `event:` line that says its type; without, clients drop it."""
    read = []
    for event in stream.decode().removesuffix("\n\n").split("\n\n"):
        name, data = event.split("\n")
        read.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {read[-1]['type']}"
    return read


def read(stream: bytes) -> Read:
    """Indices count up from 0 without gap or reuse; one block is open at a time; every delta is of its kind."""
    start, *inner, delta, stop = [event for event in events(stream) if event["type"] != "ping"]
    assert [start["type"], delta["type"], stop] == ["message_start", "message_delta", {"type": "message_stop"}]
    blocks: list[Event] = []
    is_open = False
    for event in inner:
        assert event["index"] == len(blocks) - is_open
        match event["type"]:
            case "content_block_start":
                assert not is_open
                blocks.append(event["content_block"])
            case "content_block_delta":
                _grow(blocks[-1], event["delta"])
            case kind:
                assert (is_open, kind) == (True, "content_block_stop")
        is_open = event["type"] != "content_block_stop"
    assert not is_open
    return Read(start["message"], [_whole(block) for block in blocks], delta)


def _grow(block: Event, delta: Event) -> None:
    match delta.pop("type"), block["type"]:
        case "text_delta", "text":
            block["text"] += delta["text"]
        case "thinking_delta", "thinking":
            block["thinking"] += delta["thinking"]
        case "signature_delta", "thinking":
            block["signature"] = delta["signature"]
        case "input_json_delta", "tool_use":
            block["json"] = block.get("json", "") + delta["partial_json"]
        case wrong:
            raise AssertionError(wrong)


def _whole(block: Event) -> Event:
    if "json" in block:
        block["input"] = json.loads(block.pop("json"))
    return block
