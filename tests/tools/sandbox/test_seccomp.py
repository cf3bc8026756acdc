"""The filter of system calls decides alike on both processors, as an interpreter of it shows."""

import errno
import struct

import pytest

from ai_battle.tools.sandbox import SyscallFilter, syscall_number

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
REFUSED, NO_EFFECT = ERRNO | errno.EPERM, ERRNO


def decide(program: bytes, architecture: int, call: int, *arguments: int) -> int:
    """Returns what the kernel would make of a call."""
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


# Name, arguments and what the filter says, in a namespace and beside others.
SAME_FOR_ALL: tuple[tuple[str, tuple[int, ...], int], ...] = (
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
    ("setpriority", (0, 0), ALLOW),
    ("setpriority", (2, 0), REFUSED),
    ("ioprio_set", (3, 0), REFUSED),
    ("fchmod", (3, 0o4755), REFUSED),
    ("fchmodat", (3, 0, 0o2755), REFUSED),
    ("setxattr", (), ERRNO | errno.EOPNOTSUPP),
    ("openat", (-100, 0, 0o2, 0o4755), ALLOW),
    ("openat", (-100, 0, 0o102, 0o644), ALLOW),
    ("openat", (-100, 0, 0o102, 0o4755), REFUSED),
    ("mknodat", (-100, 0, 0o010644), ALLOW),
    ("mknodat", (-100, 0, 0o020644), REFUSED),
    ("mknodat", (-100, 0, 0o060644), REFUSED),
)
OTHERWISE_BESIDE: tuple[tuple[str, tuple[int, ...], int, int], ...] = (
    ("connect", (), ALLOW, ERRNO | errno.EACCES),
    ("bind", (), ALLOW, ERRNO | errno.EACCES),
    ("inotify_add_watch", (), ALLOW, ERRNO | errno.EACCES),
    ("fchmod", (3, 0o755), ALLOW, NO_EFFECT),
    ("fchmodat", (-100, 0, 0o755), ALLOW, NO_EFFECT),
    ("fchownat", (-100, 0, 1, 1), ALLOW, NO_EFFECT),
    ("utimensat", (), ALLOW, NO_EFFECT),
    ("prlimit64", (1,), REFUSED, REFUSED),
    ("prlimit64", (17,), ALLOW, REFUSED),
    ("sched_setscheduler", (1, 5), REFUSED, REFUSED),
    ("sched_setscheduler", (2, 5), ALLOW, REFUSED),
    ("setpriority", (0, 1), REFUSED, REFUSED),
    ("setpriority", (1, 1), REFUSED, REFUSED),
    ("setpriority", (0, 2), ALLOW, REFUSED),
    ("socketpair", (1, 2), ALLOW, REFUSED),
    ("socket", (1, 2), ALLOW, REFUSED),
    ("socket", (2, 1, 0), ALLOW, ERRNO | errno.EAFNOSUPPORT),
    ("socket", (10, 0o2000001, 6), ALLOW, ERRNO | errno.EAFNOSUPPORT),
    ("socket", (2, 2, 17), ALLOW, ERRNO | errno.EAFNOSUPPORT),
    ("getxattr", (), ALLOW, ERRNO | errno.ENODATA),
    ("listxattr", (), ALLOW, ERRNO),
    ("openat", (-100, 0, 3), ALLOW, REFUSED),
    ("openat", (-100, 0, 2), ALLOW, ALLOW),
)
ALONE = [*SAME_FOR_ALL, *((name, arguments, alone) for name, arguments, alone, _ in OTHERWISE_BESIDE)]
BESIDE = [*SAME_FOR_ALL, *((name, arguments, beside) for name, arguments, _, beside in OTHERWISE_BESIDE)]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("isolated", "rows"), [(True, ALONE), (False, BESIDE)], ids=["in a namespace", "beside others"]
)
def test_what_namespaces_keep_away_is_refused_or_without_effect_otherwise(
    isolated: bool, rows: list[tuple[str, tuple[int, ...], int]], machine: str
) -> None:
    program = SyscallFilter(machine, isolated).compile()
    found = [
        (name, arguments, decide(program, AUDIT[machine], syscall_number(name, machine) or -1, *arguments))
        for name, arguments, _ in rows
    ]
    assert found == rows


def test_calls_of_another_architecture_end_the_program() -> None:
    program = SyscallFilter("x86_64", True).compile()
    assert decide(program, 0x40000003, 1) == KILL
    assert decide(program, AUDIT["x86_64"], 0x40000000 + 41) == ERRNO | errno.ENOSYS
    assert decide(program, AUDIT["x86_64"], 0) == ALLOW


def test_a_program_stays_within_what_the_kernel_takes() -> None:
    for machine in AUDIT:
        assert len(SyscallFilter(machine, False).compile()) // 8 < 1000


def test_an_unknown_processor_has_no_filter() -> None:
    assert SyscallFilter("riscv64", True).compile() == b""


def test_devices_that_are_roots_own_keep_their_modes() -> None:
    program = SyscallFilter("x86_64", True, keeps_metadata=False).compile()
    assert decide(program, AUDIT["x86_64"], 90, 0, 0o600) == NO_EFFECT
