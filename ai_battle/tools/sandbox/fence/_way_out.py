"""The door to the proxy: a port in the program's own network, that is answered on the other side of the fence."""

import _socket
import sys

PORT = 3128


def opened(gate: int) -> None:
    """Sends the listening socket out, and keeps nothing."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    channel = _socket.socket(fileno=gate)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(64)
    rights = listener.fileno().to_bytes(4, sys.byteorder)
    channel.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    for end in (channel, listener):
        end.close()
