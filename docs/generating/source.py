"""What the source of a name says: its signature as it was written, and its docstring."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from textwrap import dedent, indent
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef
LONGEST = 100
SHOWN = ("property", "classmethod", "abstractmethod")


def syntax_tree(thing: Any) -> ast.stmt:
    return ast.parse(dedent(inspect.getsource(thing))).body[0]


def docstring(thing: Any) -> str:
    """The docstring that was written, not one that a dataclass makes."""
    node = syntax_tree(thing)
    assert isinstance(node, ast.ClassDef | Function)
    return ast.get_docstring(node) or ""


def signature(node: Function) -> str:
    """Without a body, with what decorates it; on one line where it fits."""
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {_source_text(node.returns)}" if node.returns else ""
    arguments = list(_arguments(node.args))
    line = f"{kind} {node.name}({', '.join(arguments)}){returns}"
    if len(line) > LONGEST:
        inside = ",\n".join(arguments)
        line = f"{kind} {node.name}(\n{indent(inside, '    ')},\n){returns}"
    return "\n".join((*(f"@{name}" for name in decorators(node) if name in SHOWN), line))


def outline(thing: type) -> str:
    """The head of a class, and the fields of a dataclass."""
    bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
    head = f"class {thing.__name__}({bases})" if bases else f"class {thing.__name__}"
    return "\n".join((head, *(f"    {field}" for field in _fields(thing))))


def methods(thing: type) -> Iterator[Function]:
    """The public ones that this class itself defines, and how it is made."""
    node = syntax_tree(thing)
    assert isinstance(node, ast.ClassDef)
    for entry in node.body:
        if isinstance(entry, Function) and (not entry.name.startswith("_") or entry.name == "__init__"):
            yield entry


def decorators(node: Function) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def _fields(thing: type) -> Iterator[str]:
    node = syntax_tree(thing)
    assert isinstance(node, ast.ClassDef)
    for entry in node.body:
        if is_dataclass(thing) and isinstance(entry, ast.AnnAssign) and not _is_inner(entry.value):
            default = _default(entry.value)
            yield f"{ast.unparse(entry.target)}: {_source_text(entry.annotation)}{f' = {default}' if default else ''}"


def _is_inner(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and any(k.arg == "init" for k in value.keywords)


def _default(value: ast.expr | None) -> str:
    """What the field is when it is not given: of `field(...)` only the default."""
    if not isinstance(value, ast.Call):
        return _source_text(value) if value else ""
    if ast.unparse(value.func) == "extra_fields":
        return "{}"
    if ast.unparse(value.func) != "field":
        return _source_text(value)
    said = {keyword.arg: keyword.value for keyword in value.keywords}
    if factory := said.get("default_factory"):
        made = factory.body if isinstance(factory, ast.Lambda) else None
        return _source_text(made) if made else {"dict": "{}"}.get(ast.unparse(factory), f"{ast.unparse(factory)}()")
    return _source_text(said["default"]) if "default" in said else ""


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    lacking = len(plain) - len(arguments.defaults)
    for number, argument in enumerate(plain):
        yield _argument(argument, arguments.defaults[number - lacking] if number >= lacking else None)
    if arguments.vararg:
        yield f"*{_source_text(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(argument, default)
    if arguments.kwarg:
        yield f"**{_source_text(arguments.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    if argument.annotation is None:
        return argument.arg + (f"={_source_text(default)}" if default else "")
    return f"{argument.arg}: {_type(argument.annotation)}" + (f" = {_source_text(default)}" if default else "")


def _type(node: ast.expr) -> str:
    """A type in quotes names the module that is loaded late: of no interest to a reader."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\b[a-z]\w*\.(?=[A-Z])", "", node.value)
    return _source_text(node)


def _source_text(node: ast.AST) -> str:
    """As the source has it, with its quotes."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')
