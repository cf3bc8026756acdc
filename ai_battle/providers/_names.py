"""What a model type names: a provider, its model, and the options that are spelled in the name."""

import importlib.util
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ..core import plugins
from ..core.errors import ConfigError
from ._endpoints import built_in_providers, provider_traits

KNOWN_ON = "2026-11-20"

KNOWN: dict[str, tuple[str, ...]] = {
    vendor: tuple(names.split())
    for vendor, names in {
        "anthropic": """
            claude-fable-5 claude-fable-5-1 claude-fable-5-2 claude-haiku-4-5 claude-haiku-5-5 claude-mythos-5
            claude-mythos-5-1 claude-mythos-5-2 claude-opus-4-1 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7
            claude-opus-4-8 claude-opus-5 claude-opus-5-5 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-5
            claude-sonnet-5-5
        """,
        "gemini": """
            gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-pro gemini-3-flash-preview gemini-3.1-flash-lite
            gemini-3.1-pro-preview gemini-3.5-flash gemini-3.5-flash-lite gemini-3.6-flash gemini-3.7-flash
            gemini-3.8-flash gemini-4-argon gemini-flash-latest gemini-flash-lite-latest gemini-pro-latest
            gemma-4-26b-a4b-it gemma-4-31b-it
        """,
        "openai": """
            gpt-4.1 gpt-4.1-mini gpt-4o gpt-4o-mini gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro gpt-5.1 gpt-5.2
            gpt-5.2-pro gpt-5.3-codex gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.4-pro gpt-5.5 gpt-5.5-pro
            gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-astra gpt-6-luna gpt-6-sol gpt-6.1-sol gpt-6.1-terra
            gpt-chat-latest o3 o3-pro
        """,
    }.items()
}

SHORT: dict[str, str] = {
    "chatgpt": "gpt-chat-latest",
    "claude": "claude-sonnet-5-5",
    "claude-haiku": "claude-haiku-5-5",
    "claude-opus": "claude-opus-5-5",
    "claude-sonnet": "claude-sonnet-5-5",
    "fable": "claude-fable-5-2",
    "gemini": "gemini-3.8-flash",
    "gemini-flash": "gemini-3.8-flash",
    "gemini-flash-lite": "gemini-3.5-flash-lite",
    "gemini-pro": "gemini-3.1-pro-preview",
    "gpt": "gpt-6.1-sol",
    "gpt-5.6": "gpt-5.6-sol",
    "gpt-6": "gpt-6-sol",
    "gpt-6.1": "gpt-6.1-sol",
    "haiku": "claude-haiku-5-5",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
}

# The successors are those that the vendors name; a name that ends in a date, "-latest" or a number is found without it.
RETIRED: dict[str, str] = dict(
    sorted(
        (retired, successor)
        for successor, names in {
            "gpt-chat-latest": "chatgpt-4o gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat",
            "claude-sonnet-5-5": """
            claude-2 claude-2.0 claude-2.1 claude-3 claude-3-5 claude-3-5-sonnet claude-3-7 claude-3-7-sonnet
            claude-3-sonnet claude-sonnet-4 claude-sonnet-4-0
        """,
            "claude-haiku-5-5": "claude-3-5-haiku claude-3-haiku claude-instant-1.2",
            "claude-opus-5-5": "claude-3-opus claude-opus-4 claude-opus-4-0",
            "claude-mythos-5-2": "claude-mythos-preview",
            "gpt-5.3-codex": "codex-mini gpt-5.1-codex",
            "gemini-3.1-pro-preview": """
            gemini-1.0-pro gemini-1.5-pro gemini-2-pro gemini-2.0-pro gemini-2.0-pro-exp gemini-3-pro-preview
        """,
            "gemini-3.8-flash": """
            gemini-1.5-flash gemini-2-flash gemini-2.0-flash gemini-2.0-flash-exp gemini-2.0-flash-thinking-exp
        """,
            "gemini-3.5-flash-lite": "gemini-1.5-flash-8b gemini-2-flash-lite gemini-2.0-flash-lite",
            "gemini-2.5-flash": "gemini-2.5-flash-preview",
            "gemini-2.5-pro": "gemini-2.5-pro-exp gemini-2.5-pro-preview",
            "gpt-5.6-terra": "gpt-3.5-turbo gpt-3.5-turbo-16k o1-mini o4-mini",
            "gpt-5.6-sol": """
            gpt-4 gpt-4-32k gpt-4-turbo gpt-4-turbo-preview gpt-4-vision-preview gpt-4.5-preview
            gpt-4o-2024-05-13 o1 o1-preview o1-pro o3-mini
        """,
            "gpt-5.6-luna": "gpt-4.1-nano",
        }.items()
        for retired in names.split()
    )
)

