"""Rewrites the tree before it is checked: old spellings, keys in other places, and `path=value` overrides."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..core.errors import ConfigError
from ..core.plugins import near
from .messages import expects_text
from .participants import ROLES
from .problems import KeyPath
from .tree import Node, compose_value
from .values import Section, is_null

TOP_KEYS = ("providers", "prices", "context_windows")
"""Keys next to the discussion that may also be written inside it."""
DISCUSSION_KEYS = (
    "established_facts", "durability", "journal", "local_only", "sandbox", "workspace", "allow_hosts", "judge",
    "goal_mode", "templates", "outcome", "visibility", "signals",
)  # fmt: skip
"""Keys of a discussion that may also be written next to it."""
WITHOUT_EFFECT = ("demo_generation",)
OPTION = "--set"
_YAML_TEXT = re.compile(r"""\s*|\s*(?:null|~)\s*|\s*(["']).*\1\s*|\s*[|>][^\n]{0,3}\n.*""", re.DOTALL)
"""An override of a text that is read as YAML: nothing, a quoted text, or a block."""
_INDEX = re.compile(r"\d{1,8}")


def rename_keys_below(tree: Node, path: tuple[str, ...], old: str, new: str) -> Node:
    """Renames a key in each entry of the list or mapping at `path`.

    The model of a pair may be spelt `primary` or `model` in every kind of file.
    """
    if path:
        child = tree.child(path[0])
        return tree.with_child(path[0], rename_keys_below(child, path[1:], old, new)) if child else tree
    match tree.value:
        case dict():
            return replace(tree, value={key: _rename_key(child, old, new) for key, child in tree.value.items()})
        case list():
            return replace(tree, value=[_rename_key(child, old, new) for child in tree.value])
    return tree


def _rename_key(node: Node, old: str, new: str) -> Node:
    """Renames a key unless both are there."""
    is_free = isinstance(node.value, dict) and old in node.value and new not in node.value
    return node.rename(old, new) if is_free else node


def update_spellings(tree: Node) -> tuple[Node, list[str]]:
    """Returns the tree in the schema's spelling, and notes on keys without effect."""
    notes: list[str] = []
    tree = _without_old_keys(tree, "", notes)
    discussion = tree.child("discussion")
    if discussion is None or not isinstance(discussion.value, dict):
        return tree, notes
    discussion = _without_old_keys(discussion, "discussion.", notes)
    discussion, tree = _move_keys(TOP_KEYS, discussion, tree)
    tree, discussion = _move_keys(DISCUSSION_KEYS, tree, discussion)
    discussion = rename_keys_below(discussion, ("collaboration", "pairs"), "model", "primary")
    discussion = _rename_key(discussion, "rounds", "turns")
    discussion = rename_keys_below(discussion, ("phases",), "turns", "rounds")
    models = discussion.child("models")
    if models and isinstance(models.value, dict):
        discussion, models = _with_roles(discussion, _with_types(models))
        discussion = discussion.with_child("models", _with_known_roles(models, notes))
    return tree.with_child("discussion", discussion), notes


def _without_old_keys(node: Node, prefix: str, notes: list[str]) -> Node:
    for key in filter(node.value.__contains__, WITHOUT_EFFECT):
        node = node.without(key)
        notes.append(f"{prefix}{key}: has no effect any more and can be removed")
    return node


def _move_keys(keys: tuple[str, ...], source: Node, target: Node) -> tuple[Node, Node]:
    for key in keys:
        if key in source.value and key not in target.value:
            target = target.with_child(key, source.value[key], source.keys[key])
            source = source.without(key)
    return source, target


def _with_types(models: Node) -> Node:
    """Expands participants that are only a type, so that whoever reads the stored configuration finds mappings."""
    for name, participant in models.value.items():
        if isinstance(participant.value, str):
            models = models.with_child(name, _with_key("type", participant))
    return models


def _with_key(key: str, value: Node) -> Node:
    return Node({key: value}, value.place, {key: value.place})


def _with_roles(discussion: Node, models: Node) -> tuple[Node, Node]:
    """Moves `model1_role: human` next to the models to the role of `model1`."""
    for name, participant in models.value.items():
        key = f"{name}_role"
        if key in discussion.value and isinstance(participant.value, dict) and "role" not in participant.value:
            with_role = participant.with_child("role", discussion.value[key], discussion.keys[key])
            discussion, models = discussion.without(key), models.with_child(name, with_role)
    return discussion, models


def _with_known_roles(models: Node, notes: list[str]) -> Node:
    """Replaces unknown roles by assistant. A misspelt known role is left for the schema to report."""
    for name, participant in models.value.items():
        role = participant.child("role")
        if not role or not isinstance(role.value, str) or not role.value.strip() or "${" in role.value:
            continue
        known = role.value.strip().lower()
        if known not in ROLES and not near(known, list(ROLES)).startswith("; did"):
            known = "assistant"
            notes.append(f"discussion.models.{name}.role: {role.value!r} has no rules of its own; taken as assistant")
        models = models.with_child(name, participant.with_child("role", Node(known, role.place)))
    return models


def apply_overrides(tree: Node, overrides: Sequence[str], schema: type[Section]) -> Node:
    """Applies the `path=value` overrides of the command line.

    Paths start with a top-level key of `schema`, or in the discussion. Unknown keys are reported when the tree
    is checked.
    """
    for override in overrides:
        path, equals, text = override.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"{OPTION} {override}: must be path=value, for example discussion.turns=5")
        label = f"{OPTION} {path.strip()}"
        steps = path.strip().replace("[", ".").replace("]", "").split(".")
        if steps[0] not in schema.model_fields and steps[0] not in tree.value:
            steps = ["discussion", *steps]
        tree = _with_value(_spell_out(tree, steps), steps, partial(_value_at, schema, text, label), label)
    return tree


