"""The orders for a supervisor: a program and its limits."""

PROXY_PORT = 3128  # in the program's own network


class Orders:
    """A plain class, because importing dataclasses and typing would cost each program some milliseconds."""

    argv: list[str]
    here: bool  # run the Python program argv[0] without another interpreter
    environment: dict[str, str]
    folder: str
    readable: list[str]
    writable: list[str]  # empty: Landlock is not used
    devices: list[str]
    listed: list[str]  # folders whose entries may be listed
    syscall_filter: bytes  # for seccomp; empty: none
    isolated: bool  # in its own namespaces, where a limit on processes counts only its own
    proxy_channel: int  # the descriptor to send a socket for the proxy; -1: none
    seconds: float
    memory: int
    address_space: int  # 0: unlimited
    tasks: int
    disk: int
    inodes: int
    file_size: int
    open_files: int
    output: int
    drain: int
    measured: list[str]  # folders in which the program may fill the disk

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)