ONE_LETTER = 0.93  # how alike two names are that differ in one letter
_LEVEL = re.compile(r"-reasoning-(none|low|medium|high)$")
_STYLE = re.compile(r"-(reasoning|extended|extended-deep)$")
_STYLES = {"reasoning": "medium", "extended": "high", "extended-deep": "high"}
_VERSION = re.compile(r"-(20\d{6}|20\d\d-\d\d-\d\d|\d\d-\d\d|\d\d-20\d\d|\d{3,4}|latest|preview|exp)$")
_VENDOR = {name: provider for provider, names in KNOWN.items() for name in names}
_FAMILIES = {"claude": "anthropic", "gemini": "gemini", "gpt": "openai", "o": "openai"}


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model and who serves it; `note` is what the user should know about how `spelled` was read."""

    provider: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    spelled: str = ""
    note: str = ""

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}" if self.model else self.provider

    def of_model(self, model: str) -> "ModelName":
        """Returns the name of another model of the same provider."""
        return ModelName(self.provider, model)


def parse(spelled: str, custom: Collection[str] = ()) -> ModelName:
    """Reads a model type; `custom` are the further providers of the file. A `ConfigError` lists near names."""
    text = spelled.strip()
    if not text:
        raise ConfigError("A model type is empty; write it as 'provider/model'.")
    if found := _with_provider(text, custom) or _with_dash(text) or _provider_alone(text, custom):
        return _model_name(*found, spelled)
    if text.lower().endswith(".gguf"):
        return ModelName("gguf", text, {}, spelled)
    return _bare(text, spelled, custom)


def is_local(provider: str, model: str = "", base_url: str = "") -> bool:
    """Says whether the model runs on this machine; an Ollama here passes on what is meant for its cloud."""
    traits = provider_traits(provider)
    if traits.tags and model.endswith(("-cloud", ":cloud")):
        return False
    return is_loopback(base_url) if base_url else traits.local


def nearest_tag(name: str, tags: Iterable[str]) -> str | None:
    """The tag of an Ollama server that `name` means: `gemma3-1b` is `gemma3:1b`, `phi4` is `phi4:latest`."""
    by_name = {_plain_tag(tag): tag for tag in tags}
    return by_name.get(_plain_tag(name))


def _plain_tag(tag: str) -> str:
    return re.sub(r"[:_-]", "-", tag.lower()).removesuffix("-latest")


def _with_provider(text: str, custom: Collection[str]) -> tuple[str, str] | None:
    if not (split := re.match(r"([^/:]+)[/:](.*)", text, re.DOTALL)):
        return None
    head, model = split.groups()
    if not _is_provider(head, custom):
        return None
    return _provider(head, custom), model


def _with_dash(text: str) -> tuple[str, str] | None:
    head, dash, model = text.partition("-")
    if not dash or head.lower() not in built_in_providers() or not provider_traits(head.lower()).dashed:
        return None
    return head.lower(), text if text.startswith("mlx-community/") else model


def _provider_alone(text: str, custom: Collection[str]) -> tuple[str, str] | None:
    is_model = text in SHORT or text in _VENDOR
    return (_provider(text, custom), "") if not is_model and _is_provider(text, custom) else None


def _provider(head: str, custom: Collection[str]) -> str:
    return head if head in custom or head.lower() not in built_in_providers() else head.lower()


def _is_provider(head: str, custom: Collection[str]) -> bool:
    """Says whether a name is a provider's, a plug-in's, or the dotted name of a module that is installed."""
    if head in custom or head.lower() in built_in_providers():
        return True
    if "." in head:
        parts = head.split(".")
        return all(part.isidentifier() for part in parts) and _is_installed(parts[0])
    return plugins.is_there("ai_battle.providers", head)


def _is_installed(module: str) -> bool:
    """Says whether a module is installed, without importing it."""
    return module != "__main__" and importlib.util.find_spec(module) is not None


def _model_name(provider: str, model: str, spelled: str) -> ModelName:
    is_built_in = provider in built_in_providers()  # what a plug-in states is not read here, as it would be loaded
    if not model and is_built_in and provider_traits(provider).needs_model:
        raise ConfigError(f"The model type {spelled!r} names no model; write it as '{provider}/MODEL'.")
    if provider in KNOWN:
        return _vendor_model(provider, model, spelled)
    name, options = _without_level(model)
    if options and is_built_in and provider_traits(provider).levels:
        return ModelName(provider, name, options, spelled)
    return ModelName(provider, model, {}, spelled)


def _vendor_model(provider: str, model: str, spelled: str) -> ModelName:
    """A vendor's own name: short names and retired ones are replaced, one that is not known is sent as it is."""
    name, options = _without_suffix(model)
    current, note = _current(name)
    if _VENDOR.get(current, provider) != provider:
        return ModelName(provider, name, options, spelled)
    return ModelName(provider, current, options, spelled, note)


