"""Finds the code of an answer and checks whether it parses in its language."""

import ast
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping

_BLOCK = re.compile(r"```[ \t]*([A-Za-z+#]{0,15})[^\n]{0,80}\n([\s\S]*?)(?:```|\Z)")
_INLINE = re.compile(r"\s*(`{1,2})([^`\n]{2,2000})\1\s*")
_NAMES = {
    **dict.fromkeys(("py", "python3"), "python"),
    **dict.fromkeys(("js", "node", "mjs"), "javascript"),
    "ts": "typescript",
    **dict.fromkeys(("sh", "shell", "zsh"), "bash"),
    **dict.fromkeys(("mysql", "postgresql", "postgres", "sqlite", "psql"), "sql"),
    **dict.fromkeys(("regexp", "re"), "regex"),
    "c#": "csharp",
}
_LANGUAGE_WORDS = (
    ("regex", re.compile(r"\b(?:regex|regexp|regular expression)\b", re.IGNORECASE)),
    ("sql", re.compile(r"\bSQL\b", re.IGNORECASE)),
    ("bash", re.compile(r"\b(?:bash|shell)\b", re.IGNORECASE)),
    ("javascript", re.compile(r"\b(?:JavaScript|JS)\b", re.IGNORECASE)),
    ("python", re.compile(r"\bPython\b", re.IGNORECASE)),
)
_PYTHON = re.compile(r"(?:def |class |import |from \w+ import |async def |@\w+\n)")


def code_blocks(text: str) -> list[tuple[str, str]]:
    """Returns the language and code of each block. Aliases share one name; an unnamed language is empty."""
    found = ((language.lower(), code) for language, code in _BLOCK.findall(text))
    return [(_NAMES.get(language, language), code) for language, code in found]


def asked_language(prompt: str) -> str:
    """Returns the language of the code that a prompt is about, or an empty string."""
    return next((language for language, words in _LANGUAGE_WORDS if words.search(prompt)), "")


def code_of(text: str, prompt: str) -> list[tuple[str, str]]:
    """Returns the code of a text. Blocks without a language get the one that the prompt asks for."""
    wanted = asked_language(prompt)
    if blocks := code_blocks(text) if "```" in text else []:
        return [(language or wanted, code.strip("\n")) for language, code in blocks]
    if inline := _INLINE.fullmatch(text):
        return [(wanted, inline[2])]
    return [("python", text)] if _PYTHON.match(text) else []


MAX_CHARACTERS = 20_000
_C_LIKE = (
    "c", "c++", "cpp", "csharp", "css", "dart", "go", "java", "javascript", "kotlin", "php", "swift", "typescript"
)  # fmt: skip
_CLOSES = {")": "(", "]": "[", "}": "{"}
_TOKEN = {
    "c": re.compile(
        r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\[\s\S])*`?"
        r"|(?<=[(,=:!&|?{};\n])\s{0,20}/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,400}/[a-z]*|[()\[\]{}]"
    ),
    "sql": re.compile(r"--[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|'(?:[^']|'')*'?|\"[^\"]*\"?|`[^`]*`?|[()]"),
    "bash": re.compile(
        r"<<-?\s?(['\"]?)(?P<end>\w+)\1[^\n]*(?:\Z|\n[\s\S]*?(?:^[ \t]*(?P=end)[ \t]*$|\Z))|(?<!\S)#[^\n]*|\\."
        r"|\"(?:[^\"\\]|\\[\s\S])*\"?|\$?'[^']*'?|\$\(\(|\(\(|[(){}]|[^\s;&|()\"'\\{}]+|[;&|\n]+",
        re.MULTILINE,
    ),
}
_QUOTES = ('"', "'", "`")
_SQL_GAP = re.compile(
    r"\b(?:where|and|or|from|by|set|on|select|having)\s+(?:where|from|order\s+by|group\s+by|limit|having|and|or)\b"
    r"|(?:\b(?:where|and|or|from|by|set|on)|[=<>])\s*(?:\Z|;|\))|,\s*(?:from|where|\))\b|\bselect\s*;",
    re.IGNORECASE,
)
_SQL_TEXT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*[\s\S]*?\*/")
_PAIRS = {"fi": "if", "done": "do", "esac": "case"}
_SEPARATES = frozenset(("then", "else", "elif", "do", "{", "!", "time", "if", "while", "until"))
# Syntax of other flavours (JavaScript, PCRE, POSIX) that `re` rejects, and a spelling of it that `re` accepts.
_FLAVOURS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"),
    (re.compile(r"\\[pP](?:\{[^{}]{1,40}\}|[A-Z])"), r"\\w"),
    (re.compile(r"\[\[:\^?\w{1,12}:\]"), r"[\\w"),
)
# Messages of `re` for errors in any flavour. Other messages, such as "look-behind requires fixed-width", are about
# Python only.
_BROKEN = (
    "unterminated",
    "missing )",
    "unbalanced",
    "nothing to repeat",
    "multiple repeat",
    "bad character range",
    "cannot refer to an open",
)


