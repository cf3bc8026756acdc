"""No fence: what is always in force, and nothing else. For those who asked for it twice."""

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS


class Unfenced(Fence):
    """Code can read and change whatever the user can."""

    name = "none"
    alone = False
    layers = ALWAYS

    def inside(self, site: Site) -> Inside:
        temporary = site.scratch / "tmp"
        temporary.mkdir()
        return Inside(str(site.scratch / site.program), str(temporary), (), (), (str(site.workspace), str(temporary)))
