"""Older spellings, and keys that may stand in two places, brought to where the schema has them."""

from collections.abc import Iterator

from ._nodes import Node
from .discussion import Discussion
from .schema import DiscussionFile

BESIDE = ("providers", "prices", "context_windows")
WITHOUT_EFFECT = ("demo_generation",)


def rewritten(tree: Node) -> tuple[Node, list[str]]:
    """The tree as the schema has it, and notes on what was changed."""
    notes: list[str] = []
    if not isinstance(tree.value, dict):
        return tree, notes
    tree = _without_old_keys(tree, "", notes)
    discussion = tree.child("discussion")
    if discussion is None or not isinstance(discussion.value, dict):
        return tree, notes
    discussion = _without_old_keys(discussion, "discussion.", notes)
    tree, discussion = _in_place(tree, discussion)
    return tree.with_child("discussion", discussion), notes


def _without_old_keys(node: Node, prefix: str, notes: list[str]) -> Node:
    for key in WITHOUT_EFFECT:
        if key in node.value:
            node = node.without(key)
            notes.append(f"{prefix}{key}: has no effect any more and can be removed")
    return node


def _in_place(tree: Node, discussion: Node) -> tuple[Node, Node]:
    """Settings of a discussion that stand beside it go in, what stands beside every discussion goes out."""
    for key in _movable(tree, discussion):
        if key in BESIDE:
            tree, discussion = (
                tree.with_child(key, discussion.value[key], discussion.keys[key]),
                discussion.without(key),
            )
        else:
            tree, discussion = tree.without(key), discussion.with_child(key, tree.value[key], tree.keys[key])
    return tree, discussion


def _movable(tree: Node, discussion: Node) -> Iterator[str]:
    yield from (key for key in BESIDE if key in discussion.value and key not in tree.value)
    inside = Discussion.model_fields.keys() - DiscussionFile.model_fields.keys()
    yield from (key for key in tree.value if key in inside and key not in discussion.value)
