"""What a model may write to get out of a page, in every place that a model, a tool or a provider can write to."""

from typing import Any

import yaml

from ai_battle.arbiter.verdict import Rating, Verdict
from ai_battle.core.events import (
    AttemptFailed,
    Concluded,
    Event,
    ModelReplied,
    PromptGiven,
    RunFinished,
    RunStarted,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Warned,
)
from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.core.helping import (
    AnswerChecked,
    AnswersMerged,
    AnswersRanked,
    BoostStep,
    DraftDropped,
    HelpAsked,
    HelpDeclined,
    HelpFailed,
    HelpSummed,
    ModelConsulted,
    RunJudged,
    StuckFound,
)
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.core.tooling import FabricationSuspected, ToolDecided, ToolProposed

RANKED = {"rank": 1, "member": 1, "points": 1.0, "firsts": 1, "judges": 1, "cost_usd": 0.1, "seconds": 0.1}
OWN = "document.title='owned'"
HOSTILE = (
    "<script>document.title = 'owned'</script>"
    "<img src=x onerror=\"document.title = 'owned'\">"
    "</style><style>body { display: none }</style>"
    "[click](javascript:document.title='owned')"
)


def texts(address: str) -> tuple[str, ...]:
    """Each would run a script, load something from `address`, or change the page, where it were taken as markup."""
    return (
        f"<script>{OWN}</script>",
        f"<script src='{address}/s.js'></script>",
        f'<img src=x onerror="{OWN}"><img src="{address}/i.png" srcset="{address}/i2.png 2x">',
        f"<svg onload={OWN}><script>{OWN}</script><image href='{address}/svg.png'/></svg>",
        f"<iframe srcdoc='<script>parent.{OWN}</script>' src='{address}/frame'></iframe>",
        f"<details open ontoggle={OWN}><summary autofocus tabindex=1 onfocus={OWN}>x</summary></details>",
        f"<body onload={OWN}><input autofocus onfocus={OWN}><video src='{address}/v' autoplay onerror={OWN}>",
        f"</style><style>@import '{address}/c.css'; body {{ background: url({address}/b.png); display: none }}</style>",
        f"</title><meta http-equiv=refresh content='0;url={address}/refresh'><base href='{address}/'>",
        f"<link rel=stylesheet href='{address}/l.css'><link rel=prefetch href='{address}/p'>",
        f"<form action='{address}/f'><button formaction='javascript:{OWN}'>x</button></form>",
        f"<object data='{address}/o'></object><embed src='{address}/e'>",
        f"[x](javascript:{OWN}) [y](data:text/html,<script>{OWN}</script>) <javascript:{OWN}> ![z]({address}/md.png)",
        f"[r]: javascript:{OWN}\n\n[r] ![r]\n\n<{address}/auto>\n\n&#106;avascript:{OWN}",
        f"```html\n</pre></div></article></main><script>{OWN}</script>",
        f"| a | b |\n|---|---|\n| <script>{OWN}</script> | </td></table><img src=x onerror={OWN}> |",
        f"<!-- <![CDATA[ </pre></details></article> \x00<scr\x00ipt>{OWN}</script>",
        f"{{{{ ''.__class__ }}}} {{% include '/etc/passwd' %}} ${{7*7}} <%= 7*7 %> \" onmouseover=\"{OWN}\" x='",
        f"'\"></small></h2><script>{OWN}</script>\u2028{OWN}\u202e\x1b]0;owned\x07",
    )


def _verdict(name: str, line: str, bad: str) -> dict[str, Any]:
    ratings = (
        Rating(line, False, name, line, 5.0, bad, 1, bad),
        Rating(line, True, name, line, fault=bad, false_quotations=(bad, line)),
    )
    return Verdict((name,), (line,), {line: 1.0}, (1.0, 10.0), ratings, notes=(bad, line)).to_json()


def events(address: str) -> tuple[Event, ...]:
    """A run whose every text is all of these."""
    bad = "\n\n".join(texts(address))
    line = " ".join(texts(address))
    name = f"<b onclick={OWN}>Bo</b>"
    call = ToolCall(line, {line: [bad, {line: bad}], "b": bad}, "c1")
    steps = (
        Message("assistant", (Thinking(bad), Text(bad), call), name),
        Message("tool", (ToolResult(call, (Text(bad), Image("image/svg+xml", bad.encode())), is_error=True),), name),
    )
    spent = Usage(10, 5, cost_usd=0.1)
    said = {"type": line, "role": line, "persona": bad, "instructions": bad, "parameters": {line: bad}}
    config = {"config": yaml.safe_dump({"discussion": {"goal": bad, "models": {name: said}}})}
    helped: tuple[Event, ...] = (
        StuckFound(0.1, 0.9, bad, {"x": 1.0}, 1, name),
        HelpAsked(line, bad, line, name),
        ModelConsulted(line, "helper", bad, bad + "1", line, spent, 0.1, name),
        AnswerChecked(line, {"x": 1.0}, bad, name, bad + "2"),
        HelpFailed(line, bad, name),
        HelpDeclined(line, bad, name),
        BoostStep(0, "guidance", bad + "3", name),
        AnswersRanked(
            ({**RANKED, "label": line, "model": line},), ({"judge": line, "ranking": [line]},), (bad,), "", name
        ),
        AnswersMerged((line,), {line: bad}, (line,), name),
        DraftDropped(bad, spent, speaker=name, text=bad + "4", attempt=1),
        ToolProposed(call, "question", name),
        ToolDecided(call, "denied", "person", bad, name),
        FabricationSuspected(bad),
        AttemptFailed(line, 1, bad, 0.1, partial=bad, raw=bad, speaker=name),
        Warned(bad),
        ModelReplied(line, spent, 0.1, speaker=name, role="helper"),
    )
    return (
        RunStarted(line, line, {name: line, "Ann": "scripted"}, config),
        PromptGiven(user(bad)),
        SpeakerSelected(name, "fallback", bad),
        TurnStarted(1, 1, name),
        *helped,
        TurnFinished(1, 1, name, assistant(bad, name), spent, line, 0.1, 2, "length", steps),
        TurnStarted(2, 1, "Ann"),
        TurnFailed(2, 1, "Ann", bad, "skip", partial=bad),
        TurnStarted(3, 2, "Ann"),
        ModelReplied("scripted", spent, 0.2, speaker="Ann"),
        TurnFinished(3, 2, "Ann", assistant(bad, "Ann"), spent, "scripted", 0.2),
        Summarised(1, bad, NOTHING_USED, line),
        Concluded(name, bad, NOTHING_USED, line),
        HelpSummed(2, 1, 0.1, 0.2, 5, ({"participant": name, "role": line, "calls": 1, "input_tokens": 1,
                                        "output_tokens": 1, "cost_usd": 0.1, "seconds": 0.1},)),
        RunJudged(_verdict(name, line, bad)),
        RunFinished("failed", bad, 2, spent),
    )  # fmt: skip
