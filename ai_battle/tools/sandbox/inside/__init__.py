"""The inner half of the sandbox: a supervisor process that confines one program and watches it.

A bare interpreter runs it without the rest of the package, often inside a namespace, so nothing here may import from
outside this folder except the standard library, and little of that: each program pays for each millisecond.
For the same reason its modules are not looked up there; they arrive compiled, together with the orders.
"""
