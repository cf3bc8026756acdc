"""HTML in which nothing unescaped can stand: text becomes markup only through `tag`."""

from html import escape

from ..core.texts import printable


class Html(str):
    """Markup that was made here; any other text is escaped where it meets markup."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | float) -> Html:
    """An element. Attributes that are Python keywords take an underscore (`class_`), hyphens are underscores."""
    said = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"' for key, value in attributes.items())
    return Html(f"<{name}{said}>{joined(*children)}</{name}>")


def void(name: str, **attributes: str | float) -> Html:
    """An element without content or end, such as `img`."""
    return Html(tag(name, **attributes).removesuffix(f"</{name}>"))


def text(said: str) -> Html:
    return said if isinstance(said, Html) else Html(escape(printable(said)))


def joined(*children: str) -> Html:
    return Html("".join(map(text, children)))
