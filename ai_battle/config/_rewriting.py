"""Older spellings, and keys that may stand in two places, brought to where the schema has them."""

from collections.abc import Iterator

from ..core.plugins import near
from ._aliases import renamed_below
from ._nodes import Node
from .participants import ROLES

BESIDE = ("providers", "prices", "context_windows")
"""What holds for any discussion stands beside it, but may stand in it."""
INSIDE = (
    "established_facts", "durability", "local_only", "sandbox", "workspace", "allow_hosts", "judge", "goal_mode",
    "outcome", "visibility", "signals",
)  # fmt: skip
"""What belongs to a discussion stands in it, but may stand beside it."""
WITHOUT_EFFECT = ("demo_generation",)


def rewritten(tree: Node) -> tuple[Node, list[str]]:
    """The tree as the schema has it, and notes on what has no effect."""
    notes: list[str] = []
    tree = _without_old_keys(tree, "", notes)
    discussion = tree.child("discussion")
    if discussion is None or not isinstance(discussion.value, dict):
        return tree, notes
    discussion = _without_old_keys(discussion, "discussion.", notes)
    tree, discussion = _in_place(tree, discussion)
    discussion = renamed_below(discussion, ("collaboration", "pairs"), "model", "primary")
    models = discussion.child("models")
    if models and isinstance(models.value, dict):
        discussion, models = _roles_in_place(discussion, models)
        discussion = discussion.with_child("models", _known_roles(models, notes))
    return tree.with_child("discussion", discussion), notes


def _without_old_keys(node: Node, prefix: str, notes: list[str]) -> Node:
    for key in WITHOUT_EFFECT:
        if key in node.value:
            node = node.without(key)
            notes.append(f"{prefix}{key}: has no effect any more and can be removed")
    return node


def _in_place(tree: Node, discussion: Node) -> tuple[Node, Node]:
    for key in list(_misplaced(discussion, tree, BESIDE)):
        discussion, tree = _moved(key, discussion, tree)
    for key in list(_misplaced(tree, discussion, INSIDE)):
        tree, discussion = _moved(key, tree, discussion)
    return tree, discussion


def _misplaced(source: Node, target: Node, keys: tuple[str, ...]) -> Iterator[str]:
    return (key for key in keys if key in source.value and key not in target.value)


def _moved(key: str, source: Node, target: Node) -> tuple[Node, Node]:
    return source.without(key), target.with_child(key, source.value[key], source.keys[key])


def _roles_in_place(discussion: Node, models: Node) -> tuple[Node, Node]:
    """`model1_role: human` beside the models is the role of `model1`."""
    for name, participant in models.value.items():
        key = f"{name}_role"
        if key in discussion.value and isinstance(participant.value, dict) and "role" not in participant.value:
            with_role = participant.with_child("role", discussion.value[key], discussion.keys[key])
            discussion, models = discussion.without(key), models.with_child(name, with_role)
    return discussion, models


def _known_roles(models: Node, notes: list[str]) -> Node:
    for name, participant in models.value.items():
        role = participant.child("role")
        if role and isinstance(role.value, str) and role.value.strip() and "${" not in role.value:
            known = Node(_known_role(role.value, name, notes), role.place)
            models = models.with_child(name, participant.with_child("role", known))
    return models


def _known_role(role: str, name: str, notes: list[str]) -> str:
    """Roles that nobody knows are those of an assistant; what nearly is one of ours is left to the schema."""
    known = role.strip().lower()
    if known in ROLES or near(known, list(ROLES)).startswith("; did"):
        return known
    notes.append(f"discussion.models.{name}.role: {role!r} has no rules of its own; taken as assistant")
    return "assistant"
