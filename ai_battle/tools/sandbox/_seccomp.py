"""Seccomp: the system calls that a program behind the fence has no use for, or may not make in some forms."""

import errno
from collections.abc import Iterator

from ._bpf import ALLOW, ERRNO, NOTIFY, Condition, Rule, compile_rules, has_bits, is_, is_not
from ._syscalls import number

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32, _NO_LIMIT = 0x40000000, 0xFFFFFFFF

_UNIX, _STREAM, _DATAGRAM = 1, 1, 2
_INTERNET = (2, 10)
_PROTOCOLS = {_STREAM: (0, 6), _DATAGRAM: (0, 17)}
_NEW_NAMESPACES = 0x7E020000
_SET_IDS = 0o6000
_FORMAT, _CHARACTER_DEVICE, _BLOCK_DEVICE = 0o170000, 0o020000, 0o060000
_NEITHER = 3
_CREATES = 0o100 | 0o20000000
_INJECT_INPUT, _CONSOLE, _SET_FLAGS, _SET_EXTENDED_FLAGS = 0x5412, 0x541C, 0x40086602, 0x401C5820

_NEVER = (
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
# Programs take "no such call" for an older kernel and fall back to calls whose arguments can be looked at.
_UNKNOWN = (
    "clone3", "openat2", "fchmodat2", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create",
)  # fmt: skip
# Landlock does not mediate these, so they would reach files outside where those are the user's own, and root's devices
# in a namespace. The supervisor makes them for the program where that is harmless.
_METADATA = ("chmod", "fchmod", "fchmodat", "utimensat", "chown", "lchown", "fchown", "fchownat")
# The same for sockets with a path, and for names in a /dev/shm that is everybody's.
_NAMES = ("bind", "connect", "inotify_add_watch", "link", "linkat", "unlink", "unlinkat")
_OUTDATED = ("utime", "utimes", "futimesat")
_ATTRIBUTES = (
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
    "removexattrat",
)  # fmt: skip
# Of files that can't be opened these could still be read; as nobody can set any, no file has any.
_ATTRIBUTES_OF_FILES = {
    errno.ENODATA: ("getxattr", "lgetxattr", "getxattrat"),
    0: ("listxattr", "llistxattr", "listxattrat"),
}
# Of another process, which may be the program's own; the supervisor knows. 0 means oneself.
_OF_OTHERS = {"prlimit64": 0, "sched_setaffinity": 0, "sched_setscheduler": 0, "sched_setparam": 0,
              "sched_setattr": 0, "setpriority": 1, "ioprio_set": 1}  # fmt: skip

_OF_THE_USER = {"setpriority": 2, "ioprio_set": 3}  # that is, of all that the user runs

_Named = tuple[str, int, tuple[Condition, ...]]
_REFUSE = ERRNO | errno.EPERM


def supported(machine: str) -> bool:
    return machine in _AUDIT


def program(machine: str, *, alone: bool) -> bytes:
    """BPF for the kernel. `alone` says that namespaces hide the machine's files, sockets and processes already."""
    around = () if alone else (*_beside_others(), *_special_files(machine))
    named = [*(_own_network() if alone else ()), *_always(), *around]
    rules = [
        Rule(known, action, conditions)
        for name, action, conditions in named
        if (known := number(name, machine)) is not None
    ]
    return compile_rules(_AUDIT[machine], rules, _X32 if machine == "x86_64" else _NO_LIMIT)


def _own_network() -> Iterator[_Named]:
    """TCP and UDP, which lead no further than the program's own loopback; other protocols would load kernel modules."""
    for family in _INTERNET:
        for kind, protocols in _PROTOCOLS.items():
            for protocol in protocols:
                yield "socket", ALLOW, (is_(0, family), is_(1, kind, 0xF), is_(2, protocol))


def _always() -> Iterator[_Named]:
    yield from ((name, _REFUSE, ()) for name in _NEVER)
    yield from ((name, ERRNO | errno.ENOSYS, ()) for name in _UNKNOWN)
    yield "clone", _REFUSE, (has_bits(0, _NEW_NAMESPACES),)
    # Said so, programs give up; "not permitted" makes some try again and again.
    yield "socket", ERRNO | errno.EAFNOSUPPORT, (is_not(0, _UNIX),)
    yield "socketpair", _REFUSE, (is_not(0, _UNIX),)
    yield "personality", _REFUSE, (is_not(0, 0), is_not(0, 0xFFFFFFFF))
    for request in (_INJECT_INPUT, _CONSOLE, _SET_FLAGS, _SET_EXTENDED_FLAGS):
        yield "ioctl", _REFUSE, (is_(1, request),)
    yield from ((name, NOTIFY, (is_not(argument, 0),)) for name, argument in _OF_OTHERS.items())
    yield from ((name, _REFUSE, (is_(0, kind),)) for name, kind in _OF_THE_USER.items())
    yield from _privileged_files()
    yield from ((name, NOTIFY, ()) for name in _METADATA)
    yield from ((name, _REFUSE, ()) for name in _OUTDATED)
    yield from ((name, ERRNO | errno.EOPNOTSUPP, ()) for name in _ATTRIBUTES)


def _privileged_files() -> Iterator[_Named]:
    """Set-uid and set-gid files would outlive the fence, and so would devices."""
    for name, mode in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("creat", 1), ("mknod", 1), ("mknodat", 2)):
        yield name, _REFUSE, (has_bits(mode, _SET_IDS),)
    for name, flags, mode in (("open", 1, 2), ("openat", 2, 3)):
        yield name, _REFUSE, (has_bits(flags, _CREATES), has_bits(mode, _SET_IDS))
    for name, mode in (("mknod", 1), ("mknodat", 2)):
        for device in (_CHARACTER_DEVICE, _BLOCK_DEVICE):
            yield name, _REFUSE, (is_(mode, device, _FORMAT),)


def _beside_others() -> Iterator[_Named]:
    """What namespaces would have kept away: the user's other files, sockets and processes."""
    yield from ((name, NOTIFY, ()) for name in _NAMES)
    # A datagram socket could send to any path, and the address stands where a filter can't look.
    for name in ("socket", "socketpair"):
        yield name, _REFUSE, (Condition(1, 0xF, _STREAM, holds=False),)
    yield from ((name, ERRNO | answer, ()) for answer, names in _ATTRIBUTES_OF_FILES.items() for name in names)
    # A descriptor that neither reads nor writes is none of Landlock's business.
    for name, flags in (("open", 1), ("openat", 2)):
        yield name, _REFUSE, (is_(flags, _NEITHER, _NEITHER),)


def _special_files(machine: str) -> Iterator[_Named]:
    """As the C library opens semaphores, shared memory and terminals, and few others open files."""
    marks, folder = (0o400600, 0o200000) if machine == "x86_64" else (0o100600, 0o40000)
    for name, flags in (("open", 1), ("openat", 2)):
        yield name, NOTIFY, (has_bits(flags, marks), is_(flags, 0, folder))
