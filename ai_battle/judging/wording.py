"""Checks what an answer says about itself, whose turn it is, and what makes it poor at once."""

import math
from functools import partial
from itertools import islice

from ..core.messages import Role
from ..signals.comparisons import denies_itself
from ..signals.endings import breaks_off, is_cut_off, leads_nowhere, repeats
from ..signals.endings import stops_short as lacks_last_stop
from ..signals.instruction_following import is_in_wrong_language, misses_form, repeats_turn
from ..signals.instruction_following import runs_on as writes_others
from ..signals.invention import names_something, quotes_something
from ..signals.languages import (
    content_stems,
    has_word_anywhere,
    name_stems,
    plain_words,
    sentences,
    words_everywhere,
)
from ..signals.refusals import (
    PHRASE_CHARACTERS,
    STEM_LENGTH,
    denies_access,
    excuses_itself,
    only_announces,
    only_replies,
    requests_something,
)
from ..signals.refusals import gives_up as only_gives_up
from ..signals.refusals import only_offers as offers_only
from ..signals.subjects import subject_words
from .case import Case, head_and_tail
from .family import wants_number
from .measures import mean
from .tool_use import call_measures, has_informative_results
from .working import final_missing

LEAST_TOKENS, _DOTS = 5, ".\u2026 \n"
DESCRIPTION_CHARACTERS = 300
NO_STOP = 0.25
"""The value of a missing full stop without other signs of a cut: many right answers lack it."""


def length(case: Case) -> float:
    """Returns the log of the length: a second page says less than a second line."""
    return math.log1p(len(case.working.split())) / 5


def repeated_words(case: Case) -> float:
    return case.repeated_words


def stops_short(case: Case) -> float:
    if not lacks_last_stop(case.text):
        return 0.0
    return 1.0 if breaks_off(case.text, case.prompt) else NO_STOP


def token_doubt(case: Case) -> float | None:
    """Returns the mean negative log-probability of the tokens, or None if too few are known."""
    known = [value for value in case.context.logprobs if math.isfinite(value) and value <= 0]
    return -mean(known) if len(known) >= LEAST_TOKENS else None


def denial(case: Case) -> float:
    return float(denies_itself(case.text, case.question))


def only_gives_up_(case: Case) -> float:
    """Returns 1 for an answer that only says that it can't. After results, "nothing found" may be what they show."""
    if case.calls or len(case.text) > PHRASE_CHARACTERS:
        return 0.0
    if _denies_access(case):
        return 1.0
    if not only_gives_up(case.text, case.prompt) or _may_refuse(case) or _asks_nothing(case):
        return 0.0
    return float(not case.results or (has_informative_results(case) and excuses_itself(case.text)))


def _denies_access(case: Case) -> bool:
    """Checks whether an answer denies what an offered tool gives: "I can't run commands" where one runs them."""
    if case.results or not case.context.tools:
        return False
    return denies_access(case.text, case.prompt, partial(_is_of_tools, case), is_named=names_something(case.prompt))


def _is_of_tools(case: Case, word: str) -> bool:
    if word[:STEM_LENGTH] in case.once(_tool_words):
        return True
    exact, stems = case.once(_subject_words)
    return word in exact or word.startswith(stems)


def _subject_words(case: Case) -> tuple[frozenset[str], tuple[str, ...]]:
    return subject_words(plain_words(" ".join(_tool_texts(case))))


def _tool_words(case: Case) -> frozenset[str]:
    """Returns how the words of the tools' names and of the first sentences of their descriptions begin."""
    return frozenset(stem[:STEM_LENGTH] for text in _tool_texts(case) for stem in name_stems(text))


def _tool_texts(case: Case) -> list[str]:
    tools = case.context.tools
    return [text for tool in tools for text in (tool.name, *sentences(tool.description[:DESCRIPTION_CHARACTERS])[:1])]


def empty_promise(case: Case) -> float:
    """Returns 1 if the answer announces what does not come. Calls do come, and reports may end with plans."""
    if case.calls:
        return 0.0
    if leads_nowhere(case.text):
        return 1.0
    is_pick = case.family == "mcq" and case.final is not None
    may_plan = case.results or is_pick or not only_announces(case.text, case.prompt) or _asks_nothing(case)
    return float(not may_plan and not _asks_for_input(case))


def _asks_for_input(case: Case) -> bool:
    """Checks whether an answer asks for what the prompt lacks, such as the number of an order or a text to read."""
    gives = names_something if case.context.tools else quotes_something
    return not gives(case.prompt) and requests_something(case.text)


def only_offers(case: Case) -> float:
    """Returns 1 for an offer of help in reply to a request, unless a call follows: "Let me check" announces it."""
    return float(not case.calls and not case.context.history and offers_only(case.text, case.prompt))


def wrong_form(case: Case) -> float:
    """Returns 1 if the answer lacks the requested form, except after results, which may be fewer than requested."""
    return float(not case.calls and not case.results and misses_form(head_and_tail(case.whole), case.question))


