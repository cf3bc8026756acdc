"""The blocks of code in a text."""

import re

_BLOCK = re.compile(r"```[ \t]*([A-Za-z+#]{0,15})[^\n]{0,80}\n([\s\S]*?)(?:```|\Z)")
_NAMES = {"py": "python", "python3": "python", "js": "javascript", "node": "javascript", "sh": "bash", "shell": "bash"}


def code_blocks(text: str) -> list[tuple[str, str]]:
    """Language and code of each; one language has one name, and none where a block names none."""
    found = ((language.lower(), code) for language, code in _BLOCK.findall(text))
    return [(_NAMES.get(language, language), code) for language, code in found]