def is_readable(language: str, code: str) -> bool:
    """Checks whether code parses; true for unknown languages and for more than `MAX_CHARACTERS` characters."""
    reads = _READERS.get(language)
    return reads is None or len(code) > MAX_CHARACTERS or reads(code)


def _is_python(code: str) -> bool:
    """Checks for Python. A fragment of a file and a session count too; an ellipsis stands for omitted code."""
    # Answers often show one branch of a statement alone, which is no mistake of theirs.
    code = textwrap.dedent(_of_session(code)).strip("\n")
    if _parses(code):
        return True
    if re.match(r"\s*(?:elif|else|except|finally)\b", code):
        return True
    return "..." in code and _parses(re.sub(r",?\s*\.\.\.(?=\s*[)\]}])", "", code))


def _of_session(code: str) -> str:
    """Strips prompts, results and notebook commands from the code of a session."""
    lines = code.split("\n")
    if any(line.startswith(">>>") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>>", "..."))]
    return "\n".join(line for line in lines if not line.lstrip().startswith(("!", "%", "$ ")))


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_c_like(code: str) -> bool:
    return _is_balanced(_TOKEN["c"].findall(code))


def _is_sql(code: str) -> bool:
    return _is_balanced(_TOKEN["sql"].findall(code)) and not _SQL_GAP.search(_SQL_TEXT.sub("''", code).strip())


def _is_balanced(tokens: list[str]) -> bool:
    """Checks whether each bracket is closed and each quotation ends."""
    opened: list[str] = []
    for token in map(str.strip, tokens):
        if token in _CLOSES.values():
            opened.append(token)
        is_stray = token in _CLOSES and (not opened or opened.pop() != _CLOSES[token])
        if is_stray or not _is_whole(token):
            return False
    return not opened


def _is_bash(code: str) -> bool:
    """Checks whether all quotations end and each keyword that opens a block has the one that closes it."""
    open_words: list[str] = []
    at_command = True
    for token in (match.group() for match in _TOKEN["bash"].finditer(code)):
        if not _is_whole(token.lstrip("$"), _QUOTES[:2]) or (at_command and not _fits_command(token, open_words)):
            return False
        at_command = token in _SEPARATES or token[:1] in ";&|\n(" or (at_command and token.startswith("#"))
    return not open_words


def _fits_command(word: str, open_words: list[str]) -> bool:
    """Checks whether a closing keyword matches the last opened one. An opening keyword is added to `open_words`."""
    if word in _PAIRS.values():
        open_words.append(word)
    return word not in _PAIRS or (bool(open_words) and open_words.pop() == _PAIRS[word])


def _is_whole(token: str, quotes: tuple[str, ...] = _QUOTES) -> bool:
    """Checks whether a token that begins with a quote also ends with it."""
    return not token.startswith(quotes) or (len(token) > 1 and token[-1] == token[0])


def _is_regex(pattern: str) -> bool:
    """Checks whether a pattern compiles. Only errors common to all flavours count."""
    pattern = _bare_pattern(pattern.strip())
    for flavour, ours in _FLAVOURS:
        pattern = flavour.sub(ours, pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return not str(error).startswith(_BROKEN)
    return True


def _bare_pattern(written: str) -> str:
    """Returns the pattern between its slashes or quotes."""
    if found := re.fullmatch(r"/([\s\S]+)/[a-z]{0,6}|r?\"([^\"]+)\"|r?'([^']+)'", written):
        return str(next(filter(None, found.groups())))
    return written


_READERS: Mapping[str, Callable[[str], bool]] = {
    "python": _is_python,
    "sql": _is_sql,
    "bash": _is_bash,
    "regex": _is_regex,
    **dict.fromkeys(_C_LIKE, _is_c_like),
}
