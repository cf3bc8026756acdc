"""Finds the program in a prompt whose output, or the value of one of its expressions, is asked for."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import dedent
from typing import Literal

from .code import code_blocks

LONGEST, MOST_LINES, MOST_CALLS, CUTS = 8_000, 200, 20, 6
_HOLE = r"(?:\?+|_{2,}|\.{3}|\u2026|<[^<>\n]{0,20}>|\[(?:MASK|BLANK|ANSWER|RESULT|OUTPUT)\])"
_OPEN_BLOCK = re.compile(
    rf"^[ \t]{{0,8}}(?:assert\s{{1,4}}|>>>\s{{0,4}})?(\S.{{0,400}})"
    rf"(?:==|=>|->|\u2192|\u21d2|\#[^\n]{{0,30}})[ \t]{{0,8}}{_HOLE}[ \t]{{0,8}}\#?$",
    re.MULTILINE,
)
_TAGGED = re.compile(r"\[(PYTHON|CODE)\]([\s\S]*?)\[/\1\]|<(code|pre|python)>([\s\S]*?)</\3>", re.IGNORECASE)
_FENCED = re.compile(r"```[\s\S]*?(?:```|\Z)")
_LINE = re.compile(
    r"\s*$|\s+\S|(?:def|class|import|from|for|while|if|elif|else|try|except|finally|with|return|assert|async|del)\b"
    r"|[@#\])}]|[A-Za-z_][\w.]*(?:\[[^\]\n]*\])?(?:,\s?\w+)*\s?(?:[-+*/%|&^]|//|\*\*|:\s?[\w\[\], ]+)?=[^=]"
    r"|[A-Za-z_][\w.]*\("
)
_INDENTED_BLOCK = re.compile(r"(?<=\n\n)(?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n)+")
_SESSION = re.compile(r"^(?:>>>|\.\.\.) ?", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]{1,400})`")
_CALL = re.compile(r"\b[A-Za-z_][\w.]*\([^\n()]{0,200}\)|\b[A-Za-z_]\w*_\w*\b|\b[a-z]\b")
_ASKS_OUTCOME = re.compile(
    r"\b(?:outputs?|prints?|printed|returns?|returned|results?|evaluates?|values?|yields?|produces?|displays?|gives?"
    r"|gibt|ausgabe|ausgegeben|ergebnis|wert|liefert|devuelv\w*|devolv\w*|retorn\w*|imprim\w*|salida|resultado|valor|affich\w*|renv\w*"
    r"|retour\w*|sortie|r\u00e9sultat|valeur|stamp\w*|restitui\w*|risultato|valore|sa\u00edda|uitvoer|resultaat"
    r"|geeft|waarde|zwraca|zwr\u00f3ci|wypisze|wypisuje|wynik|warto\u015b\u0107|d\u00f6nd\u00fcr\w*|yazd\u0131r\w*"
    r"|\u00e7\u0131kt\w*|sonu\u00e7|de\u011fer\w*|\u0432\u0435\u0440\u043d\w*|\u0432\u044b\u0432\u0435\u0434\w*"
    r"|\u0432\u043e\u0437\u0432\u0440\u0430\w*|\u0432\u044b\u0432\u043e\u0434\w*|\u043d\u0430\u043f\u0435\u0447\w*"
    r"|\u0440\u0435\u0437\u0443\u043b\u044c\u0442\u0430\u0442\w*|\u0437\u043d\u0430\u0447\u0435\u043d\u0438\w*)\b"
    r"|\u8f93\u51fa|\u8fd4\u56de|\u7ed3\u679c|\u6253\u5370|\u51fa\u529b|\u8fd4|\u623b\u308a\u5024|\u7d50\u679c|\u8868\u793a"
    r"|\u0906\u0909\u091f\u092a\u0941\u091f|\u092a\u0930\u093f\u0923\u093e\u092e|\u0932\u094c\u091f"
    r"|\u064a\u0637\u0628\u0639|\u064a\u0639\u064a\u062f|\u0646\u0627\u062a\u062c|\u0645\u062e\u0631\u062c",
    re.IGNORECASE,
)
_ASKS_OTHERWISE = re.compile(
    r"\b(?:write|implement|fix|refactor|rewrite|optimi[sz]e|improve|translate|convert|rename|extend|complexity|bugs?"
    r"|how (?:many|often)|python ?2|types? of|which type"
    r"|docstring|tests?|errors?|exceptions?|wrong|should|instead|not what"
    r"|schreib\w*|verbesser\w*|wie (?:oft|viele)|combien|cu[a\u00e1]nt[oa]s|quant[aie]s?|ile razy"
    r"|\u0441\u043a\u043e\u043b\u044c\u043a\u043e)\b",
    re.IGNORECASE,
)
_SAYS_HOW = re.compile(r"\s*(?:answer|give|express|round|write|state|format|return|show)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.?!:;]+(?=\s|$)|\n|[\u3002\uff1f\uff01]")
_JOINS = ("(", "[", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&")
_JOINED = re.compile(r"[^\n]{0,2}?[)\]]?\s?[-+*/%<>|&=\[]")
_WORD = re.compile(r"[^\W\d_]+")
_IDENTIFIER = re.compile(r"\b[^\W\d]\w*")
_FRAME_WORDS = """\
    a after all an and answer answers any as assertion at back be below call called calling calls code complete
    compute consider determine do does each ends evaluate evaluated exactly executed executing execution explain
    expression field final following for format from function get given gets have here i if in input is it its
    itself json javascript just literal bash logged logs me method of on only or please predict program python
    question reasoning run running runs say script shell show snippet statement step state string tell that the
    then there think this to trace variable we what when which will with work would write you your console"""
_ENGLISH = frozenset(("the", "what", "which", "does", "of", "this", "will", "answer", "express", "in", "round", "to"))
_FRAME = frozenset(_FRAME_WORDS.split()) | _ENGLISH
_MAX_FRAME_WORDS = 4


@dataclass(frozen=True, slots=True)
class AskedProgram:
    """A program and the `expression` to evaluate after it has run; without one, its printed output is asked for.

    If `is_all`, the prompt asks for nothing else, so an answer with another outcome is wrong.
    """

    source: str
    expression: str = ""
    language: Literal["python", "javascript", "bash"] = "python"
    is_all: bool = True


@lru_cache(maxsize=64)
def asked_program(prompt: str) -> AskedProgram | None:
    """Returns the program whose outcome a prompt asks for, or None."""
    if len(prompt) > LONGEST or not _may_hold_code(prompt):
        return None
    blocks, prose = _blocks(prompt)
    source = "\n".join(code for language, code in blocks if language in ("python", ""))
    hole = _with_hole(source or "\n".join(_INLINE.findall(prose)))
    return _script(blocks, prose) or hole or _by_prose(source, prose)


def syntax_tree(code: str) -> ast.Module | None:
    """Returns the tree of a Python program, or None if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def spelling(expression: ast.expr) -> str | None:
    """Returns the normalised source of an expression, or None if it is nested too deeply."""
    try:
        return ast.unparse(expression)
    except RecursionError:
        return None


