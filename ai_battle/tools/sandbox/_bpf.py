"""Classic BPF as seccomp runs it: rules on a call's number and arguments, compiled to instructions."""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ALLOW, ERRNO, KILL, NOTIFY = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

Instruction = tuple[int, int, int, int]


class Condition(NamedTuple):
    """On the low half of one argument: `(argument & mask) == value`, or not so."""

    argument: int
    mask: int
    value: int
    holds: bool = True


class Rule(NamedTuple):
    """What happens to a call when all conditions hold."""

    number: int
    action: int
    conditions: tuple[Condition, ...] = ()


def has_bits(argument: int, mask: int) -> Condition:
    return Condition(argument, mask, 0, holds=False)


def is_not(argument: int, value: int) -> Condition:
    return Condition(argument, 0xFFFFFFFF, value, holds=False)


def is_(argument: int, value: int, mask: int = 0xFFFFFFFF) -> Condition:
    return Condition(argument, mask, value)


def compile_rules(architecture: int, rules: Iterable[Rule], highest: int) -> bytes:
    """The first rule that fits decides, and what no rule names is allowed.

    Calls of another architecture (32-bit on a 64-bit kernel) kill; numbers from `highest` on are unknown ones.
    """
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, highest),
        (_RETURN, 0, 0, ERRNO | 38),
    ]
    for rule in rules:
        program += _compiled(rule)
    program.append((_RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _compiled(rule: Rule) -> Sequence[Instruction]:
    if not rule.conditions:
        return [(_EQUAL, 0, 1, rule.number), (_RETURN, 0, 0, rule.action)]
    body: list[Instruction] = [(_RETURN, 0, 0, rule.action)]
    for condition in reversed(rule.conditions):
        body[:0] = _tested(condition, len(body))
    return [(_EQUAL, 0, len(body), rule.number), *body, (_LOAD, 0, 0, _NUMBER)]


def _tested(condition: Condition, beyond: int) -> list[Instruction]:
    """Goes on when the condition holds, else jumps over the `beyond` instructions that follow."""
    on_equal, otherwise = (0, beyond) if condition.holds else (beyond, 0)
    return [
        (_LOAD, 0, 0, _ARGUMENTS + 8 * condition.argument),
        (_AND, 0, 0, condition.mask),
        (_EQUAL, on_equal, otherwise, condition.value),
    ]