def _may_refuse(case: Case) -> bool:
    """Checks whether a refusal may be right: tools are offered, none fits, and the task needs one.

    Within a conversation, or once a tool has brought something, it is not.
    """
    if case.family != "chat" or case.context.history or any(step.has_news for step in case.steps):
        return False
    return bool(case.context.tools)


def _asks_nothing(case: Case) -> bool:
    """Checks whether the prompt is a mere "yes" or "thanks". Tools could have done at once what it agrees to."""
    return not case.context.tools and only_replies(case.prompt)


REPETITIVE_SHARE = 0.6


def empty(case: Case) -> float:
    return float(not case.whole.strip(_DOTS) and not case.calls)


def is_filtered(case: Case) -> float:
    return float(case.context.stop in ("content_filter", "refusal"))


def loop(case: Case) -> float:
    return float(not case.states_answer and repeats(case.content, case.prompt))


def repetition(case: Case) -> float:
    """Returns the share of repeated text unless an answer is stated: some models loop after the right one."""
    share = case.repeated_words
    return share if share > REPETITIVE_SHARE and not case.states_answer else 0.0


def is_truncated(case: Case) -> float:
    return float(case.context.stop == "length" or (not case.calls and is_cut_off(case.whole)))


def gives_up(case: Case) -> float:
    """Returns 1 if the answer says that it can't and states no answer despite that."""
    return float(not case.states_answer and only_gives_up_(case))


def no_answer(case: Case) -> float:
    """Returns 1 if a final answer is due and missing. Turns of a discussion about numbers need not have one.

    A numeral in words counts as an answer.
    """
    if not final_missing(case) or not wants_number(case.question) or gives_up(case):
        return 0.0
    return float(words_everywhere("numerals").isdisjoint(plain_words(case.text)))


def unfit_again(case: Case) -> float:
    """Returns 1 if a call does not fit its schema although an earlier one had failed."""
    failed = any(result.is_error for result in case.results)
    if case.family != "tool" or not failed:
        return 0.0
    measures = case.once(call_measures)
    return float(bool(measures.get("unknown_parameter") or measures.get("missing_required")))


EARLIER_ANSWERS = 6
RECENT_MESSAGES, SAID_AGAIN, SAME_SHARE = 40, 1_000, 0.5
"""Messages and characters in which a question is looked for; the share of its words that asking again has at least."""
_LEAST_WORDS = 8


def is_said_before(case: Case) -> float:
    """Returns 1 for a copy of an earlier answer of the speaker; for a short one if both sides repeat themselves."""
    times = [text.strip() for text in _latest_texts(case, "assistant")].count(case.text.strip())
    is_loop = times > 1 and case.prompt.strip() in (text.strip() for text in _latest_texts(case, "user"))
    is_copy = is_loop or (times > 0 and len(case.text.split()) >= _LEAST_WORDS)
    return float(is_copy and not _asks_again(case))


def _asks_again(case: Case) -> bool:
    """Checks whether a sentence of the prompt asks what the answer has answered once before.

    The third time, a conversation goes round in circles.
    """
    history, said = case.context.history[-RECENT_MESSAGES:], case.text.strip()
    places = [place for place, each in enumerate(history) if each.role == "assistant" and each.text.strip() == said]
    if len(places) != 1:
        return False
    before = next((each.text for each in history[places[0] :: -1] if each.role == "user"), "")
    return any(_is_same_question(sentence, before) for sentence in sentences(case.prompt[-SAID_AGAIN:]))


def _is_same_question(sentence: str, before: str) -> bool:
    """Checks whether a sentence has nothing but words of an earlier one, and denies what that denies."""
    asked, known = _subject(sentence), _subject(before[-SAID_AGAIN:])
    if not asked or not asked <= known or len(asked) < len(known) * SAME_SHARE:
        return False
    return has_word_anywhere(sentence, "negation") == has_word_anywhere(before, "negation")


def _subject(text: str) -> frozenset[str]:
    return content_stems(" ".join(word for word in plain_words(text) if word not in words_everywhere("courtesy")))


def runs_on(case: Case) -> float:
    return float(bool(case.answer.next_turn) or writes_others(case.text, case.prompt))


def repeats_other(case: Case) -> float:
    """Returns 1 if the answer is what another speaker has just said."""
    return float(repeats_turn(case.text, case.prompt, _latest_texts(case, "user")))


def _latest_texts(case: Case, role: Role) -> list[str]:
    """Returns the newest texts of a role in order, reading no more of the history than needed."""
    newest = (message.text for message in reversed(case.context.history) if message.role == role)
    return [*islice(newest, EARLIER_ANSWERS)][::-1]


def wrong_language(case: Case) -> float:
    """Returns 1 for another language than the prompt's. After results it may be theirs, so it returns 0."""
    return float(case.family == "chat" and not case.results and is_in_wrong_language(case.text, case.prompt))