def _spell_out(tree: Node, steps: list[str]) -> Node:
    """Expands a list of tools, and participants that are only a type, if an override sets a key next to them."""
    section = tree.at(tuple(steps[:2])) if len(steps) > 2 else None
    match steps[:2], section:
        case ["discussion", "tools"], Node(value=list()) if not steps[2].isdecimal():
            section = _with_key("registry", section)
        case ["discussion", "models"], Node(value=dict()) if len(steps) > 3:
            section = _with_types(section)
        case _:
            return tree
    return tree.with_child("discussion", tree.value["discussion"].with_child(steps[1], section))


def with_default(tree: Node, path: KeyPath, value: Node) -> Node:
    """Sets `value` at `path` unless something is written there, or a part of the way is no mapping."""
    step, *rest = path
    child = tree.child(step) or Node(None)
    if is_null(child.value):
        child = Node({}, value.place)
    elif not rest or not isinstance(child.value, dict):
        return tree
    return tree.with_child(step, with_default(child, tuple(rest), value) if rest else value, value.place)


def append_to(tree: Node, path: KeyPath, value: Node) -> Node:
    """Appends an entry to the list at `path`, creating it if necessary."""
    if not path:
        return tree.with_child(len(tree.value), value)
    step, *rest = path
    child = tree.child(step) or Node({} if rest else [])
    return tree.with_child(step, append_to(child, tuple(rest), value))


def _value_at(schema: type[Section], text: str, label: str, path: KeyPath) -> Node:
    """Returns the value of an override: YAML, but where only text may stand, what is not quoted is meant literally."""
    is_yaml = _YAML_TEXT.fullmatch(text) or not expects_text(schema, path)
    return compose_value(text, label) if is_yaml else Node(text, label)


def _with_value(
    node: Node, steps: list[str], value_at: Callable[[KeyPath], Node], label: str, path: KeyPath = ()
) -> Node:
    if not steps:
        return value_at(path)
    if isinstance(node.value, list):
        index = int(steps[0]) if _INDEX.fullmatch(steps[0]) else -1
        child = node.child(index)
        if child is None:
            last = len(node.value) - 1
            raise ConfigError(f"{label}: {steps[0]!r} is not one of the list's entries, 0 to {last}")
        return node.with_child(index, _with_value(child, steps[1:], value_at, label, (*path, index)))
    if not isinstance(node.value, dict):
        raise ConfigError(f"{label}: {steps[0]!r} is asked of something that has no keys")
    # Keys may contain dots (`prices.gpt-4.1.input`), so the longest existing key wins.
    lengths = (length for length in range(len(steps), 0, -1) if ".".join(steps[:length]) in node.value)
    length = next(lengths, 1)
    key = ".".join(steps[:length])
    child = node.child(key) or Node({}, label)
    return node.with_child(key, _with_value(child, steps[length:], value_at, label, (*path, key)), label)
