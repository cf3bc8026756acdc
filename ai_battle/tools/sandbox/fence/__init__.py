"""The inner half of the sandbox: a supervisor process that builds the fence around one program and watches it.

It is run by a bare interpreter without the rest of the package, often inside a namespace, so nothing here may import
from outside this folder except the standard library, and little of that: each millisecond is paid by every program.
For the same reason its modules are not looked for there; they come compiled with the orders.
"""
