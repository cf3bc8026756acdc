"""The code in a text, with its language."""

import re

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
_ASKED = (
    ("regex", re.compile(r"\b(?:regex|regexp|regular expression)\b", re.IGNORECASE)),
    ("sql", re.compile(r"\bSQL\b", re.IGNORECASE)),
    ("bash", re.compile(r"\b(?:bash|shell)\b", re.IGNORECASE)),
    ("javascript", re.compile(r"\b(?:JavaScript|JS)\b", re.IGNORECASE)),
    ("python", re.compile(r"\bPython\b", re.IGNORECASE)),
)
_PYTHON = re.compile(r"(?:def |class |import |from \w+ import |async def |@\w+\n)")


def code_blocks(text: str) -> list[tuple[str, str]]:
    """Language and code of each; one language has one name, and none where a block names none."""
    found = ((language.lower(), code) for language, code in _BLOCK.findall(text))
    return [(_NAMES.get(language, language), code) for language, code in found]


def code_of(text: str, prompt: str) -> list[tuple[str, str]]:
    """The blocks of a text, or the code that it is, with the language that the prompt asks for where none is named."""
    asked = next((language for language, words in _ASKED if words.search(prompt)), "")
    if blocks := code_blocks(text) if "```" in text else []:
        return [(language or asked, code.strip("\n")) for language, code in blocks]
    if inline := _INLINE.fullmatch(text):
        return [(asked, inline[2])]
    return [("python", text)] if _PYTHON.match(text) else []
