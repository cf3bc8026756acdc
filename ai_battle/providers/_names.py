"""Parses model types: a provider, its model, and options that are part of the name."""

import importlib.util
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..core import plugins
from ..core.errors import ConfigError
from ._endpoints import packaged_providers, provider_traits

CATALOGUE_DATE = "2026-11-20"

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - addresses that servers bind to
ONE_LETTER = 0.93  # the similarity of two names that differ in one letter
_LEVEL = re.compile(r"-reasoning-(none|low|medium|high)$")
_STYLE = re.compile(r"-(reasoning|extended|extended-deep)$")
_STYLES = {"reasoning": "medium", "extended": "high", "extended-deep": "high"}
_VERSION = re.compile(r"-(20\d{6}|20\d\d-\d\d-\d\d|\d\d-\d\d|\d\d-20\d\d|\d{3,4}|latest|preview|exp)$")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model and its provider. `note` tells the user if `spelled` was read as another name."""

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


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models whose names belong to one vendor, from `catalogue/VENDOR.toml`.

    `vendors` maps each name to its provider, `retired` each retired name to its successor, and `families` beginnings
    of names to a provider. `output_limits` maps patterns of `provider/model` to the longest answer in tokens.
    """

    names: dict[str, tuple[str, ...]]
    vendors: dict[str, str]
    short: dict[str, str]
    retired: dict[str, str]
    families: dict[str, str]
    output_limits: dict[str, int]


@cache
def catalogue() -> Catalogue:
    """Returns the catalogue of the vendors' models as of `CATALOGUE_DATE`."""
    known = Catalogue({}, {}, {}, {}, {}, {})
    for file in sorted((Path(__file__).parent / "catalogue").glob("*.toml")):
        vendor, table = file.stem, tomllib.loads(file.read_text(encoding="utf-8"))
        known.names[vendor] = tuple(table["names"])
        known.vendors.update(dict.fromkeys(table["names"], vendor))
        known.short.update(table["short"])
        known.families.update(dict.fromkeys(table["families"], vendor))
        known.output_limits.update(table["output_limits"])
        for successor, replaced in table["retired"].items():
            known.retired.update(dict.fromkeys(replaced, successor))
    return known


def parse(spelled: str, custom: Collection[str] = ()) -> ModelName:
    """Parses a model type; `custom` are the file's own providers. Raises `ConfigError` that suggests similar names."""
    text = spelled.strip()
    if not text:
        raise ConfigError("A model type is empty; write it as 'provider/model'.")
    is_model = text in catalogue().short or text in catalogue().vendors
    if found := _with_provider(text, custom) or _with_dash(text):
        return _model_name(*found, spelled)
    if not is_model and _is_provider(text, custom):
        return _model_name(_provider(text, custom), "", spelled)
    if text.lower().endswith(".gguf"):
        return ModelName("gguf", text, {}, spelled)
    return _match_bare_name(text, spelled, custom)


def is_local(provider: str, model: str = "", base_url: str = "") -> bool:
    """Returns whether the model runs on this machine. A local Ollama forwards models named `-cloud` to its cloud."""
    traits = provider_traits(provider)
    if traits.tags and model.endswith(("-cloud", ":cloud")):
        return False
    return is_local_url(base_url) if base_url else traits.local


def nearest_tag(name: str, tags: Iterable[str]) -> str | None:
    """Returns the Ollama tag that `name` means: `gemma3:1b` for `gemma3-1b`, `phi4:latest` for `phi4`."""
    by_name = {_plain_tag(tag): tag for tag in tags}
    return by_name.get(_plain_tag(name))


def _plain_tag(tag: str) -> str:
    return re.sub(r"[:_-]", "-", tag.lower()).removesuffix("-latest")


def _with_provider(text: str, custom: Collection[str]) -> tuple[str, str] | None:
    if not (split := re.match(r"([^/:]+)[/:](.*)", text, re.DOTALL)):
        return None
    head, model = split.groups()
    return (_provider(head, custom), model) if _is_provider(head, custom) else None


def _with_dash(text: str) -> tuple[str, str] | None:
    head, dash, model = text.partition("-")
    if not dash or head.lower() not in packaged_providers() or not provider_traits(head.lower()).dashed:
        return None
    return head.lower(), text if text.startswith("mlx-community/") else model


def _provider(head: str, custom: Collection[str]) -> str:
    return head if head in custom or head.lower() not in packaged_providers() else head.lower()


def _is_provider(head: str, custom: Collection[str]) -> bool:
    """Returns whether a name is a provider, a plug-in or the dotted name of an installed module."""
    if head in custom or head.lower() in packaged_providers():
        return True
    if "." in head:
        package, *_ = parts = head.split(".")
        is_dotted_name = all(part.isidentifier() for part in parts) and package != "__main__"
        return is_dotted_name and importlib.util.find_spec(package) is not None  # does not import it
    return plugins.is_there("ai_battle.providers", head)


