"""Renders self-contained HTML pages: every value is escaped, and a policy blocks everything from outside the page."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

from ..core.errors import ConfigError
from ..core.files import cache_directory, make_private
from ..core.messages import Text
from ..core.texts import about, one_line, printable
from . import figures, sentences

HERE = Path(__file__).parent / "templates"
_OFF = ("link", "image", "autolink", "reference", "entity", "code", "lheading", "hr", "html_block", "html_inline")
_DEEP = re.compile(r"^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){20}|^[ \t]{60}", re.MULTILINE)
"""Nesting deeper than markdown-it parses; it would drop the text."""
_MAX_NESTING = 120
_PRODUCT = re.compile(r"(?<=[0-9A-Za-z])(?<!\*\w)(?<![A-Za-z]{2})(?:\*{1,2}(?:\d[\d.]*|[A-Za-z](?![A-Za-z])))+")
"""Asterisks after an operand, each with the next operand: a number, or a name of one letter."""
_LONGEST, _LONGEST_LINE = 4_000, 96


def page(template: str, *, title: str, styles: tuple[str, ...], script: str = "", **values: Any) -> Iterator[str]:
    """Yields the page in pieces, so that its length does not matter; `styles` and `script` are template files.

    The page's policy allows only this style, this script and embedded pictures, whatever else the page contains.
    """
    style, code = Markup("").join(map(_file, styles)), _file(script) if script else Markup("")
    allowed = (
        "default-src 'none'",
        f"style-src {_digest(style)}",
        f"script-src {_digest(code)}" if code else "",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return (
        _environment()
        .get_template(template)
        .generate(values, title=title, style=style, script=code, policy="; ".join(filter(None, allowed)))
    )


def prose(text: str) -> Markup:
    """Renders a model's Markdown, without any tag, link or picture."""
    seen = printable(text)
    if _DEEP.search(seen):
        return Markup("<pre>{}</pre>").format(seen)
    return Markup(_markdown().render(seen))  # noqa: S704 - it escapes, and every rule that lets through markup is off


def prose_tree(text: str) -> list[Any]:
    """Returns the same as nested lists `[tag, children, start]`, for a page that creates its elements itself.

    `start` is the first number of a list.
    """
    seen = printable(text)
    if _DEEP.search(seen):
        return [["pre", [seen]]]
    root: list[Any] = []
    _grow_tree(root, _markdown().parse(seen))
    return root


def _grow_tree(root: list[Any], tokens: Sequence[Token]) -> None:
    open_elements = [root]
    for token in tokens:
        siblings = open_elements[-1]
        match token:
            case Token(type="inline"):
                _grow_tree(siblings, token.children or ())
            case Token(nesting=-1):
                open_elements.pop()
            case Token(hidden=True):
                open_elements.append(siblings)
            case _ if element := _element(token):
                siblings.append(element)
                open_elements += [element[1]] if token.nesting else []


def _element(token: Token) -> Any:
    if token.tag == "code":
        block = token.type != "code_inline"
        return ["pre", [token.content.rstrip()]] if block else ["code", [token.content]]
    if not token.tag:
        return token.content
    tag = "strong" if token.type == "heading_open" else token.tag
    return [tag, [], int(token.attrs["start"])] if "start" in token.attrs else [tag, []]


@cache
def _environment() -> Environment:
    """Escapes every value and removes control characters when a template inserts it."""
    made = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else printable(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_template_cache(),
    )
    made.filters |= {each.__name__: each for each in _FILTERS}
    return made


class _TemplateCache(FileSystemBytecodeCache):
    """Caches compiled templates. If nothing can be written, they are compiled each time."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            make_private(Path(self.directory))
            super().dump_bytecode(bucket)


def _template_cache() -> _TemplateCache | None:
    with suppress(ConfigError):
        return _TemplateCache(str(cache_directory() / "templates"))
    return None


def _product(state: StateInline, silent: bool) -> bool:
    """Keeps the asterisks of 2*3*4, which would vanish as emphasis, but not those of **H**yper**T**ext."""
    found = _PRODUCT.match(state.src, state.pos)
    if found and not silent:
        state.pending += found[0]
    state.pos = found.end() if found else state.pos
    return found is not None


@cache
def _markdown() -> MarkdownIt:
    """Parses everyday Markdown: line ends are breaks, headings are paragraphs, and no element has a style."""
    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "xhtmlOut": False, "maxNesting": _MAX_NESTING})
    made.enable("table").disable(list(_OFF))
    made.inline.ruler.before("emphasis", "product", _product)
    for name in ("th", "td"):
        made.add_render_rule(f"{name}_open", lambda _, tokens, at, *rest: f"<{tokens[at].tag}>")
    made.add_render_rule("heading_open", lambda *_: '<p class="heading">')
    made.add_render_rule("heading_close", lambda *_: "</p>\n")
    made.add_render_rule("fence", lambda _, tokens, at, *rest: f"<pre>{escape(tokens[at].content.rstrip())}</pre>\n")
    return made


def kind(value: object) -> str:
    """Returns the name of the value's class, by which a template chooses."""
    return type(value).__name__


def approximate(estimated: bool) -> str:
    return about(estimated=estimated)


def as_yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).rstrip()


def without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}


def excerpt(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} characters more)"


def fold_title(part: Any) -> str:
    """Returns the line under which a prompt's part is folded: a long text, such as a file, hides what was said."""
    return first_line(part.text) if isinstance(part, Text) and len(part.text) > _LONGEST else ""


def first_line(text: str) -> str:
    return one_line(text[:300], _LONGEST_LINE)


def score_kind(value: float | None) -> str:
    return "unscored" if value is None else "right" if value > 0.5 else "wrong"


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_FIGURE_FILTERS = "axis_title count count_of dollars duration effort moment percent score seconds short whole"
_SENTENCE_FILTERS = (
    "arguments attachment badges help_rows outcome_markdown phase_title phase_words rating_words sentence verdict_words"
)
_FILTERS: tuple[Callable[..., Any], ...] = (
    *(getattr(figures, name) for name in _FIGURE_FILTERS.split()),
    *(getattr(sentences, name) for name in _SENTENCE_FILTERS.split()),
    *(prose, kind, approximate, as_yaml, base64_text, excerpt, first_line, fold_title, score_kind, without),
)


@cache
def _file(name: str) -> Markup:
    return Markup((HERE / name).read_text(encoding="utf-8"))  # noqa: S704 - a file of this package


def _digest(text: str) -> str:
    return f"'sha256-{base64_text(hashlib.sha256(text.encode()).digest())}'"
