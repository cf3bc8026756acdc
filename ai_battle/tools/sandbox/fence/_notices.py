"""Calls that wait for the supervisor: it does them for the program, refuses them, or lets the kernel go on."""

import _socket
import errno
import fcntl
import os
import struct
import sys

from . import _favours
from .orders import Orders

_RECEIVE, _SEND, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_CONTINUE, _CLOSE_ON_EXEC = 1, os.O_CLOEXEC
_NOTICE = struct.Struct("QIIiIQ6Q")
_ANSWER = struct.Struct("QqiI")
_ADDED = struct.Struct("QIIII")


def received(post: _socket.socket) -> int:
    """The descriptor that the child has sent before it became the program."""
    _, control, _, _ = post.recvmsg(1, _socket.CMSG_SPACE(4))
    return int.from_bytes(control[0][2][:4], sys.byteorder)


def answer_one(listener: int, orders: Orders) -> bool:
    """False when nobody is left who could call."""
    notice = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, notice)
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.EINTR)  # who called was killed before
    call, pid, _, number, _, _, *arguments = _NOTICE.unpack(notice)
    try:
        favour = _favours.done(_favours.Call(pid, number, arguments), orders)
        _reply(listener, call, favour)
    except OSError as error:
        _send(listener, _ANSWER.pack(call, 0, -(error.errno or errno.EPERM), 0))
    except (OverflowError, ValueError, struct.error):  # an address, a length or a time that can't be
        _send(listener, _ANSWER.pack(call, 0, -errno.EFAULT, 0))
    return True


def _reply(listener: int, call: int, favour: "_favours.Favour") -> None:
    if favour.go_on:
        _send(listener, _ANSWER.pack(call, 0, 0, _CONTINUE))
    elif favour.descriptor < 0:
        _send(listener, _ANSWER.pack(call, favour.value, 0, 0))
    else:
        added = _ADDED.pack(call, 0, favour.descriptor, 0, _CLOSE_ON_EXEC if favour.close_on_exec else 0)
        try:
            value = fcntl.ioctl(listener, _ADD_DESCRIPTOR, bytearray(added))
        finally:
            os.close(favour.descriptor)
        _send(listener, _ANSWER.pack(call, value, 0, 0))


def _send(listener: int, answer: bytes) -> None:
    try:
        fcntl.ioctl(listener, _SEND, bytearray(answer))
    except OSError as error:
        if error.errno != errno.ENOENT:  # killed in the meantime
            raise
