"""The seccomp filter: system calls that a sandboxed program may not make, or only in some forms."""

import errno
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Each with its number on x86_64 and on aarch64; "-" if an architecture does not have it.
_TABLE = """
acct 163 89, add_key 248 217, adjtimex 159 171, bind 49 200, bpf 321 280, chmod 90 -, chown 92 -, chroot 161 51,
clock_adjtime 305 266, clock_settime 227 112, clone 56 220, clone3 435 435, connect 42 203, creat 85 -,
delete_module 176 106, fanotify_init 300 262, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, fchown 93 55,
fchownat 260 54, file_setattr 469 469, finit_module 313 273, fremovexattr 199 16, fsconfig 431 431,
fsetxattr 190 7, fsmount 432 432, fsopen 430 430, fspick 433 433, futimesat 261 -, getxattr 191 8,
getxattrat 464 464, init_module 175 105, inotify_add_watch 254 27, io_uring_enter 426 426,
io_uring_register 427 427, io_uring_setup 425 425, ioctl 16 29, ioperm 173 -, iopl 172 -, ioprio_set 251 30,
kcmp 312 272, kexec_file_load 320 294, kexec_load 246 104, keyctl 250 219, lchown 94 -, lgetxattr 192 9,
listmount 458 458, listxattr 194 11, listxattrat 465 465, llistxattr 195 12, lookup_dcookie 212 18,
lremovexattr 198 15, lsetxattr 189 6, memfd_create 319 279, memfd_secret 447 447, migrate_pages 256 238,
mknod 133 -, mknodat 259 33, mount 165 40, mount_setattr 442 442, move_mount 429 429, move_pages 279 239,
mq_open 240 180, mq_unlink 241 181, msgctl 71 187, msgget 68 186, msgrcv 70 188, msgsnd 69 189,
name_to_handle_at 303 264, nfsservctl 180 42, open 2 -, open_by_handle_at 304 265, open_tree 428 428,
open_tree_attr 467 467, openat 257 56, openat2 437 437, perf_event_open 298 241, personality 135 92,
pidfd_getfd 438 438, pivot_root 155 41, prlimit64 302 261, process_madvise 440 440, process_vm_readv 310 270,
process_vm_writev 311 271, ptrace 101 117, quotactl 179 60, quotactl_fd 443 443, reboot 169 142,
removexattr 197 14, removexattrat 466 466, request_key 249 218, sched_setaffinity 203 122, sched_setattr 314 274,
sched_setparam 142 118, sched_setscheduler 144 119, semctl 66 191, semget 64 190, semop 65 193, semtimedop 220 192,
setdomainname 171 162, sethostname 170 161, setns 308 268, setpriority 141 140, settimeofday 164 170,
setxattr 188 5, setxattrat 463 463, shmat 30 196, shmctl 31 195, shmget 29 194, socket 41 198, socketpair 53 199,
statmount 457 457, swapoff 168 225, swapon 167 224, syslog 103 116, umount2 166 39, unshare 272 97,
userfaultfd 323 282, utime 132 -, utimensat 280 88, utimes 235 -, vhangup 153 58
"""
_NUMBERS = {
    name: tuple(int(number) if number.isdigit() else None for number in numbers)
    for name, *numbers in map(str.split, _TABLE.split(","))
}
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32, _NO_LIMIT, _ALL_BITS = 0x40000000, 0xFFFFFFFF, 0xFFFFFFFF
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_ERRNO = 0x00050000  # plus an error number; 0 means success without effect

_UNIX, _STREAM, _DATAGRAM = 1, 1, 2
_INTERNET = (2, 10)
_PROTOCOLS = {_STREAM: (0, 6), _DATAGRAM: (0, 17)}
_NEW_NAMESPACES = 0x7E020000
_SET_IDS = 0o6000
_FORMAT, _CHARACTER_DEVICE, _BLOCK_DEVICE = 0o170000, 0o020000, 0o060000
_NEITHER_READ_NOR_WRITE = 3
_CREATES = 0o100 | 0o20000000
_INJECT_INPUT, _CONSOLE, _SET_FLAGS, _SET_EXTENDED_FLAGS = 0x5412, 0x541C, 0x40086602, 0x401C5820
_SUPERVISOR = 1  # its process id in its own namespaces

