"""The picture of a calibration can be read."""

import re
from itertools import pairwise

from ai_battle.collaboration._stuck.calibrating import Answer, Target, calibrate
from ai_battle.reporting.calibration import page

RIGHT, WRONG = "7 * 24 = 168. The answer is 168.", "7 * 24 = 158. The answer is 158."


def test_each_line_has_a_name_and_no_two_names_lie_upon_each_other() -> None:
    answers = [
        Answer("A tray holds 24 rolls. How many are on 7 trays?", RIGHT if n % 3 else WRONG, float(n % 3 > 0), 1.0)
        for n in range(60)
    ]
    drawn = page(calibrate(answers, Target("help_rate", 0.3)), "For a help rate of 0.3")

    names = {name: float(y) for y, name in re.findall(r'<text x="648" y="([\d.]+)"[^>]*>(\w+)</text>', drawn)}
    heights = sorted(names.values())
    assert {*names} == {"detector", "length", "oracle", "random", "never", "always"}
    assert min(b - a for a, b in pairwise(heights)) >= 12
