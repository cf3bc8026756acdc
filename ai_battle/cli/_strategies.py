"""The strategies of pairs, as the help of commands tells them; a test holds them against the code."""

MEASURED = ("cascade", "council", "handover", "peer", "takeover")
EXPERIMENTAL = ("boost", "critique", "draft_verify", "ladder", "minion", "rescue", "vote")

STRATEGIES = (
    f"Strategies of pairs: {', '.join(MEASURED)}; experimental, as no figure of theirs was measured yet: "
    f"{', '.join(EXPERIMENTAL)}."
)