_REFUSED_CALLS = (
    "acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime", "delete_module",
    "fanotify_init", "file_setattr", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module",
    "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "listmount", "lookup_dcookie",
    "memfd_secret", "migrate_pages", "mount", "mount_setattr", "move_mount", "move_pages", "mq_open",
    "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "name_to_handle_at", "nfsservctl", "open_by_handle_at",
    "open_tree", "open_tree_attr", "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise",
    "process_vm_readv", "process_vm_writev", "ptrace", "quotactl", "quotactl_fd", "reboot", "request_key",
    "semctl", "semget", "semop", "semtimedop", "setdomainname", "sethostname", "setns", "settimeofday", "shmat",
    "shmctl", "shmget", "statmount", "swapoff", "swapon", "syslog", "umount2", "unshare", "userfaultfd",
    "vhangup",
)  # fmt: skip
# ENOSYS looks like an older kernel, so programs fall back to calls whose arguments a filter can check.
_UNKNOWN = (
    "clone3", "openat2", "fchmodat2", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create",
)  # fmt: skip
_SET_ATTRIBUTES = (
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
    "removexattrat",
)  # fmt: skip
# Landlock does not control these, so they would reach the user's files outside the workspace. If they failed, archivers
# and copying programs would too; as silent no-ops they only lose modes, owners and times.
_METADATA = (
    "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "futimesat",
    "utimensat",
)  # fmt: skip
# Nor does it control sockets by path or abstract name, or watches of files elsewhere. The argument is a pointer, so a
# filter can't tell which ones are the program's own.
_NAMES = ("bind", "connect", "inotify_add_watch")
# These could be read of files that can't be opened. Since nobody can set attributes either, all files have none.
_GET_ATTRIBUTES = {
    errno.ENODATA: ("getxattr", "lgetxattr", "getxattrat"),
    0: ("listxattr", "llistxattr", "listxattrat"),
}
# The position of the argument that is a process id; with 0 a process means itself.
_PROCESS_ARGUMENTS = {
    "prlimit64": 0, "sched_setaffinity": 0, "sched_setscheduler": 0, "sched_setparam": 0, "sched_setattr": 0,
    "setpriority": 1, "ioprio_set": 1,
}  # fmt: skip
_USER_KINDS = {"setpriority": 2, "ioprio_set": 3}

_Instruction = tuple[int, int, int, int]
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


class _Condition(NamedTuple):
    """A condition on the low half of one argument: `(argument & mask) == value`, or its opposite."""

    argument: int
    value: int
    mask: int = _ALL_BITS
    holds: bool = True


