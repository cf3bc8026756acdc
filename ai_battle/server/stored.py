"""Answers of the Responses API that later requests refer to, by the key that asked and by id."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from pydantic_core import to_json

from ..core.exchange import RawBody
from ..wire import responses

Item: TypeAlias = Mapping[str, Any]
Items: TypeAlias = tuple[Item, ...]


@dataclass(slots=True)
class MemoryStore:
    """The responses of this process that were used last: up to `most` bytes of JSON, each with its conversation.

    Nobody finds what was kept for another key.
    """

    most: int = 0
    _size: int = 0
    _kept: OrderedDict[tuple[str, str], tuple[Items, int]] = field(default_factory=OrderedDict, repr=False)
    _homes: dict[tuple[str, str], tuple[Item, str]] = field(default_factory=dict, repr=False)

    async def conversation(self, key: str, response: str) -> Items | None:
        """Returns the items of a conversation up to the end of a response."""
        if (key, response) not in self._kept:
            return None
        self._kept.move_to_end((key, response))
        return self._kept[key, response][0]

    async def item(self, key: str, id_: str) -> Item | None:
        item, response = self._homes.get((key, id_), (None, ""))
        if (key, response) in self._kept:
            self._kept.move_to_end((key, response))
        return item

    async def add(self, key: str, response: str, items: Items) -> None:
        size = len(to_json(items))
        if size > self.most:
            return
        self._kept[key, response] = items, size
        self._size += size
        self._homes |= {(key, item["id"]): (item, response) for item in items if item.get("id")}
        while self._size > self.most:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        (key, response), (items, size) = self._kept.popitem(last=False)
        self._size -= size
        for item in items:
            if self._homes.get((key, item.get("id", "")), (None, ""))[1] == response:
                del self._homes[key, item["id"]]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one request of a `key` refers to, and where its answer is kept."""

    store: MemoryStore
    key: str
    items: Items = ()
    is_kept: bool = False

    async def expand(self, body: RawBody) -> tuple[RawBody, "Conversation"]:
        """The body with all that it refers to, and the conversation that it goes on. Raises `ConfigError`."""
        conversation, item = partial(self.store.conversation, self.key), partial(self.store.item, self.key)
        whole = await responses.expand_references(body.fields, conversation, item)
        if not self.store.most:
            whole["store"] = False
        going_on = replace(self, items=_items(whole.get("input")), is_kept=responses.keeps(whole))
        return replace(body, fields=whole), going_on

    async def store_answer(self, answer: Mapping[str, Any] | None) -> None:
        if answer and self.is_kept:
            await self.store.add(self.key, answer["id"], (*self.items, *answer["output"]))


def _items(given: Any) -> Items:
    return tuple(given) if isinstance(given, list) else ({"role": "user", "content": given},)
