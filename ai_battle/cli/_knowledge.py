"""What is known of one model: capabilities, window and price, each with its source."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ai_battle.providers._capabilities import NAMES, ModelCapabilities
from ai_battle.providers._listing import capabilities
from ai_battle.providers._names import ModelName, parse
from ai_battle.providers._prices import FREE, Price, price

Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Knowledge:
    name: ModelName
    capabilities: ModelCapabilities
    price: Price | None

    @property
    def title(self) -> str:
        options = "".join(f", {key}: {value}" for key, value in self.name.options.items())
        return f"{self.name}{options}"

    @property
    def rows(self) -> Iterable[Row]:
        for name in NAMES:
            known = self.capabilities.known.get(name)
            yield (name, _told(known.value), known.source) if known else (name, "unknown", "")
        yield self._price_row()

    @property
    def notes(self) -> Iterable[str]:
        refused = ", ".join(sorted(self.capabilities.refused))
        return filter(None, (self.name.note, self.capabilities.note, refused and f"It refused lately: {refused}."))

    def to_json(self) -> dict[str, Any]:
        known = {name: {"value": k.value, "source": k.source} for name, k in self.capabilities.known.items()}
        cost = {"input": self.price.input, "output": self.price.output} if self.price else None
        return {
            "model": str(self.name),
            "options": dict(self.name.options),
            "capabilities": known,
            "price_per_million_tokens": cost,
            "notes": list(self.notes),
        }

    def _price_row(self) -> Row:
        if self.price is None:
            return "price", "unknown", "say it in the file's prices: section"
        if self.price == FREE:
            return "price", "free", "it runs on your machine"
        return "price", f"${self.price.input:g} in, ${self.price.output:g} out", "per million tokens, genai-prices"


async def knowledge(spelled: str) -> Knowledge:
    name = parse(spelled)
    return Knowledge(name, await capabilities(name), price(name))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
