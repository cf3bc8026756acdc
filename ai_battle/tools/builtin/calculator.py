"""`calculator`: evaluates arithmetic by walking the parsed expression, never by running it."""

import ast
import math
import operator
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import ToolError
from ..base import Tool, errors_as_fields

LONGEST, DEEPEST, BITS, MOST = 2_000, 60, 10_000, 2_000
SIGNS = str.maketrans({"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-", "^": "**", "\u221a": " sqrt "})
Number = int | float


class CalculatorTool(Tool):
    name = "calculator"
    description = (
        "Evaluate an arithmetic expression exactly: + - * / // % ** (or ^), parentheses, comparisons, pi, e, tau, "
        "and functions such as sqrt, log, sin, factorial, gcd, round, min, max, sum([..]), mean([..])."
    )
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "expression": {"type": "string", "description": "The expression, such as 3 * (2 + sqrt(16))", "required": True}
    }

    @errors_as_fields
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        expression = parameters["expression"]
        return {"expression": expression, "result": evaluate(expression)}


def evaluate(expression: str) -> Any:
    """Returns the value of an expression. Raises `ToolError` if it is not arithmetic, undefined or too large."""
    if len(expression) > LONGEST:
        raise ToolError(f"The expression has {len(expression):,} characters; {LONGEST:,} are allowed.")
    try:
        tree = ast.parse(expression.translate(SIGNS).strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ToolError(f"{expression[:200]!r} is not an expression: {_reason(error)}") from error
    if isinstance(tree.body, ast.Tuple):
        raise ToolError(f"{expression[:200]!r} is more than one value; thousands are written without commas: 1000.")
    try:
        return _value(tree.body, 0)
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        raise ToolError(f"{expression[:200]!r} has no value: {error}") from error


def _reason(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error) or "it is too complicated"


def _value(node: ast.expr, depth: int) -> Any:
    if depth > DEEPEST:
        raise ToolError("The expression is nested too deeply.")
    match node:
        case ast.Constant(value=int() | float() as number):
            return _within_bounds(number)
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op, operand) if type(op) in SIGNED:
            return SIGNED[type(op)](_value(operand, depth + 1))
        case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]) if type(op) in BINARY_OPERATORS:
            return _within_bounds(BINARY_OPERATORS[type(op)](_value(left, depth + 1), _value(right, depth + 1)))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in FUNCTIONS:
            return _within_bounds(FUNCTIONS[name](*_values(given, depth + 1)))
        case ast.List(elts) | ast.Tuple(elts):
            return _values(elts, depth + 1)
    raise ToolError(f"{ast.unparse(node)[:100]!r} is not arithmetic; there are {', '.join(sorted(FUNCTIONS))}.")


def _values(nodes: list[ast.expr], depth: int) -> list[Any]:
    return [_value(node, depth) for node in nodes]


def _within_bounds(value: Any) -> Any:
    if isinstance(value, complex):
        raise ToolError("The result is not a real number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ToolError("The result is too large, or undefined.")
    if isinstance(value, int) and value.bit_length() > BITS:
        raise ToolError("The result is too large.")
    return value


def _power(base: Number, exponent: Number) -> Number:
    # Checked beforehand: computing a huge power would block the process.
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > BITS:
        raise ToolError("The result is too large.")
    made: Number = base**exponent
    return made


def _times(left: Any, right: Any) -> Number:
    """Multiplies numbers only: a list times a million would be a list of a million."""
    product: Number = _number(left) * _number(right)
    return product


def _number(value: Any) -> Number:
    if not isinstance(value, int | float):
        raise ToolError("A list has no place there; use it with sum, mean, min or max.")
    return value


def _on_integers(function: Callable[..., int]) -> Callable[..., int]:
    """Returns a function of whole numbers with a bounded argument, since its value grows fast."""

    def of_whole_numbers(*given: Number) -> int:
        if any(_number(one) % 1 for one in given) or max(map(abs, given)) > MOST:
            raise ToolError(f"{function.__name__} takes whole numbers up to {MOST:,}.")
        return function(*map(int, given))

    return of_whole_numbers


def _round(value: Number, digits: Number = 0) -> Number:
    if abs(digits) > MOST:
        raise ToolError(f"round takes up to {MOST:,} digits.")
    return round(value, int(digits)) if digits else round(value)


CONSTANTS: Mapping[str, Any] = {"pi": math.pi, "e": math.e, "tau": math.tau, "True": True, "False": False}
SIGNED: Mapping[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
BINARY_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: _number(left) + _number(right),
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: lambda left, right: _number(left) % _number(right),
    ast.Pow: _power,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in (
        "sqrt", "cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
        "cosh", "tanh", "degrees", "radians", "hypot", "floor", "ceil", "trunc", "gcd", "lcm", "isqrt",
    )},
    **{name: _on_integers(getattr(math, name)) for name in ("factorial", "comb", "perm")},
    **{name: getattr(statistics, name) for name in ("mean", "median", "stdev", "pstdev", "variance")},
    "ln": math.log, "abs": abs, "min": min, "max": max, "sum": sum, "round": _round, "pow": _power,
}  # fmt: skip