def _model_name(provider: str, model: str, spelled: str) -> ModelName:
    is_built_in = provider in packaged_providers()  # reading a plug-in's traits would load it
    if not model and is_built_in and provider_traits(provider).needs_model:
        raise ConfigError(f"The model type {spelled!r} names no model; write it as '{provider}/MODEL'.")
    if provider in catalogue().names:
        return _vendor_model(provider, model, spelled)
    name, options = _without_level(model)
    if options and is_built_in and provider_traits(provider).levels:
        return ModelName(provider, name, options, spelled)
    return ModelName(provider, model, {}, spelled)


def _vendor_model(provider: str, model: str, spelled: str) -> ModelName:
    """Returns a vendor's model, replacing short and retired names; an unknown name is sent unchanged."""
    name, options = _without_suffix(model)
    current, note = _current_name(name)
    if catalogue().vendors.get(current, provider) != provider:
        return ModelName(provider, name, options, spelled)
    return ModelName(provider, current, options, spelled, note)


def _match_bare_name(text: str, spelled: str, custom: Collection[str]) -> ModelName:
    name, options = _without_suffix(text)
    current, note = _current_name(name)
    if provider := catalogue().vendors.get(current) or catalogue().vendors.get(_base_name(current)):
        return ModelName(provider, current, options, spelled, note)
    raise ConfigError(_unknown_model_message(text, custom))


def _current_name(name: str) -> tuple[str, str]:
    """Returns the name to send today, and a note if it is the successor of a retired one."""
    known, plain = catalogue(), name.lower()
    if plain in known.vendors:
        return plain, ""
    dashed = plain.replace(".", "-")
    for candidate in (plain, dashed, _base_name(plain), _base_name(dashed)):
        if candidate in known.short:
            return known.short[candidate], ""
        if successor := known.retired.get(candidate):
            return successor, f"{name!r} is retired; its successor {successor!r} is used."
        if candidate in known.vendors:
            return (dashed if dashed in known.vendors else name), ""
    return name, ""


def _base_name(name: str) -> str:
    """Returns a name without the suffixes of one release: a date, a number, "-latest", "-preview-04-17"."""
    while match := _VERSION.search(name):
        name = name[: match.start()]
        if name in catalogue().retired or name in catalogue().vendors:
            break
    return name


def _without_suffix(model: str) -> tuple[str, dict[str, Any]]:
    name, options = _without_level(model)
    if options or name.lower() in catalogue().retired or not (style := _STYLE.search(name)):
        return name, options
    return name[: style.start()], {"reasoning": _STYLES[style[1]]}


def _without_level(model: str) -> tuple[str, dict[str, Any]]:
    """Splits a level of reasoning off a name. A suffix without a level stays, as in the model `phi4-reasoning`."""
    if not (level := _LEVEL.search(model)):
        return model, {}
    return model[: level.start()], {"reasoning": level[1]}


def _unknown_model_message(text: str, custom: Collection[str]) -> str:
    head, separator, rest = text.partition("/" if "/" in text else ":")
    if "://" in text:
        return f"The model type {text!r} is an address; set providers.lab.base_url to it, and write 'lab/MODEL'."
    if separator == "/":
        near = plugins.near(head, [*packaged_providers(), *custom])
        own = "" if near.endswith("?") else f" A server of your own needs its address in providers.{head}.base_url."
        return f"There is no provider {head!r} for the model type {text!r}{near}{own}"
    if separator:
        return f"No provider is known for model {text!r}; a model of Ollama is written as 'ollama/{head}:{rest}'."
    known = catalogue()
    retired = get_close_matches(text.lower(), known.retired, n=1, cutoff=ONE_LETTER)
    near = plugins.near(text.lower(), retired or [*known.vendors, *known.short, *packaged_providers(), *custom])
    likely = known.families.get(re.split(r"[-\d]", text.lower())[0], "ollama")
    if near == ".":
        way_out = f"; name its provider, as in '{likely}/{text}'. To see what there is: ai-battle models list"
    else:
        way_out = f"{near} Or name its provider: '{likely}/{text}'."
    return f"No provider is known for model {text!r}{way_out}"


def is_local_url(base_url: str) -> bool:
    """Returns whether a URL, with or without a scheme, leads to this machine, also by a wildcard address."""
    with suppress(ValueError):
        host = urlsplit(base_url if "//" in base_url else f"//{base_url}").hostname or ""
        return host in WILDCARDS or is_loopback(host)
    return False


def is_loopback(host: str) -> bool:
    """Returns whether a host's name or address is that of this machine alone."""
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")
