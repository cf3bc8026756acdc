"""Checks whether a contribution agrees or says goodbye, and finds the decisions in it."""

import re
from collections.abc import Iterable, Iterator

from .languages import has_word_anywhere, sentences

CLOSING_SHARE = 0.5


def _pattern(*alternatives: str) -> str:
    return "|".join(alternatives)


_DEGREE = (
    r"(?:all |both |fully |completely |totally |wholeheartedly |also |now |can |are |have |in (?:full |complete )?)*"
)
_NOT_YET = r"(?:do not|don't|cannot|can't|not|never|hardly)(?: yet| fully| quite| entirely| really| sure(?: i| we)?)*"

_AGREES = _pattern(
    rf"\b(?:i|we) {_DEGREE}(?:agree|agreed|agreement|concur|accept|reached (?:a )?(?:consensus|agreement))\b",
    rf"\b(?:i'm|i am) {_DEGREE}(?:agreement|on board|convinced|persuaded|satisfied)\b",
    rf"\b(?:we're|we've) {_DEGREE}(?:aligned|agreed|agreement|reached|settled)\b|\bwe are {_DEGREE}aligned\b",
    r"\b(?:that|this|it)(?:'s| is) (?:settled|agreed|decided)\b|\b(?:works|fine|good) (?:for|with|by) me\b",
    r"\bcount me in\b|\bno (?:further )?objections?\b|\bnothing (?:more |further |else )?to add\b",
    r"\blet(?:'s| us) (?:go with|do (?:it|that)|proceed|adopt|settle on|lock (?:it|that) in)\b",
    r"^(?:(?:yes|ok|okay|then),? )?(?:it's a |that's a )?(?:deal|agreed)\b|\bsounds (?:good|right|great)\b",
)
_AGREES_ELSEWHERE = _pattern(
    r"\beinverstanden\b|\bich stimme (?:dem |ihnen |dir )?(?:voll |ganz )?zu\b|\bso machen wir (?:es|das)\b",
    r"\bd'accordo?\b|\bde acuerdo\b|\bconcord(?:o|amos)\b|\bde acordo\b|\bcombinado\b",
    r"\bakkoord\b|mee eens\b|\bafgesproken\b|\bzgadzam(?:y)? si\u0119\b|\bzgoda\b|\bumowa stoi\b",
    r"\bkat\u0131l\u0131yor(?:um|uz)\b|\bkabul ediyor(?:um|uz)\b|\banla\u015ft\u0131k\b|\bhemfikiri[mz]\b",
    r"\b\u0441\u043e\u0433\u043b\u0430\u0441(?:\u0435\u043d|\u043d\u0430|\u043d\u044b)\b|\b\u0434\u043e\u0433\u043e\u0432\u043e\u0440\u0438\u043b\u0438\u0441\u044c\b",
    r"\u540c\u610f|\u8d5e\u6210|\u8cdb\u6210|\u0623\u0648\u0627\u0641\u0642|\u0627\u062a\u0641\u0642\u0646\u0627|\u0938\u0939\u092e\u0924",
)
"""Agreement in languages that deny it with a word of its own beside it: "no estoy de acuerdo"."""
_RESERVES = _pattern(
    rf"\bdisagree|\b{_NOT_YET} (?:agree|accept|concur|convinced|persuaded|on board|satisfied|settled)\b",
    r"\b(?:would|could|might|will|if|once|until|before|whether) (?:i |you |we |they |only |all )*(?:agree|accept)\b",
    r"\bhowever\b|\bon the other hand\b|\bnot so fast\b|\bwhat about\b|\bthat said\b|\bobjection:",
    r"\bi (?:still|also) (?:think|believe|worry|doubt|have|want|need|see)\b",
    r"\b(?:one|my) (?:more )?(?:concern|worry|doubt|objection|condition|caveat|thing|point|question)\b",
    r"\bwith one exception\b|\bonly if\b|\bunless\b|\bprovided that\b|\bfor the sake of argument\b",
    r"\b(?:in part|partly|partially|to (?:a|some) (?:degree|extent))\b|\bremains? (?:open|unclear|unsettled)\b",
    r"\b(?:aber|jedoch|allerdings|mais|pero|sin embargo|per\u00f2|por\u00e9m|maar|echter|jednak)\b",
    r"^(?:but|yet|though|still)\b",
    r"[,;] (?:ma|mas|ale)\b|\b(?:ama|ancak|fakat|\u043d\u043e|\u043e\u0434\u043d\u0430\u043a\u043e)\b",
    r"\u4f46|\u3057\u304b\u3057|\u305f\u3060\u3057|(?:\u3059|\u305f)\u304c|\u0644\u0643\u0646|\u0932\u0947\u0915\u093f\u0928",
    r"[,;:\u2014-] ?(?:but|yet|though|except|although)\b",
)
_PARTS = _pattern(
    r"\bthank(?:s| you)\b|\byou(?:'re| are) (?:very |most |so )?welcome\b|\bgood ?bye\b|\bbye\b|\bfarewell\b",
    r"\btake care\b|\bhave a (?:great|nice|good|wonderful|lovely)\b|\bsee you\b|\buntil (?:next time|then)\b",
    r"\ball the best\b|\bbest (?:of luck|wishes|regards)\b|\bgood luck\b|\bmy pleasure\b",
    r"\b(?:was|been|is) (?:a |such a |truly a |my )*(?:pleasure|joy|delight|privilege)\b",
    r"\blikewise\b|\bsame to you\b|\byou too\b|\bappreciate|\bgrateful\b|\bgratitude\b|\blook(?:ing)? forward\b",
    r"\bcheers\b|\bhesitate to\b|\bfeel free\b|\bany ?time\b|\benjoyed\b",
    r"\bdanke\b|\bgern geschehen\b|\bauf wiedersehen\b|\btsch\u00fcss\b|\bmerci\b|\bau revoir\b",
    r"\bgracias\b|\badi\u00f3s\b|\bde nada\b|\bgrazie\b|\bobrigad[oa]\b|\u8c22\u8c22|\u518d\u89c1",
)
_ASKS = r"[?\uff1f][\"'*_)\s]*$"
# "Deal?" and "right?" at the end of a sentence confirm rather than ask, so they don't spoil an agreement.
_TAG = r"(?:right|agreed|ok|okay|deal|yes)\?[\"'*_)\s]*$"


