"""Model text made harmless for a terminal: control characters are shown, never obeyed."""

ALLOWED = "\n\t"
BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def _visible(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


_SHOWN = {code: _visible(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in ALLOWED}
_SHOWN |= {ord(character): "\ufffd" for character in BIDI_CONTROLS}
_SHOWN[ord("\r")] = ""


def plain(text: str) -> str:
    """Escape sequences, C0 and C1 controls and text-direction overrides become visible signs; newline and tab stay."""
    return text if text.isprintable() else text.translate(_SHOWN)


def one_line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"
