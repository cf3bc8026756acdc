"""The filter of system calls decides alike on both processors, as an interpreter of it shows."""

import errno
import struct

import pytest

from ai_battle.tools.sandbox import _seccomp
from ai_battle.tools.sandbox._bpf import ALLOW, ERRNO, KILL, NOTIFY
from ai_battle.tools.sandbox._syscalls import number

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED = ERRNO | errno.EPERM


def decide(program: bytes, architecture: int, call: int, *arguments: int) -> int:
    """What the kernel would make of a call."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    facts = struct.pack("IIQ6Q", call, architecture, 0, *(value & (1 << 64) - 1 for value in padded))
    instructions = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    at = value = 0
    while True:
        code, yes, no, operand = instructions[at]
        at += 1
        match code:
            case 0x20:
                value = struct.unpack_from("I", facts, operand)[0]
            case 0x54:
                value &= operand
            case 0x15:
                at += yes if value == operand else no
            case 0x35:
                at += yes if value >= operand else no
            case 0x06:
                return int(operand)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("alone", [True, False], ids=["in a namespace", "beside others"])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("mount", (), REFUSED),
        ("ptrace", (), REFUSED),
        ("bpf", (), REFUSED),
        ("keyctl", (), REFUSED),
        ("process_vm_readv", (), REFUSED),
        ("unshare", (0,), REFUSED),
        ("io_uring_setup", (), ERRNO | errno.ENOSYS),
        ("clone3", (), ERRNO | errno.ENOSYS),
        ("clone", (0x11,), ALLOW),
        ("clone", (0x3D0F00,), ALLOW),
        ("clone", (0x10000011,), REFUSED),
        ("socket", (1, 1), ALLOW),
        ("socket", (1, 0o2000001), ALLOW),
        ("socket", (2, 3, 1), ERRNO | errno.EAFNOSUPPORT),
        ("socket", (2, 2, 1), ERRNO | errno.EAFNOSUPPORT),
        ("socket", (2, 1, 132), ERRNO | errno.EAFNOSUPPORT),
        ("socket", (10, 1, 262), ERRNO | errno.EAFNOSUPPORT),
        ("socket", (16, 3), ERRNO | errno.EAFNOSUPPORT),
        ("socket", (40, 1), ERRNO | errno.EAFNOSUPPORT),
        ("socketpair", (1, 1), ALLOW),
        ("personality", (0,), ALLOW),
        ("personality", (0xFFFFFFFF,), ALLOW),
        ("personality", (0x0040000,), REFUSED),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), REFUSED),
        ("ioctl", (0, 0x100005412), REFUSED),
        ("msgrcv", (), REFUSED),
        ("shmctl", (), REFUSED),
        ("prlimit64", (0,), ALLOW),
        ("prlimit64", (17,), NOTIFY),
        ("sched_setscheduler", (2, 5), NOTIFY),
        ("setpriority", (0, 0), ALLOW),
        ("setpriority", (0, 2), NOTIFY),
        ("setpriority", (2, 0), REFUSED),
        ("ioprio_set", (3, 0), REFUSED),
        ("fchmod", (3, 0o755), NOTIFY),
        ("fchmod", (3, 0o4755), REFUSED),
        ("fchmodat", (3, 0, 0o2755), REFUSED),
        ("utimensat", (), NOTIFY),
        ("setxattr", (), ERRNO | errno.EOPNOTSUPP),
        ("openat", (-100, 0, 0o2, 0o4755), ALLOW),
        ("openat", (-100, 0, 0o102, 0o644), ALLOW),
        ("openat", (-100, 0, 0o102, 0o4755), REFUSED),
        ("mknodat", (-100, 0, 0o010644), ALLOW),
        ("mknodat", (-100, 0, 0o020644), REFUSED),
        ("mknodat", (-100, 0, 0o060644), REFUSED),
    ],
    ids=str,
)
def test_a_call(name: str, arguments: tuple[int, ...], expected: int, machine: str, alone: bool) -> None:
    call = number(name, machine)
    assert call is not None
    assert decide(_seccomp.program(machine, alone=alone), AUDIT[machine], call, *arguments) == expected


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("name", "arguments", "alone", "beside"),
    [
        ("connect", (), ALLOW, NOTIFY),
        ("bind", (), ALLOW, NOTIFY),
        ("unlinkat", (), ALLOW, NOTIFY),
        ("inotify_add_watch", (), ALLOW, NOTIFY),
        ("socketpair", (1, 2), ALLOW, REFUSED),
        ("socket", (1, 2), ALLOW, REFUSED),
        ("socket", (2, 1, 0), ALLOW, ERRNO | errno.EAFNOSUPPORT),
        ("socket", (10, 0o2000001, 6), ALLOW, ERRNO | errno.EAFNOSUPPORT),
        ("socket", (2, 2, 17), ALLOW, ERRNO | errno.EAFNOSUPPORT),
        ("getxattr", (), ALLOW, ERRNO | errno.ENODATA),
        ("listxattr", (), ALLOW, ERRNO),
        ("openat", (-100, 0, 3), ALLOW, REFUSED),
        ("openat", (-100, 0, 2), ALLOW, ALLOW),
        ("openat", (-100, 0, 0o202), ALLOW, NOTIFY),
        ("openat", (-100, 0, 0o402), ALLOW, NOTIFY),
    ],
)
def test_what_namespaces_keep_away_is_refused_or_asked_for_without_them(
    name: str, arguments: tuple[int, ...], alone: int, beside: int, machine: str
) -> None:
    call = number(name, machine)
    assert call is not None
    for expected, isolated in ((alone, True), (beside, False)):
        assert decide(_seccomp.program(machine, alone=isolated), AUDIT[machine], call, *arguments) == expected


def test_calls_of_another_architecture_end_the_program() -> None:
    program = _seccomp.program("x86_64", alone=True)
    assert decide(program, 0x40000003, 1) == KILL
    assert decide(program, AUDIT["x86_64"], 0x40000000 + 41) == ERRNO | errno.ENOSYS
    assert decide(program, AUDIT["x86_64"], 0) == ALLOW


def test_a_program_stays_within_what_the_kernel_takes() -> None:
    for machine in AUDIT:
        assert len(_seccomp.program(machine, alone=False)) // 8 < 1000