def agrees(text: str) -> bool:
    """Checks whether a text agrees, asks nothing and has no reservation."""
    sentences_ = _folded_sentences(text)
    if any(re.search(_RESERVES, s) or (re.search(_ASKS, s) and not re.search(_TAG, s)) for s in sentences_):
        return False
    return any(map(_agrees, sentences_))


def _agrees(sentence: str) -> bool:
    is_elsewhere = re.search(_AGREES_ELSEWHERE, sentence) and not has_word_anywhere(sentence, "negation")
    return bool(is_elsewhere or re.search(_AGREES, sentence))


def parts(text: str) -> bool:
    """Checks whether thanks, wishes and goodbyes fill at least half of a text that asks nothing."""
    sentences_ = _folded_sentences(text)
    if not sentences_ or any(re.search(_ASKS, s) for s in sentences_):
        return False
    return sum(len(s) for s in sentences_ if re.search(_PARTS, s)) >= CLOSING_SHARE * sum(map(len, sentences_))


def _folded_sentences(text: str) -> list[str]:
    return [sentence.casefold().replace("\u2019", "'") for sentence in sentences(text)]


DECISION_CHARACTERS = 400

_MARKED = _pattern(
    r"^(?:final )?(?:decision|decided|agreed|resolved|resolution)\b[^:]{0,20}:",
    r"^(?:beschluss|entscheidung|d\u00e9cision|decisi\u00f3n|decisione|decis\u00e3o)\b[^:]{0,20}:",
    r"^(?:\u51b3\u5b9a|\u6c7a\u5b9a)[^:\uff1a]{0,10}[:\uff1a]",
    r"\bwe(?:'ve| have)? (?:all |both |now |finally |hereby )*(?:decided?|agreed?|settled?|resolved?)\b",
    r"\b(?:it is|it's|that's|that is) (?:now |hereby )?(?:decided|agreed|settled)\b",
    r"\b(?:the|our|my) (?:final )?decision is\b|\bwir haben (?:uns )?(?:beschlossen|entschieden|geeinigt)\b",
    r"\bnous avons (?:d\u00e9cid\u00e9|convenu)\b|\bhemos (?:decidido|acordado)\b|\babbiamo (?:deciso|concordato)\b",
    r"\bdecidimos\b|\u6211\u4eec(?:\u5df2\u7ecf|\u4e00\u81f4)?(?:\u51b3\u5b9a|\u5546\u5b9a)",
    r"\u306b\u6c7a(?:\u5b9a\u3057|\u3081)\u307e\u3057\u305f",
)
COLONS = (":", "\uff1a")
_MAY_GO_ON = re.compile(r"(?:\d|\b[^\W\d_]{1,3}|\b[A-Z][a-z]{3})\.$")


def decisions(texts: Iterable[str]) -> list[str]:
    """Returns the sentences that announce a decision, without duplicates, in order."""
    return list(dict.fromkeys(found[:DECISION_CHARACTERS] for text in texts for found in _decisions_of(text)))


def _decisions_of(text: str) -> Iterator[str]:
    decision = ""
    for sentence in sentences(re.sub(r"(?<=[\u3002\uff01\uff1f])", " ", text)):
        if decision and not _goes_on(decision, sentence):
            yield decision
            decision = ""
        if decision or re.search(_MARKED, sentence.replace("\u2019", "'"), re.IGNORECASE):
            decision = f"{decision} {sentence}".strip()
    if decision and not decision.endswith(COLONS):
        yield decision


def _goes_on(decision: str, sentence: str) -> bool:
    """Checks whether a sentence may belong to the decision before it: nobody could guess the other half.

    A marker that ends with a colon ("Decision:") is a heading. A full stop after a number or a short word, or before a
    small letter or a number, may belong to a date or an abbreviation ("14. Juni", "Prof. Ito", "5 p.m. in").
    """
    begins_small = sentence[0].islower() or sentence[0].isdigit()
    may_go_on = bool(_MAY_GO_ON.search(decision)) or (decision.endswith(".") and begins_small)
    return may_go_on or decision.endswith(COLONS)
