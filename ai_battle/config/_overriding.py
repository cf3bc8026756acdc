"""`path=value` from the command line, put into the tree of a configuration."""

from collections.abc import Collection, Sequence

from ..core.errors import ConfigError
from ._compose import compose_value
from ._nodes import Node
from .problems import Path

OPTION = "--set"
TOOLS = ("discussion", "tools")


def overridden(tree: Node, overrides: Sequence[str], known: Collection[str]) -> Node:
    """The tree with each `path=value`; `known` are the keys of the file, and what is none belongs to the discussion.

    A path that names nothing known is found when the tree is checked.
    """
    for override in overrides:
        path, equals, text = override.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"{OPTION} {override}: must be path=value, for example discussion.turns=5")
        label = f"{OPTION} {path.strip()}"
        steps = path.strip().replace("[", ".").replace("]", "").split(".")
        first = () if steps[0] in known or steps[0] in tree.value else ("discussion",)
        tree = _put(_whole(tree, [*first, *steps]), [*first, *steps], compose_value(text, label), label)
    return tree


def _whole(tree: Node, steps: list[str]) -> Node:
    """The tree with a list of tools written out as their registry, where a key beside it is meant."""
    listed = tree.at(TOOLS)
    is_beside = tuple(steps[:2]) == TOOLS and len(steps) > 2 and not steps[2].isdecimal()
    if not is_beside or not listed or not isinstance(listed.value, list):
        return tree
    discussion = tree.value["discussion"]
    registry = Node({"registry": listed}, listed.place, {"registry": listed.place})
    return tree.with_child("discussion", discussion.with_child("tools", registry))


def appended(tree: Node, path: Path, value: Node) -> Node:
    """The tree with one more entry in the list at `path`, which is made where there is none."""
    if not path:
        return tree.with_child(len(tree.value), value)
    step, *rest = path
    child = tree.child(step) or Node({} if rest else [])
    return tree.with_child(step, appended(child, tuple(rest), value))


def _put(node: Node, steps: list[str], value: Node, label: str) -> Node:
    if not steps:
        return value
    if isinstance(node.value, list):
        return _put_in_list(node, steps, value, label)
    if not isinstance(node.value, dict):
        raise ConfigError(f"{label}: {steps[0]!r} is asked of something that has no keys")
    key, rest = _longest_key(node, steps)
    child = node.child(key) or Node({}, label)
    return node.with_child(key, _put(child, rest, value, label), label)


def _put_in_list(node: Node, steps: list[str], value: Node, label: str) -> Node:
    index = int(steps[0]) if steps[0].isdecimal() and len(steps[0]) < 9 else -1
    child = node.child(index)
    if child is None:
        raise ConfigError(f"{label}: {steps[0]!r} is not one of the list's entries, 0 to {len(node.value) - 1}")
    return node.with_child(index, _put(child, steps[1:], value, label))


def _longest_key(node: Node, steps: list[str]) -> tuple[str, list[str]]:
    """Keys may hold dots themselves (`prices.gpt-4.1.input`): the longest that is there wins."""
    for length in range(len(steps), 0, -1):
        if (key := ".".join(steps[:length])) in node.value:
            return key, steps[length:]
    return steps[0], steps[1:]
