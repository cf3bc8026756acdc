"""What a supervisor is told to run, and within which limits."""


class Orders:
    """A plain class: dataclasses and typing would cost each program some milliseconds."""

    argv: list[str]
    here: bool  # run the Python program argv[0] without another interpreter
    environment: dict[str, str]
    folder: str
    readable: list[str]
    writable: list[str]
    devices: list[str]
    listed: list[str]  # folders of which the names may be seen
    profile: str  # of macOS' own sandbox; empty: none
    calls: bytes  # a seccomp filter; empty: none
    alone: bool  # in namespaces of its own, where a count of processes counts nobody else's
    shared_memory: str  # the folder that stands for /dev/shm; empty: /dev/shm is the program's own already
    gate: int  # a descriptor by which a socket for the proxy is sent; -1: there is none
    measured: list[str]  # folders in which the program may fill the disk
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

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)
