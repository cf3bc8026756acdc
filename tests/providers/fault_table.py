"""What each client does about each fault: expected by the tests, and shown in docs/reference/faults.md.

Written anew by: python -m tests.providers.fault_table
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ai_battle.core.errors import BadReply, ContextTooLong, ProviderError, RateLimited, Unreachable
from ai_battle.testing import FAULTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "faults.md"
Again = Literal["never", "once", "twice", "three times", "without it"]
ATTEMPTS: Mapping[str, int] = {"never": 1, "once": 2, "twice": 3, "three times": 4}
Kept = Literal["text", "body"]


@dataclass(frozen=True)
class Row:
    """`again` is how often the call is made again at most, with the default of three retries.

    `error` is what the call raises when the fault stays; without one the call has an answer, which `remark` describes.
    `kept` goes into the failed attempt: the text that had come, the first 500 characters of the body. `in_one_piece`
    is `again` for servers that do not stream, where that differs.
    """

    again: Again
    error: type[ProviderError] | None = None
    kept: tuple[Kept, ...] = ()
    remark: str = ""
    in_one_piece: Again | None = None

    def attempts(self, streamed: bool) -> int:
        again = self.again if streamed else self.in_one_piece or self.again
        return ATTEMPTS[again]


_REFUSED = Row("never", ProviderError, ("body",))
_TOO_LONG = Row("never", ContextTooLong, ("body",), "the conversation may be shortened")
_PASSING = Row("three times", ProviderError, ("body",))
_LIMITED = Row("three times", RateLimited, ("body",), "not before the time that is asked for, and no other call either")
_SILENT = Row("twice", Unreachable, remark="ended by the clock for silence")
_BROKEN = Row("three times", Unreachable)
_CUT = "a cut answer is never taken for a whole one"
_NO_ANSWER = Row("once", BadReply)
_ENDLESS = Row("never", BadReply, ("body",), "not read beyond 16 MiB")

EXPECTED: Mapping[str, Row] = {
    **dict.fromkeys(("http_400", "http_401", "http_403", "http_404", "http_422", "tools_unsupported"), _REFUSED),
    **dict.fromkeys(("http_413", "context_length"), _TOO_LONG),
    **dict.fromkeys(("http_408", "http_409", "http_425"), _PASSING),
    **dict.fromkeys(("http_500", "http_502", "http_503", "http_504", "http_529", "html_502"), _PASSING),
    **dict.fromkeys(("rate_limited", "rate_limited_date"), _LIMITED),
    **dict.fromkeys(("http_429", "rate_limited_past", "rate_limited_nan"), Row("three times", RateLimited, ("body",))),
    "rate_limited_long": Row("never", RateLimited, ("body",), "the error says when to come back"),
    "insufficient_quota": Row("never", RateLimited, ("body",), "the error says that the credit is used up"),
    "daily_quota": Row("never", RateLimited, ("body",), "whatever delay comes with it"),
    "wrong_key": Row("never", ProviderError, ("body",), "told as HTTP 401 is, with the variable of the key"),
    "parameter_refused": Row("without it", remark="left out with one warning, and not sent again for a day"),
    "refusal": Row("never", remark="marked as a refusal; `Refused` when nothing was said"),
    "content_filter": Row("never", remark="marked as filtered; `Refused` when nothing was said"),
    "length": Row("never", remark="marked as cut by the limit; `BadReply` when thinking left no room for a word"),
    **dict.fromkeys(("stall_before_headers", "stall_after_headers", "slow_drip", "ping_for_ever"), _SILENT),
    "stall_mid_stream": Row("twice", Unreachable, ("text",), "ended by the clock for silence"),
    **dict.fromkeys(("reset_before_headers", "close_before_headers"), _BROKEN),
    **dict.fromkeys(("reset_mid_stream", "close_mid_stream"), Row("three times", Unreachable, ("text",))),
    "end_mid_stream": Row("three times", BadReply, ("text",), _CUT, in_one_piece="once"),
    "truncated_json": Row("once", BadReply, ("text", "body"), _CUT),
    "malformed_json": Row("once", BadReply, ("text", "body")),
    "error_event_mid_stream": Row("three times", ProviderError, ("text", "body"), in_one_piece="once"),
    "error_200": Row("once", ProviderError, ("body",)),
    **dict.fromkeys(("empty_body", "empty_answer", "empty_choices"), _NO_ANSWER),
    "html_200": Row("once", BadReply, ("body",), "the error asks whether `base_url` is right"),
    "invalid_utf8": Row("never", remark="with U+FFFD in its place"),
    **dict.fromkeys(("huge_answer", "gzip_bomb"), _ENDLESS),
    "duplicate_tool_ids": Row("never", remark="each call has an id of its own"),
    "missing_tool_ids": Row("never", remark="each call has an id of its own"),
    "redirect_same_origin": Row("never", remark="followed up to three times, then `Unreachable`"),
    "redirect_other_origin": Row("never", Unreachable, remark="neither key nor prompt is sent there"),
}

_HEAD = """# What a fault does

Each fault below is a name of `ai_battle.testing.FAULTS`: `fakes.openai.says(fault("stall_mid_stream"), "Hello")` lets a
client meet it. The tests play each of them to the clients of all four APIs, over both transports, streamed and in one
piece; this page is made from the table that they check, by `python -m tests.providers.fault_table`.

- **asked again**: how often the call is made again while the fault stays, with the default of three retries. One that
  passes costs no turn. There is one layer of retries; those of the SDKs are off. The pauses grow up to 8 s, with
  jitter, and all of it ends with the deadline of the call.
- **if it stays**: what the call raises, or the answer that it gives.
- **kept**: what the failed attempt (`AttemptFailed`) holds beside status, request id and reason: the *text* that had
  come, or the first 500 characters of the *body*. Nothing of it becomes part of the conversation.

| fault | what happens | asked again | if it stays | kept |
|---|---|---|---|---|
"""


def page() -> str:
    return _HEAD + "".join(f"| {' | '.join(_cells(name, row))} |\n" for name, row in EXPECTED.items())


def _cells(name: str, row: Row) -> Iterable[str]:
    again = f"{row.again} ({row.in_one_piece} in one piece)" if row.in_one_piece else row.again
    ends = f"`{row.error.__name__}`" if row.error else "an answer"
    ends += f"; {row.remark}" if row.remark else ""
    return f"`{name}`", FAULTS[name].sentence.rstrip("."), again, ends, ", ".join(row.kept)


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