class _SyscallRule(NamedTuple):
    """The action for a call if all conditions hold."""

    name: str
    action: int
    conditions: tuple[_Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class SyscallFilter:
    """The answers of the kernel to the system calls of a program, for one processor architecture.

    `isolated` says that namespaces hide the machine's files, sockets and processes, and that the supervisor is process
    1 in them. Without namespaces more calls are refused or have no effect. `keeps_metadata`: modes, owners and times of
    files may be changed inside namespaces.
    """

    machine: str
    isolated: bool
    keeps_metadata: bool = True

    @property
    def is_supported(self) -> bool:
        return self.machine in _AUDIT

    def compile(self) -> bytes:
        """Returns a classic BPF program for seccomp; empty if the processor's call numbers are unknown.

        The first matching rule decides; calls without a rule are allowed. Calls of another architecture (32-bit on a
        64-bit kernel) kill the process, as their numbers mean other calls.
        """
        if not self.is_supported:
            return b""
        program: list[_Instruction] = [
            (_LOAD, 0, 0, _ARCHITECTURE),
            (_EQUAL, 1, 0, _AUDIT[self.machine]),
            (_RETURN, 0, 0, _KILL),
            (_LOAD, 0, 0, _NUMBER),
            (_AT_LEAST, 0, 1, _X32 if self.machine == "x86_64" else _NO_LIMIT),
            (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        ]
        for rule in self._rules():
            if (number := syscall_number(rule.name, self.machine)) is not None:
                program += _instructions(number, rule)
        program.append((_RETURN, 0, 0, _ALLOW))
        return b"".join(struct.pack("HBBI", *instruction) for instruction in program)

    def _rules(self) -> Iterator[_SyscallRule]:
        yield from _privileged_files()
        if not (self.isolated and self.keeps_metadata):
            yield from (_refuse(name, error=0) for name in _METADATA)
        yield from _in_namespaces() if self.isolated else _without_namespaces()
        yield from _always()


def syscall_number(name: str, machine: str) -> int | None:
    return _NUMBERS[name][machine == "aarch64"]


def _refuse(name: str, *conditions: _Condition, error: int = errno.EPERM) -> _SyscallRule:
    return _SyscallRule(name, _ERRNO | error, conditions)


def _is(argument: int, value: int, mask: int = _ALL_BITS) -> _Condition:
    return _Condition(argument, value, mask)


def _is_not(argument: int, value: int, mask: int = _ALL_BITS) -> _Condition:
    return _Condition(argument, value, mask, holds=False)


def _has_bits(argument: int, mask: int) -> _Condition:
    return _is_not(argument, 0, mask)


def _always() -> Iterator[_SyscallRule]:
    yield from map(_refuse, _REFUSED_CALLS)
    yield from (_refuse(name, error=errno.ENOSYS) for name in _UNKNOWN)
    yield _refuse("clone", _has_bits(0, _NEW_NAMESPACES))
    # With this error programs give up; after EPERM some try again and again.
    yield _refuse("socket", _is_not(0, _UNIX), error=errno.EAFNOSUPPORT)
    yield _refuse("socketpair", _is_not(0, _UNIX))
    yield _refuse("personality", _is_not(0, 0), _is_not(0, 0xFFFFFFFF))
    for request in (_INJECT_INPUT, _CONSOLE, _SET_FLAGS, _SET_EXTENDED_FLAGS):
        yield _refuse("ioctl", _is(1, request))
    yield from (_refuse(name, _is(0, kind)) for name, kind in _USER_KINDS.items())
    yield from (_refuse(name, error=errno.EOPNOTSUPP) for name in _SET_ATTRIBUTES)


def _privileged_files() -> Iterator[_SyscallRule]:
    """Refuses set-uid and set-gid files and devices, which would outlive the sandbox."""
    for name, mode in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("creat", 1), ("mknod", 1), ("mknodat", 2)):
        yield _refuse(name, _has_bits(mode, _SET_IDS))
    for name, flags, mode in (("open", 1, 2), ("openat", 2, 3)):
        yield _refuse(name, _has_bits(flags, _CREATES), _has_bits(mode, _SET_IDS))
    for name, mode in (("mknod", 1), ("mknodat", 2)):
        for device in (_CHARACTER_DEVICE, _BLOCK_DEVICE):
            yield _refuse(name, _is(mode, device, _FORMAT))


def _in_namespaces() -> Iterator[_SyscallRule]:
    """Allows TCP and UDP, which lead only to the program's own loopback. Other protocols would load kernel modules."""
    for family in _INTERNET:
        for kind, protocols in _PROTOCOLS.items():
            for protocol in protocols:
                yield _SyscallRule("socket", _ALLOW, (_is(0, family), _is(1, kind, 0xF), _is(2, protocol)))
    yield from (_refuse(name, _is(argument, _SUPERVISOR)) for name, argument in _PROCESS_ARGUMENTS.items())


def _without_namespaces() -> Iterator[_SyscallRule]:
    """Refuses what namespaces would hide: the user's other files, sockets and processes."""
    yield from (_refuse(name, error=errno.EACCES) for name in _NAMES)
    yield from (_refuse(name, _is_not(argument, 0)) for name, argument in _PROCESS_ARGUMENTS.items())
    # A datagram socket could send to any path, and a filter can't read the address.
    for name in ("socket", "socketpair"):
        yield _refuse(name, _is(0, _UNIX), _is_not(1, _STREAM, 0xF))
    yield from (_refuse(name, error=answer) for answer, names in _GET_ATTRIBUTES.items() for name in names)
    # Landlock does not check descriptors that neither read nor write.
    for name, flags in (("open", 1), ("openat", 2)):
        yield _refuse(name, _is(flags, _NEITHER_READ_NOR_WRITE, _NEITHER_READ_NOR_WRITE))


def _instructions(number: int, rule: _SyscallRule) -> Sequence[_Instruction]:
    if not rule.conditions:
        return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, rule.action)]
    body: list[_Instruction] = [(_RETURN, 0, 0, rule.action)]
    for condition in reversed(rule.conditions):
        on_equal, otherwise = (0, len(body)) if condition.holds else (len(body), 0)
        body[:0] = [
            (_LOAD, 0, 0, _ARGUMENTS + 8 * condition.argument),
            (_AND, 0, 0, condition.mask),
            (_EQUAL, on_equal, otherwise, condition.value),
        ]
    return [(_EQUAL, 0, len(body), number), *body, (_LOAD, 0, 0, _NUMBER)]
