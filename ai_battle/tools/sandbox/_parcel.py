"""What a supervisor gets at its start: its own code, so that it need not look for it, and its orders."""

import marshal
import sys
from functools import lru_cache
from types import CodeType

from ._interpreters import FENCE
from .fence.orders import Orders

# Each after those that it imports.
_MODULES = ("orders", "_output", "_system", "_tree", "_watchdog", "_landlock", "_terminals", "_favours", "_notices",
            "_enter", "_way_out", "supervisor", "prelude")  # fmt: skip
_FORMAT = 4  # that every Python from 3.4 on reads
_OPEN = """
import marshal, os, sys
with os.fdopen(0, "rb", closefd=False) as stdin:
    modules, orders = marshal.loads(stdin.read(int.from_bytes(stdin.read(4), "little")))
package = sys.modules["fence"] = type(sys)("fence")
for name, code in modules:
    module = sys.modules["fence." + name] = type(sys)("fence." + name)
    module.__package__ = "fence"
    setattr(package, name, module)
    exec(code, vars(module))
package.{}.main(package.orders.Orders(**orders))
"""
_EXEC = ("-I", "-S", "-c", _OPEN.format("supervisor"))
# A Python program goes on in the interpreter of its supervisor, so that one starts like any other.
_HERE = ("-c", _OPEN.format("prelude"))


def opening(orders: Orders) -> tuple[str, ...]:
    """The arguments of the Python that is to read the parcel from its stdin."""
    return _HERE if orders.here else _EXEC


def parcel(orders: Orders, python: str) -> bytes:
    """For that interpreter: another one than this gets sources, and compiles them."""
    modules = _compiled() if python == sys.executable else _sources()
    content = marshal.dumps((modules, vars(orders)), _FORMAT)
    return len(content).to_bytes(4, "little") + content


@lru_cache
def _compiled() -> tuple[tuple[str, CodeType], ...]:
    kin = () if sys.platform == "linux" else ("_kin",)
    return tuple((name, compile(_source(name), str(FENCE / f"{name}.py"), "exec")) for name in (*kin, *_MODULES))


@lru_cache
def _sources() -> tuple[tuple[str, bytes], ...]:
    return tuple((name, _source(name)) for name in _MODULES)


def _source(name: str) -> bytes:
    return (FENCE / f"{name}.py").read_bytes()