def _bare(text: str, spelled: str, custom: Collection[str]) -> ModelName:
    name, options = _without_suffix(text)
    current, note = _current(name)
    if provider := _VENDOR.get(current) or _VENDOR.get(_base_name(current)):
        return ModelName(provider, current, options, spelled, note)
    raise ConfigError(_unknown_model_message(text, custom))


def _current(name: str) -> tuple[str, str]:
    """The name to send today, and a note when it is another than the one that was meant."""
    plain = name.lower()
    if plain in _VENDOR:
        return plain, ""
    dashed = plain.replace(".", "-") if plain.startswith("claude-") else plain
    for candidate in (plain, dashed, _base_name(plain), _base_name(dashed)):
        if candidate in SHORT:
            return SHORT[candidate], ""
        if successor := RETIRED.get(candidate):
            return successor, f"{name!r} is retired; its successor {successor!r} is used."
        if candidate in _VENDOR:
            return (dashed if dashed in _VENDOR else name), ""
    return name, ""


def _base_name(name: str) -> str:
    """Returns a name without what marks one release: a date, a number, "-latest", "-preview-04-17"."""
    while match := _VERSION.search(name):
        name = name[: match.start()]
        if name in RETIRED or name in _VENDOR:
            break
    return name


def _without_suffix(model: str) -> tuple[str, dict[str, Any]]:
    name, options = _without_level(model)
    if options or name.lower() in RETIRED or not (style := _STYLE.search(name)):
        return name, options
    return name[: style.start()], {"reasoning": _STYLES[style[1]]}


def _without_level(model: str) -> tuple[str, dict[str, Any]]:
    """Splits a level off a name; a suffix without a level stays, as `phi4-reasoning` is a model's own name."""
    if not (level := _LEVEL.search(model)):
        return model, {}
    return model[: level.start()], {"reasoning": level[1]}


def _unknown_model_message(text: str, custom: Collection[str]) -> str:
    head, separator, rest = text.partition("/" if "/" in text else ":")
    if separator == "/":
        near = plugins.near(head, [*built_in_providers(), *custom])
        return f"There is no provider {head!r} for the model type {text!r}{near}"
    if separator:
        return f"No provider is known for model {text!r}; a model of Ollama is written as 'ollama/{head}:{rest}'."
    retired = get_close_matches(text.lower(), RETIRED, n=1, cutoff=ONE_LETTER)
    near = plugins.near(text.lower(), retired or [*_VENDOR, *SHORT, *built_in_providers(), *custom])
    likely = _FAMILIES.get(re.split(r"[-\d]", text.lower())[0], "ollama")
    if near == ".":
        way_out = f"; name its provider, as in '{likely}/{text}'. To see what there is: ai-battle models list"
    else:
        way_out = f"{near} Or name its provider: '{likely}/{text}'."
    return f"No provider is known for model {text!r}{way_out}"


def is_loopback(base_url: str) -> bool:
    """Says whether a server at this address, with or without a scheme, is on this machine."""
    host = ""
    try:
        host = urlsplit(base_url if "//" in base_url else f"//{base_url}").hostname or ""
        return ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