def _may_hold_code(prompt: str) -> bool:
    return "(" in prompt or "=" in prompt or "`" in prompt


def _asks_outcome(prose: str) -> bool:
    return bool(_ASKS_OUTCOME.search(prose)) and not _ASKS_OTHERWISE.search(prose)


def _asks_nothing_else(prose: str) -> bool:
    """Checks whether a prompt asks for the outcome only. Outside English, a few other words are accepted."""
    every = _SENTENCE.split(_CALL.sub(" ", _INLINE.sub(" ", prose)))
    asking = [each for each in every if _ASKS_OUTCOME.search(each) or _SAYS_HOW.match(each)]
    others = [set(_WORD.findall(_ASKS_OUTCOME.sub(" ", each).lower())) for each in asking]
    return all(words <= _FRAME if words & _ENGLISH else len(words) <= _MAX_FRAME_WORDS for words in others)


def _blocks(prompt: str) -> tuple[list[tuple[str, str]], str]:
    """Returns the code of a prompt with its languages, and the text around it."""
    tagged = [("", found[2] or found[4]) for found in _TAGGED.finditer(prompt)]
    prose = _TAGGED.sub("\n", prompt)
    fenced = [block for block in code_blocks(prose) if block[0] != "json"]
    prose = _FENCED.sub("\n", prose)
    if blocks := [(language, _SESSION.sub("", code).strip("\n")) for language, code in (*tagged, *fenced)]:
        return blocks, prose
    return _indented_code(prompt) or _unmarked_code(prompt)


def _indented_code(prompt: str) -> tuple[list[tuple[str, str]], str] | None:
    """Finds code that is marked only by an indentation of four spaces after a blank line."""
    for found in _INDENTED_BLOCK.finditer(prompt):
        if (
            (code := dedent(found.group()).strip("\n"))
            and not code[0].isspace()
            and syntax_tree(_SESSION.sub("", code))
        ):
            return [("", _SESSION.sub("", code))], prompt[: found.start()] + prompt[found.end() :]
    return None


def _unmarked_code(prompt: str) -> tuple[list[tuple[str, str]], str]:
    """Finds unmarked code among prose: from its first line to the last one with which it still parses."""
    lines = prompt.split("\n")
    looks = list(map(_begins_code, lines))
    if not any(looks) or len(lines) > MOST_LINES:
        return [], prompt
    start = end = looks.index(True)
    while end < len(lines) and _LINE.match(lines[end]):
        end += 1
    for cut in range(min(CUTS, end - start)):
        code = "\n".join(lines[start : end - cut]).rstrip()
        if syntax_tree(_OPEN_BLOCK.sub("", _SESSION.sub("", code))):
            return [("", _SESSION.sub("", code))], "\n".join((*lines[:start], *lines[end - cut :]))
    return [], prompt


