"""What a provider received, read from the JSON of its API alone: nothing here knows how the product writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ai_battle.testing import FakeProvider, FakeProviders

Body = Mapping[str, Any]
TYPES = {
    "openai": "gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "ollama": "ollama-gemma3-1b",
    "gemini": "gemini-2.5-pro",
}
WIRES = tuple(TYPES)


@dataclass(frozen=True)
class Said:
    """One message of a request: `role` is user or assistant, `pictures` are in base64."""

    role: str
    text: str
    pictures: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Received:
    """One request, whatever the API."""

    wire: str
    body: Body

    @property
    def system(self) -> str:
        if self.wire == "anthropic":
            return _text(self.body.get("system", ""))
        if self.wire == "gemini":
            return _text(self.body.get("systemInstruction", {}).get("parts", ""))
        return "".join(_text(m["content"]) for m in self.body["messages"] if m["role"] == "system")

    @property
    def messages(self) -> list[Said]:
        if self.wire == "gemini":
            roles = {"user": "user", "model": "assistant"}
            return [Said(roles[c["role"]], _text(c["parts"]), _pictures(c["parts"])) for c in self.body["contents"]]
        return [
            Said(
                m["role"], _text(m["content"]), _pictures(m["content"]) + tuple(m.get("images", ())), m.get("name", "")
            )
            for m in self.body["messages"]
            if m["role"] != "system"
        ]

    @property
    def options(self) -> Body:
        """The sampling parameters under their names on this wire."""
        inside: Body = self.body.get({"ollama": "options", "gemini": "generationConfig"}.get(self.wire, ""), {})
        return inside or self.body


def received_requests(fakes: FakeProviders, wire: str) -> list[Received]:
    fake: FakeProvider = getattr(fakes, wire)
    return [Received(wire, request.body) for request in fake.questions]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _pictures(content: Any) -> tuple[str, ...]:
    return () if isinstance(content, str) else tuple(data for part in content if (data := _picture(part)))


def _picture(part: Body) -> str:
    if "image_url" in part:
        return str(part["image_url"]["url"]).partition(",")[2]
    source = part.get("source") or part.get("inlineData") or part.get("inline_data") or {}
    return str(source.get("data", ""))
