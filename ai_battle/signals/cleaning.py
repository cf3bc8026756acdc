"""Cleans an answer for its reader: removes thinking, template tokens, padding, role labels and quote marks."""

import re
from dataclasses import dataclass

from ..wire.dialects import thinking

_ROLE = (
    r"(?:assistant|model|bot|ai|gpt|chatgpt|claude|assistente|asistente|assistent"
    r"|ассистент|助手|アシスタント|सहायक|مساعد)"
)
_MARK = (
    r"(?:<[|\uff5c][^|\uff5c<>\n]{1,40}[|\uff5c]>"
    r"|<(?:start|end|begin)_of_\w{1,20}>|<(?:pad|eos|bos|unk|eot|eod|sep|cls|mask)>|</?s>"
    r"|<(?:unused|extra_id_|ctrl)\d{1,4}>|<0x[0-9A-F]{2}>|\[(?:/?INST|PAD|EOS|BOS|UNK|SEP|CLS|MASK)\]|<</?SYS>>)"
)
_LEADING_TOKENS = re.compile(
    rf"(?:\s{{0,8}}(?:{_MARK}(?:{_ROLE}\b(?=\s|<))?|\#{{1,4}}\s?(?:response|answer|{_ROLE})\s?:"
    rf"|{_ROLE}\s?[:\uff1a](?!\S*//)))+",
    re.IGNORECASE,
)
_TRAILING_TOKEN = re.compile(rf"{_MARK}\Z", re.IGNORECASE)
_LONGEST_TOKEN = 48
# Not in backticks: an answer may explain what such a token means.
_SPECIAL_TOKEN = re.compile(r"(?<!`)<[|\uff5c][^|\uff5c<>\n]{1,40}[|\uff5c]>(?!`)")
_NEXT_TURN = re.compile(
    r"<[|\uff5c]im_start[|\uff5c]>\s?(?:user|human|system)|<[|\uff5c]start_header_id[|\uff5c]>\s?(?:user|human|system)"
    r"|<start_of_turn>\s?user|<[|\uff5c](?:user|human)[|\uff5c]>|\[INST\]",
    re.IGNORECASE,
)
_MAY_THINK = re.compile(r"[<\[\u25c1]")
_LAST_CHANNEL = re.compile(r"<\|channel\|>final[^<\n]{0,40}<\|message\|>")
_BLOCK_QUOTE = re.compile(r"(?:>(?!>)[^\n]*(?:\n\s*|\Z))+")
_PLAIN_FENCE = re.compile(r"```(?:text|txt|plaintext|markdown|md)?\n([^`{}();$|<>\\]+)```\s*")
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)
_EMPHASIS = re.compile(
    r"\*\*(?![\d(])|\*\*(?<![\d)]\*\*)|__(?!\w)|__(?<!\w__)|\*(?<![\w*]\*)(?=\w)|\*(?<=\w\*)(?![\w*\s])"
)


@dataclass(frozen=True, slots=True)
class CleanedAnswer:
    """An answer without what its reader should not see. `text` may be empty.

    `thinking` is the model's own reasoning; `next_turn` is what it wrote in someone else's name after the end of its
    turn.
    """

    text: str
    thinking: str = ""
    next_turn: str = ""


def cleaned_answer(text: str) -> CleanedAnswer:
    """Removes the leftovers of a model's chat template. Tokens quoted as code stay."""
    answer, thought = _without_thinking(text)
    answer, next_turn = _own_turn(answer)
    if opened := _LEADING_TOKENS.match(answer):
        answer = answer[opened.end() :]
    answer = _without_padding(answer)
    answer = (_SPECIAL_TOKEN.sub("", answer) if "<" in answer else answer).strip()
    return CleanedAnswer(without_quote(answer), thought, next_turn)


def without_quote(text: str) -> str:
    """Removes the marks of a block quote if all of a text is one."""
    return _QUOTE_MARK.sub("", text).strip() if text.startswith(">") and _BLOCK_QUOTE.fullmatch(text) else text


def without_fence(text: str) -> str:
    """Removes a code fence around all of a text that has no marks of code."""
    fenced = _PLAIN_FENCE.fullmatch(text) if text.startswith("```") else None
    return fenced[1].strip() if fenced else text


def without_emphasis(text: str) -> str:
    """Removes the marks of bold and italics."""
    return _EMPHASIS.sub("", text) if "*" in text or "_" in text else text


def _without_thinking(text: str) -> tuple[str, str]:
    """Returns the answer and the thinking.

    An unclosed block is all thinking. So is everything before an end mark without a beginning, since some templates put
    the beginning into the prompt.
    """
    if found := list(_LAST_CHANNEL.finditer(text)):
        return text[found[-1].end() :], text[: found[-1].start()]
    if not _MAY_THINK.search(text):
        return text, ""
    thought, answer, at = [], [], 0
    while opened := thinking.OPENING_TAG.search(text, at):
        if not _begins_line(text, opened.start()):
            answer.append(text[at : opened.end()])
            at = opened.end()
            continue
        closed = thinking.closer(opened).search(text, opened.end())
        answer.append(text[at : opened.start()])
        end, at = closed.span() if closed else (len(text), len(text))
        thought.append(text[opened.end() : end])
    rest = text[at:]
    if (alone := thinking.CLOSING_TAG.search(rest)) and not rest[: alone.start()].endswith("`"):
        return rest[alone.end() :], "\n".join((*thought, *answer, rest[: alone.start()]))
    return "".join((*answer, rest)), "\n".join(thought)


def _begins_line(text: str, at: int) -> bool:
    """Checks whether only whitespace and template tokens precede a place in its line."""
    line = text[text.rfind("\n", max(0, at - 200), at) + 1 : at]
    return not _LEADING_TOKENS.sub("", line).strip()


def _own_turn(text: str) -> tuple[str, str]:
    """Splits off the turn that the model wrote for another speaker after its own."""
    for mark in _NEXT_TURN.finditer(text):
        if text[: mark.start()].strip():
            return text[: mark.start()], text[mark.start() :]
    return text, ""


def _without_padding(text: str) -> str:
    end = _end_of_words(text, len(text))
    # Searches a few characters at a time, as a search from the start is quadratic in thousands of padding tokens.
    while token := _TRAILING_TOKEN.search(text, max(0, end - _LONGEST_TOKEN), end):
        end = _end_of_words(text, token.start())
    return text[:end]


def _end_of_words(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end
