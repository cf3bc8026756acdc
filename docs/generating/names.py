"""The page of the Python names, from the modules that define them."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import ai_battle

from .source import Function, docstring, methods, outline, signature, syntax_tree
from .tables import codes

HEAD = """# Python names

`import ai_battle` loads no provider and costs some milliseconds; a name's module is loaded when the name is first used.
"""
BESIDE: Mapping[str, tuple[str, ...]] = {
    "ai_battle.assembly.models": ("RetryPolicy",),
    "ai_battle.config.editors": ("json_schema",),
    "ai_battle.config.loading": ("load",),
    "ai_battle.conversation.journal": ("read", "messages", "progress"),
    "ai_battle.conversation.replay": ("replay", "swap", "Difference"),
    "ai_battle.core.events": ("ignore", "drafting", "EventLog"),
    "ai_battle.core.messages": ("user", "assistant"),
}


def page() -> str:
    return "\n\n".join((HEAD, *_parts()))


def _parts() -> Iterator[str]:
    yield "## ai_battle"
    yield from _entries(ai_battle, ai_battle.__all__)
    for name, names in BESIDE.items():
        yield f"## {name}"
        yield from _entries(import_module(name), names)
    testing = import_module("ai_battle.testing")
    yield "## ai_battle.testing\n\nHow to use it: [test without a network](../how-to/test-without-a-network.md)."
    yield from _entries(testing, testing.__all__)


def _entries(module: ModuleType, names: Any) -> Iterator[str]:
    for name in names:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            yield _class(name, thing)
        elif inspect.isfunction(thing):
            yield _entry(name, _python(signature(_function(thing))), docstring(thing))
        elif inspect.ismodule(thing):
            yield _entry(name, "", inspect.getdoc(thing) or "")
        elif isinstance(thing, Mapping):
            yield _entry(name, "", f"A mapping from {len(thing)} names: {codes(thing)}.")


def _function(thing: Any) -> Function:
    node = syntax_tree(thing)
    assert isinstance(node, Function)
    return node


def _class(name: str, thing: type) -> str:
    if name != thing.__name__:
        return _entry(name, "", f"Another name of `{thing.__name__}`.")
    parts = [_python(outline(thing)), docstring(thing)]
    parts += [f"{_python(signature(method))}\n\n{_docstring(method)}".strip() for method in methods(thing)]
    return _entry(name, *parts)


def _docstring(method: Function) -> str:
    return ast.get_docstring(method) or ""


def _entry(name: str, *parts: str) -> str:
    return "\n\n".join((f"### {name}", *filter(None, parts)))


def _python(text: str) -> str:
    return f"```python\n{text}\n```"
