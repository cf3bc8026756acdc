"""Builds live clients from checked configuration; the only package that knows every mechanism.

Most discussions have no pairs, no veil and no recording, and many no tools. The modules that these need are half of the
package, so each is imported on first use, as in `assembly.recipes`.
"""

from typing import TYPE_CHECKING

from ..core.plugins import on_first_use

if TYPE_CHECKING:
    from ..providers import replay as replay
    from . import pairing as pairing
    from . import recipes as recipes
    from . import shadows as shadows
    from . import tooling as tooling
    from . import veiling as veiling
else:
    __getattr__ = on_first_use(
        __name__,
        replay="ai_battle.providers.replay:",
        **{name: f"{__name__}.{name}:" for name in ("pairing", "recipes", "shadows", "tooling", "veiling")},
    )
