"""Whole answers of the Responses API."""

from typing import Any

from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Part
from .._blocks import Block, Blocks
from .._json import dumps
from .._rest import finished
from .answer import PREFIXES, ended, item_of, new_response, status_of
from .tools import known_to_client


def encode_response(response: ModelResponse, model: str, request: ModelRequest | None = None) -> bytes:
    """The answer under the name `model` that the client asked for; `request` is what it answers."""
    body = new_response(model, request)
    items = _Items(body["id"], request, status_of(response))
    finished(Blocks(items), response.message)
    return dumps(body | ended(response, items.output))


class _Items:
    """Hears blocks end, and writes nothing."""

    interleaves = True

    def __init__(self, id_: str, request: ModelRequest | None, status: str) -> None:
        self.output: list[dict[str, Any]] = []
        self._id = id_.partition("_")[2]
        self._told = known_to_client(request)
        self._status = status

    def is_whole(self, part: Part) -> bool:
        return False

    def opened(self, block: Block) -> bytes:
        return b""

    def grown(self, block: Block, fragment: str) -> bytes:
        return b""

    def closed(self, block: Block) -> bytes:
        id_ = f"{PREFIXES[block.kind]}_{self._id}{block.index:x}"
        self.output.append(item_of(block, id_, self._status, self._told.get(block.name)))
        return b""
