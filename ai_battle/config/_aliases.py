"""The model of a pair is `primary` in every kind of file; `model` means the same."""

from ._nodes import Node


def renamed(node: Node, old: str, new: str) -> Node:
    """The mapping with one key under its other name, where that is free; its place stays."""
    if not isinstance(node.value, dict) or old not in node.value or new in node.value:
        return node
    return node.without(old).with_child(new, node.value[old], node.keys[old])


def renamed_below(tree: Node, path: tuple[str, ...], old: str, new: str) -> Node:
    """The same for each entry of the list or mapping at `path`."""
    if not path:
        return _each(tree, old, new)
    child = tree.child(path[0])
    return tree.with_child(path[0], renamed_below(child, path[1:], old, new)) if child else tree


def _each(entries: Node, old: str, new: str) -> Node:
    match entries.value:
        case dict():
            children = {key: renamed(child, old, new) for key, child in entries.value.items()}
            return Node(children, entries.place, entries.keys)
        case list():
            return Node([renamed(child, old, new) for child in entries.value], entries.place)
    return entries
