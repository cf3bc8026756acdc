"""The fixed phrases around a claim, and those that take it back."""
# ruff: noqa: E501

import re

from .tool_words import DEED

CARRIES_I = re.compile(
    r"(?:busqu|ejecut|consult|guard|prob|envi)é|(?:pesquis|procur|busqu|execut|rod|test|salv|consult|verifiqu|us|envi)ei"
    r"|abrí|leí|corrí"
)
# Behind `after searching the web`.
GOT = re.compile(
    r", (?:\w+ ){0,2}?i (?:\w+ly )?(?:get|got|find|found|see|saw|obtain|obtained|confirm|confirmed|computed|calculated|noticed"
    r"|learned|discovered|determined|counted|can (?:\w+ )?(?:see|confirm|say|tell|report|verify))\b"
)
DONE = re.compile(
    r"(?:\d+ )?(?:(?:has|have) (?:now |just |already )?been (?:successfully )?(?!\w+ (?:by|since)\b)|(?:wurden?|ist) (?:erfolgreich|soeben|jetzt) |(?:a|ont) été "
    r"|(?:ha|han|foi) sido |foi |(?:was|were) successfully "
    r"|(?:was|were) (?=(?:sent|posted|booked|scheduled)\b(?! (?:by|in)\b))|(?:was|were) (?=\w+ (?:successfully|without)\b))(\w+)"
)
OVER = re.compile(
    r"(?:(?:run|query|execution|request|call) )?(?:is |are |now )*(?:complete|completed|finished|successful|succeeded|(?<=now )(?:in|on|saved|live|stored|available))\b(?! (?:by|in \d{4}))"
)
DONE_TO = re.compile(
    r"(?:successfully )?(saved|sent|created|written|updated|deleted|booked|scheduled|executed)\b(?! (?:by|in|for)\b)"
)
GERUNDS = {
    gerund: DEED[deed]
    for gerund, deed in {
        "searching": "searched", "checking": "checked", "querying": "queried", "running": "ran", "executing": "executed",
        "reading": "read", "looking": "looked", "fetching": "fetched", "consulting": "consulted", "reviewing": "reviewed",
        "browsing": "browsed", "testing": "tested", "calling": "called", "opening": "opened", "inspecting": "inspected",
        "using": "used", "googling": "googled", "visiting": "visited", "listing": "listed", "scanning": "scanned",
    }.items()
}  # fmt: skip
HEDGE = re.compile(
    r"\b(?:will|would|should|could|unless|once|not|can't|cannot|never|no|without|(?:for|an|my) example|examples? (?:of|answer)"
    r"|apologi[sz]e|placeholder|assum\w+|imagine|suppose|might|may|said|lest|pretend|if|whether|(?:last|that|one) (?:year|month|week|night|summer)"
    r"|yesterday|ago|your? \w+ says|lie|typical|phrase|saying|hypothetical\w*|let's|says that|nicht|kein\w*|würde|könnte|werde|nachdem"
    r"|wenn|falls|sobald|pas|jamais|nunca|si|quand|cuando|je vais|voy a)\b|\bwhen (?!i\b|executed\b|run\b)|^had |n't\b|\bn'ai\b|\bno (?:he|hay)\b"
    r"|没有|无法|如果|不能|可以|将|例如|会|请"
)
CONDITION = re.compile(r"\b(?:if|wenn|falls|cuando|quand|lorsque)\b")
TAKEN_BACK = re.compile(r"\b(?:years ago|you(?: have)? (?:write|wrote|say|said|mention(?:ed)?)|you've \w+)\b")
# Of these the tool is one that was handed over, where they stand beside it.
HANDED = re.compile(
    r"\byou(?: have)? (?:just )?(?:attached|pasted|shared|sent|uploaded|quoted|provided|gave|posted|ran|wrote)\b"
)
FILE = re.compile(
    r"[\w./@-]*\w\.(?:py|[jt]sx?|md|txt|csv|json|ya?ml|toml|html?|css|sql|log|pdf|xml|ini|cfg|sh|rs|go|java|c|cpp|h|rb|ipynb)"
)
_RESULT = r"(?:results?|outputs?|responses?)"
_PHRASES = (
    rf"\bhere(?: are|'s| is) (?:the|what|my) (?:\w+ )?(?:{_RESULT}|tool returned|came back)(?: (?:of|from) (?:the|my|these|this|running|calling) (?:search|query|tool|script|code|command|program|api|test|call|file|database|web)|:?$| i found)"
    r"|\bhere (?:are|is) (?:the|my) (?:timings?|measurements?):?$"
    r"|\bhier (?:sind|ist) (?:die|das) (?:ergebnisse?|ausgabe) (?:meiner|der|des|aus)\b"
    r"|\bvoici (?:les résultats|le résultat|la sortie) (?:de (?:la|ma)|du) (?:recherche|requête|script|code|programme|commande)"
    r"|\baquí (?:están|está) (?:los resultados|el resultado|la salida) de (?:la|mi|el) (?:búsqueda|consulta|script|código)"
    rf"|\bthe {_RESULT} (?:of|from) (?:the|my|running|calling) (?:\w+ )?(?:search|query|tool|script|code|command|program|api|call) (?:is|are|was|were|shows?)\b(?! (?:an?|returned)\b)"
    r"|^\W*(?:running|executing) (?:the|this|your|it)\b[^.]{0,30}\b(?:gave|returned|printed|showed|produced|yielded)\b"
    r"|^\W*function returned\b|\bthe \w+ exited with (?:code|status) \d|\bi (?:have )?(?:just )?looked (?:(?:it|this|that|them) up|up (?!to\b))"
    r"|\bich habe nachgesehen:|\bi (?:have )?(?:just )?(?:pinged\b|(?:executed|ran|run) (?:`|[a-z]+ -))"
    r"|\bi (?:have )?(?:just )?(?:fetched|retrieved|pulled) (?:the|it|them|this|these)\b(?!.*\b(?:your|memory)\b)"
)
_ON_THE_WAY = r"我(?:已经|已|刚刚|刚)?(?:在[\u4e00-\u9fff]{1,6}上)?(?:用[\w]{1,10})?"
_CHINESE = (
    rf"{_ON_THE_WAY}(?:搜索|查询|运行|执行|打开|检查|查看|浏览|调用|读取|查找|查|保存|写入|发送)(?:过)?了(?!(?:一下)?[你您])"
    r"|(?:搜索|查询|工具|脚本|代码|程序|数据库|接口)(?:的)?(?:运行)?(?:结果|返回|输出)(?:的结果)?(?:显示|返回|表明|是|指出|了|为)"
    r"|(?:工具|脚本|搜索|查询|数据库)(?:显示|表明|指出)|根据(?:我的)?(?:搜索|查询|工具|计算器|运行)(?:的)?结果|以下是(?:我的)?(?:搜索|查询|运行)(?:的)?结果"
)
_OF_ONES_OWN = (
    r"\b(?:results?|findings|hits|matches) (?:from|of) my (?:\w+ )?(?:search|query|lookup|test|run)\b"
    r"|\b(?:search|query|command|script|code|tests?|simulation|check|benchmark)s? (?:that )?i (?:have )?(?:just )?(?:ran|run|executed|performed|did|made)\b"
    r"|\b(?:documents?|pages?|files?|results?|data|rows|records) (?:that )?i (?:have )?(?:just )?(?:retrieved|fetched|pulled|queried)\b"
    r"|\bhere(?:'s| is) what(?:'s| is) (?:in|inside) the\b|\bthe (?:output|response|traceback|error) (?:that )?i (?:get|got|see|received?)\b"
    r"|\bi (?:have )?(?:just )?(?:got|received) back\b|\bacabo de (?:busc|consult|ejecut|comprob|revis|le)\w+"
    r"|\bje viens de (?:chercher|consulter|exécuter|vérifier|lancer|lire)\b"
    r"|\b(?:found|consulted|confirmed|verified|obtained|checked) (?:via|through|with) (?:an? |my )?(?:quick )?(?:web|online|internet) search\b"
    r"|\b(?:running|executing) (?:the|this|your|it)\b[^.,]{0,30}\b(?:throws|threw|raises|raised) an?\b"
    r"|\bsource: (?:the |my )?(?:web|internet|database|online|tool|search|api|query)\b|\b\d+ passed, \d+ (?:failed|skipped)|\b\d+ failed, \d+ passed"
    r"|\bwhen (?:executed|run), (?:this|it|the (?:code|script|program)) (?:printed|returned|gave|produced|raised)\b"
    r"|\bwhen i (?:run|execute|test|try|query) [^.]{1,60}\bi (?:get|see|obtain|find)\b"
    r"|\b\d+ rows? (?:were )?(?:returned|affected|updated)\b(?! by)|\b\d+ tests (?:have |all )?passed\b"
    r"|我(?:已经|已|刚刚|刚)?把[^。]{1,40}?(?:保存|写入|发送|删除|创建|更新)"
)
PHRASE = re.compile(f"{_PHRASES}|{_CHINESE}|{_OF_ONES_OWN}")
