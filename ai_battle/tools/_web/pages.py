"""What a page may cost, and what came of it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a page may cost."""

    seconds: float = 20.0
    size: int = 5 << 20
    redirects: int = 5


USUAL = Bounds()


@dataclass(frozen=True, slots=True)
class Page:
    """What an address answered; `is_cut` when there was more of it than is allowed."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes = field(repr=False)
    is_cut: bool = False
