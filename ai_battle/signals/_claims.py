"""How one says, in five languages, that a tool was used and what came of it; and how one says that it was not."""
# ruff: noqa: E501, RUF001

import re

_ANSWERING = (
    r"(?:tools?|functions?|api|(?:web )?search(?:es)?|quer(?:y|ies)|sql|scripts?|programs?|commands?|calculator|database"
    r"|endpoint|tests?|test suite|sandbox|simulations?)"
)
_TOOLS = rf"(?:{_ANSWERING}|code|pytest)"
_READ = r"(?:files?|folders?|repository|pages?(?! of)|(?:web)?sites?|database|logs?|log files?|web|[\w-]+\.[a-z]{2,5})"
_I = r"(?<![\"“«„])\bI(?:'ve| have)? (?:just |now |already |also |went ahead and )?"
_NAMED = r"(?:(?:the|an?|my|your|this|these) )?(?:(?!an? |the |to )[\w`.:-]+ ){0,2}"
_RESULTS = r"(?:results?|outputs?|responses?)"
_TELLS = (
    r"(?:returned(?! by\b)|reported|reports|printed|found|gave|gives|showed|shows?|says|indicates?|confirms|confirmed"
    r"|turned up|responded|exited with|finished|passes|passed|yielded|came back|contains no)(?! to\b)"
)
_ENGLISH = (
    rf"{_I}(?:googled|searched (?:the|online|google|through|your|and found|for (?:you|it|this|that|them)))\b",
    rf"{_I}looked (?:(?:it|this|that|them) up|up (?!to\b))",
    rf"{_I}(?:fetched|retrieved|pulled) (?:the|it|them|this|these)\b(?!.*\b(?:your|memory)\b)",
    rf"{_I}(?:called|executed|invoked|queried|ran|run|used|compiled|tested|verified) (?!it a\b|to\b){_NAMED}"
    rf"(?:with |in |on )?{_NAMED}{_TOOLS}\b(?![\"”])",
    rf"{_I}(?:used|called|ran) (?:the )?(?:`|[a-z]+_[a-z])|{_I}(?:executed|ran) [a-z]+ -|{_I}pinged\b",
    rf"{_I}(?:did|made|ran|performed|conducted) an? (?:quick )?(?:web |database )?(?:search|query|look-?up)\b",
    rf"{_I}(?:checked|opened|read|visited|browsed|listed|inspected|consulted) (?:the |your )?(?:[\w`'./-]+ )?{_READ}\b",
    rf"{_I}(?:checked|tested|tried|computed|verified) (?:it|this|that|them) (?:with|in|on|using|against) {_NAMED}{_TOOLS}\b",
    rf"{_I}(?:(?:had|took) a look (?:at|into)|looked (?:at|into)|went through) (?:the |your )?(?:[\w`'./-]+ )?{_READ}",
    rf"^(?:just |now )?(?:hit|called|pinged|queried|executed|ran|tested|checked) (?:it (?:with|in|on) )?{_NAMED}{_TOOLS}\b",
    rf"\b(?:(?:the|my|this|a quick) {_NAMED}|web ){_ANSWERING}(?:'s)?(?: {_RESULTS})? (?:has |have |just |also )*{_TELLS}\b",
    r"\bthe \w+ exited with (?:code|status) \d",
    r"\bthe code (?:printed|returned|gave|ran|finished)\b",
    r"\b(?:running|executing) (?:the|this|your) (?:[\w`'.-]+ )?(?:gave|returned|printed|showed|produced)\b",
    r"\b(?:after|by) (?:searching|querying|checking|running) [^,.;]{1,60}, I (?:found|saw|got|can see)\b",
    rf"\busing the {_NAMED}{_TOOLS}, I (?:found|got)\b",
    rf"\bhere (?:is|are) the (?:\w+ )?{_RESULTS} (?:of|from) (?:the|my|your|this|these|running|calling) {_NAMED}{_TOOLS}\b",
    r"\bhere (?:is|are) the (?:results?|outputs?)(?: of (?:the|these|my))?:?$",
    rf"\bthe {_RESULTS} (?:of|from) (?:the|my|running|calling) {_NAMED}{_TOOLS} (?:is|are|was|were)\b(?! (?:an?|returned)\b)",
    rf"\b(?:according to|based on) (?:the |my ){_NAMED}(?:{_TOOLS}(?:'s)? {_RESULTS}|search|tool|database|api),",
    rf"^\W*(?:(?:tool|function|query|search|command) {_RESULTS}:|^search {_RESULTS} {_TELLS}\b|function returned\b)",
)
_GERMAN = (
    r"\bich habe nachgesehen:",
    r"\bich habe (?:[\w`./-]+ ){0,4}?(?:web|internet|netz|code|skript|script|datei|datenbank|abfrage|tests?|websuche"
    r"|(?:web)?seite|logs?|befehl|programm|tool|api)\b[^.;:]{0,40}?\b(?:gesucht|ausgeführt|laufen lassen|geöffnet|abgefragt"
    r"|gelesen|durchsucht|aufgerufen|geprüft|getestet|abgerufen|benutzt|verwendet|gestartet)\b",
    r"\b(?:die|eine|meine) (?:web)?(?:suche|abfrage) (?:ergab|lieferte|zeigte?|fand|hat ergeben)\b",
    r"\b(?:das (?:tool|skript|programm)|der (?:server|befehl)|die (?:datenbank|api)) (?:meldet(?! sich)|meldete|liefert|gibt|gab|lieferte|ergab|zeigte?|sagt)\b",
    r"\blaut (?:den |der |meiner |dem )?(?:suche|suchergebnis\w*|websuche|tool\w*|abfrage\w*)\b",
    r"\bhier (?:sind|ist) (?:die|das) (?:ergebnisse?|ausgabe) (?:meiner|der|des|aus)\b",
)
_FRENCH_TOOLS = r"(?:recherche|code|script|base de données|fichier|requête|web|tests?|page|commande|outil|api|programme|site|internet)"
_FRENCH = (
    r"\bj['’]ai (?:effectué|exécuté|lancé|interrogé|ouvert|consulté|cherché|recherché|testé|utilisé|lu|vérifié|appelé) "
    rf"(?:[\w'’]+ ){{0,3}}(?:l['’]|d['’])?{_FRENCH_TOOLS}\b",
    r"\b(?:la recherche|la requête|l['’]outil|le script|l['’]api|le programme) (?:a )?(?:donné|renvoyé|indique|affiché|retourné"
    r"|trouvé|signale|montre|révèle)\b",
    r"\b(?:d['’]après|selon) (?:les résultats de (?:la|ma) (?:recherche|requête)|ma recherche|l['’]outil)",
    r"\bvoici (?:les résultats|le résultat|la sortie) (?:de (?:la|ma)|du) (?:recherche|requête|script|code|programme|commande)",
)
_SPANISH_TOOLS = r"(?:web|internet|código|script|base de datos|archivo|consulta|pruebas?|página|comando|herramienta|api|programa|sitio)"
_SPANISH = (
    r"\b(?:he (?:buscado|ejecutado|consultado|abierto|leído|comprobado|probado|llamado|usado|utilizado|revisado)"
    rf"|ejecuté|busqué|consulté|abrí|leí) (?:\w+ ){{0,3}}{_SPANISH_TOOLS}\b",
    r"\b(?:la búsqueda|la consulta|la herramienta|el script|la api|el programa) (?:arrojó|devolvió|indica|muestra|mostró|dio"
    r"|encontró|imprimió|informa|reporta)\b",
    r"\bsegún (?:los resultados de (?:la|mi) (?:búsqueda|consulta)|mi búsqueda|la herramienta)\b",
    r"\baquí (?:están|está) (?:los resultados|el resultado|la salida) de (?:la|mi|el) (?:búsqueda|consulta|script|código)",
)
_CHINESE = (
    r"我(?:已经|已|刚刚|刚)?(?:搜索|查询|运行|执行|打开|检查|调用|读取|查找|查)(?:过)?了(?!(?:一下)?[你您])",
    r"(?:搜索|查询|工具|脚本)(?:的)?(?:结果|返回|输出)(?:的结果)?(?:显示|返回|表明|是|指出|了|为)",
    r"(?:工具|脚本|搜索|查询)(?:显示|表明|指出)",
    r"根据(?:搜索|查询|工具)(?:的)?结果|以下是(?:我的)?(?:搜索|查询)(?:的)?结果",
)
CLAIM = re.compile("|".join((*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, *_CHINESE)), re.IGNORECASE)
HEDGED = re.compile(
    r"\b(?:will|would|should|could|once|not|can't|cannot|never|no|examples?|apologi[sz]e|placeholder|assum\w+|imagine|suppose"
    r"|might|may|when|(?:last|that|one) (?:year|month|week|night|summer)|yesterday|ago|your? \w+ says|lie|typical|phrase|saying|said|says that|nicht|kein\w*|würde|könnte|werde|nachdem|wenn|pas|jamais|nunca"
    r"|quand|cuando)\b|n't\b|\bn['’]ai\b|\bno (?:he|hay)\b|没有|无法|如果|不能|可以|将|例如",
    re.IGNORECASE,
)
CONDITION = re.compile(
    r"\b(?:if|falls|wenn|cuando|quand|lorsque|years ago|you (?:write|wrote|say|have said)|you (?:have )?(?:attached|pasted|shared|sent|uploaded|quoted|provided|gave))\b",
    re.IGNORECASE,
)
