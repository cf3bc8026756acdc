"""The inner half of the sandbox: a supervisor process that confines one program and watches it.

A bare interpreter runs it without the rest of the package, often inside a namespace. So nothing here imports anything
from outside this folder except the standard library, and little of that, because each program waits for it. For the
same reason the modules are not looked up there; they arrive compiled, together with the orders.
"""