def _begins_code(line: str) -> bool:
    return bool(line.strip()) and not line[0].isspace() and bool(_LINE.match(line))


def _script(blocks: Sequence[tuple[str, str]], prose: str) -> AskedProgram | None:
    """Returns a single program in another language, for which only the printed output can be asked."""
    languages: tuple[Literal["javascript", "bash"], ...] = ("javascript", "bash")
    named = next((name for name in languages if [name] == [language for language, _ in blocks]), None)
    if named is None or not _asks_outcome(prose):
        return None
    return AskedProgram(blocks[0][1], language=named, is_all=_asks_nothing_else(prose))


def _with_hole(source: str) -> AskedProgram | None:
    """Returns the expression whose result is left open: `assert f(1) == ??`, `f(1)  # -> ?`."""
    holes = list(_OPEN_BLOCK.finditer(source))
    if len(holes) != 1:
        return None
    program = source[: holes[0].start()] + source[holes[0].end() :]
    expression = _expression(holes[0][1])
    if expression is None or syntax_tree(program) is None:
        return None
    if expression.startswith("print("):
        return AskedProgram(f"{program}\n{expression}")
    return AskedProgram(program, expression)


def _by_prose(source: str, prose: str) -> AskedProgram | None:
    """Returns what the prose asks about: a call, a name, the last expression of the code, or its output."""
    tree = syntax_tree(source) if _asks_outcome(prose) else None
    program = _program_of(source, tree, prose) if tree else None
    # Without code the language is unclear, and `2 ^ 3` has another value in other languages.
    is_python = bool(source.strip()) or "python" in prose.casefold()
    return replace(program, is_all=is_python and _asks_nothing_else(prose)) if program else None


def _program_of(source: str, tree: ast.Module, prose: str) -> AskedProgram | None:
    defined, assigned = _names(tree)
    named = {*_named_expressions(source, prose, defined, assigned)}
    if named or not source.strip():
        only = named.pop() if len(named) == 1 else ""
        return AskedProgram(source, only) if only else None
    words = {*_IDENTIFIER.findall(_ASKS_OUTCOME.sub(" ", prose))}
    return None if words & assigned else _at_end(source, tree)  # the question may be about that variable


def _named_expressions(source: str, prose: str, defined: frozenset[str], assigned: frozenset[str]) -> Iterable[str]:
    """Returns the expressions that the prose names; without a program, the calculations in backticks."""
    inline = [written for span in _INLINE.findall(prose) if (written := _expression(span))]
    if not source.strip():
        return inline if all(map(_calculates, inline)) else ()
    spans = [span for span in inline if span in assigned or (_used_names(span) & defined and _calculates(span))]
    return (*spans, *_calls(_INLINE.sub(" ", prose), defined))


def _at_end(source: str, tree: ast.Module) -> AskedProgram | None:
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not _prints(last) and not isinstance(last.value, ast.Constant):
        before = "\n".join(source.split("\n")[: last.lineno - 1])
        expression = spelling(last.value)
        return AskedProgram(before, expression) if expression and syntax_tree(before) else None
    return AskedProgram(source) if _prints(tree) else None


def _names(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the callable names and the variables of a program."""
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = (target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets)
    assigned = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return frozenset(defined | assigned), frozenset(assigned)


def _calls(prose: str, names: frozenset[str]) -> Iterator[str]:
    """Yields the calls in the prose to functions of the program, or "" for a call inside a larger expression."""
    if not names:
        return
    opened = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})[.(]")
    for found in list(opened.finditer(prose))[:MOST_CALLS]:
        if call := _call_at(prose[found.start() : found.start() + 400]):
            is_part = prose[: found.start()].rstrip(" ")[-1:] in _JOINS
            yield "" if is_part or _JOINED.match(prose, found.start() + len(call)) else call


def _used_names(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}


def _call_at(text: str) -> str | None:
    """Returns the shortest balanced expression with a call, including attributes and indexing of its result."""
    found, at = None, 0
    for end in [place + 1 for place, letter in enumerate(text) if letter in ")]"][:MOST_CALLS]:
        if found and text[at] not in ".[(":
            break
        if (call := _expression(text[:end])) and _calculates(call):
            found, at = call, end
        if at >= len(text):
            break
    return found


def _calculates(expression: str) -> bool:
    """Checks whether an expression computes something and neither prints nor reads input."""
    nodes = list(ast.walk(ast.parse(expression)))
    names = _used_names(expression)
    worked = any(isinstance(node, ast.Call | ast.BinOp | ast.Subscript | ast.Compare) for node in nodes)
    return worked and not names & {"print", "input", "open", "exit", "quit"}


def _expression(text: str) -> str | None:
    """Returns the normalised source of a Python expression, or None for anything else."""
    tree = syntax_tree(text.strip())
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    return spelling(tree.body[0].value)


def _prints(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
