"""Serves models, pairs and boost loops to other programs.

What few requests need is imported on first use, as in `server.consulting`, so that workers start fast and stay small.
"""

from typing import TYPE_CHECKING

from ..core.plugins import on_first_use

__all__ = ["boost_reply", "consulting", "pair_evidence", "tool_formats"]

if TYPE_CHECKING:
    from ..collaboration import _boost_reply as boost_reply
    from ..reporting import pair_evidence
    from ..tools.formats import auto as tool_formats
    from . import consulting
else:
    __getattr__ = on_first_use(
        __name__,
        boost_reply="ai_battle.collaboration._boost_reply:",
        consulting="ai_battle.server.consulting:",
        pair_evidence="ai_battle.reporting.pair_evidence:",
        tool_formats="ai_battle.tools.formats.auto:",
    )
