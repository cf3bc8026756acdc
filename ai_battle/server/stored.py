"""Answers of the Responses API that later requests refer to, stored by key and id."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from pydantic_core import to_json

from ..core.errors import StoreError
from ..core.exchange import RawBody
from ..wire.responses import expand_references, keeps
from .errors import Denied

Item: TypeAlias = Mapping[str, Any]
Items: TypeAlias = tuple[Item, ...]


class ResponseStore(ABC):
    """The most recently used responses: up to `most` bytes of JSON, each with its conversation.

    A key finds only its own responses. All methods raise `StoreError`.
    """

    most: int

    @abstractmethod
    async def conversation(self, key: str, response: str) -> Items | None:
        """Returns the items of a conversation up to the end of a response."""

    @abstractmethod
    async def item(self, key: str, id_: str) -> Item | None: ...

    @abstractmethod
    async def add(self, key: str, response: str, items: Items) -> None:
        """Stores a response, unless it alone exceeds `most`."""

    async def values(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Returns what any worker has stored under these names: plans, signatures."""
        return {}

    async def keep_value(self, name: str, value: bytes, seconds: float) -> None:  # noqa: B027 - without other workers
        """Stores a value for `seconds`."""

    async def aclose(self) -> None:  # noqa: B027 - memory needs none
        """Releases what the store holds."""


@dataclass
class MemoryStore(ResponseStore):
    """Stores responses in this process, which keeps its other values itself."""

    most: int = 0
    _size: int = 0
    _kept: OrderedDict[tuple[str, str], tuple[Items, int]] = field(default_factory=OrderedDict, repr=False)
    _homes: dict[tuple[str, str], tuple[Item, str]] = field(default_factory=dict, repr=False)

    async def conversation(self, key: str, response: str) -> Items | None:
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
    """The earlier items that one request of a `key` refers to, and the store for its answer."""

    store: ResponseStore
    key: str
    warn: Callable[[str], object] = len
    items: Items = ()
    is_kept: bool = False

    async def expand(self, body: RawBody) -> tuple[RawBody, "Conversation"]:
        """Returns the body with its references resolved, and the conversation it continues. Raises `ConfigError`."""
        conversation, item = partial(self.store.conversation, self.key), partial(self.store.item, self.key)
        try:
            whole = await expand_references(body.fields, conversation, item)
        except StoreError as error:
            self.warn(f"An earlier answer could not be read: {error}")
            raise Denied(503, "Earlier answers can't be read at present.", retry_after=1.0) from error
        if not self.store.most:
            whole["store"] = False
        going_on = replace(self, items=_items(whole.get("input")), is_kept=keeps(whole))
        return replace(body, fields=whole, made={}), going_on

    async def store_answer(self, answer: Mapping[str, Any] | None) -> None:
        if answer and self.is_kept:
            try:
                await self.store.add(self.key, answer["id"], (*self.items, *answer["output"]))
            except StoreError as error:
                self.warn(f"An answer is not kept, so that no request can refer to it: {error}")


def _items(given: Any) -> Items:
    return tuple(given) if isinstance(given, list) else ({"role": "user", "content": given},)
