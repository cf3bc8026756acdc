"""What a file says of providers: whether there is such a provider, and whether it takes these options."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ..config import ConfigProblems, Loaded, Problem
from ..config.reaching import Provider
from ..core import plugins
from ..core.errors import ConfigError
from ..providers._names import PROVIDERS as BUILT_IN
from ..providers._names import parse
from .models import PROVIDERS, BuildContext, is_plugin


def problems(around: BuildContext, trusted: Collection[str] = ()) -> Iterator[Problem]:
    """Plug-ins that are installed are asked what they take; a module by its dotted name only when it is `trusted`."""
    for name, section in around.providers.items():
        yield from _problems_of(name, section, may_ask="." not in name or name in trusted)


def require_known_options(loaded: Loaded, around: BuildContext) -> None:
    """Raises `ConfigError` with the places of options that modules don't take; those of participants are imported."""
    if around.tape:
        return
    said = loaded.file.discussion.models.values()
    named = {parse(spec.type, around.providers).provider for spec in said if spec.role != "user"}
    if wrong := [*problems(around, named)]:
        raise ConfigProblems(map(loaded.location_of, wrong))


def _problems_of(name: str, section: Mapping[str, Any], *, may_ask: bool) -> Iterable[Problem]:
    if name in BUILT_IN or (section.get("base_url") and not is_plugin(name)):
        return _unknown_keys(name, section)
    if not is_plugin(name):
        hint = plugins.near(name, [*BUILT_IN])
        return [Problem(("providers", name), f"there is no such provider, and no base_url for one{hint}", key=True)]
    return _refused(name, section) if may_ask else ()


def _unknown_keys(name: str, section: Mapping[str, Any]) -> Iterator[Problem]:
    known = [*Provider.model_fields]
    for key in section:
        if key not in known:
            yield Problem(("providers", name, key), f"unknown key{plugins.near(key, known)}", key=True)


def _refused(name: str, section: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        factory = plugins.factory(PROVIDERS, name)
    except ConfigError as error:
        yield Problem(("providers", name), str(error), key=True)
        return
    for key in section:
        try:
            plugins.check_options(factory, name, {key: section[key]})
        except ConfigError as error:
            yield Problem(("providers", name, key), str(error), key=True)
