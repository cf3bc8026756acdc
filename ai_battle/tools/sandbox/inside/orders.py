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
    listed: list[str]  # folders of which the names may be seen
    syscall_filter: bytes  # for seccomp; empty: none
    isolated: bool  # in namespaces of its own, where a count of processes counts nobody else's
    proxy_channel: int  # a descriptor by which a socket for the proxy is sent; -1: there is none
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
