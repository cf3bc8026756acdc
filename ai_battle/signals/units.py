"""Knows units of measurement, and what a number is multiplied by to be in another one."""

import re
from itertools import product
from math import prod

from .numbers import SCALE_WORDS

_SECONDS = {
    0.001: "ms",
    1.0: "s sec secs second seconds Sekunden",
    60.0: "min mins minute minutes Minute Minuten dakika",
    3_600.0: "h hr hrs hour hours Stunde Stunden heure heures hora horas ora ore uur uren godzin godzina saat",
    86_400.0: "day days Tag Tage Tagen jour jours día días dia dias giorno giorni dag dagen dni gün",
    604_800.0: "week weeks Woche Wochen",
}
_METRIC = {
    "length": "mm cm dm m km meter meters metre metres Meter",
    "mass": "mg g kg t gram grams kilo kilos",
    "volume": "ml cl dl l L liter liters litre litres Liter",
    "energy": "W kW MW Wh kWh MWh J kJ cal kcal",
    "data": "KB MB GB TB",
    "money": "cent cents ct dollar dollars euro euros Cent Euro centimes centavos",
    "scale": " ".join(word for word in SCALE_WORDS if word != "M"),
}
_OTHER_UNITS = {
    "time": "month months year years",
    "length": "in inch inches ft foot feet yd yard yards mi mile miles",
    "mass": "lb lbs oz pound pounds ounce ounces ton tons",
    "volume": "cup cups tbsp tsp gallon gallons quart quarts pint pints",
}
_SECONDS_OF = {unit: seconds for seconds, names in _SECONDS.items() for unit in names.split()}
_TENS = frozenset(" ".join(_METRIC.values()).split())
_DIMENSION_OF = dict.fromkeys(_SECONDS_OF, "time") | {
    unit: dimension for table in (_METRIC, _OTHER_UNITS) for dimension, names in table.items() for unit in names.split()
}
_POWER_OF = {
    prefix + base: power
    for prefix, power in {"m": -3, "c": -2, "d": -1, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}.items()
    for base in ("m", "g", "l", "W", "Wh", "J", "cal", "B")
}
_UNIT = re.compile(r"(?<![^\W_])([^\W\d_]{1,9})(?![^\W_])|(?<=\d)([^\W\d_]{1,3})(?![^\W_])")
_POWERS = "\u00b2\u00b3"
_POWERS_OF_TEN, _MOST_TIMES = tuple(10.0**power for power in range(-9, 10)), 3
_ADDED = re.compile(r"(?<=[^\s(*/]) ?[-+]")


def units(text: str) -> list[tuple[str, str]]:
    """Returns the dimension and the name of each unit, in order."""
    found = (one or glued for one, glued in _UNIT.findall(text))
    bare = ((name.rstrip(_POWERS), name) for name in found)
    return [(_DIMENSION_OF[unit] + name[len(unit) :], name) for unit, name in bare if unit in _DIMENSION_OF]


def conversions(left: str, right: str) -> set[float]:
    """Returns what the value of `left` may be multiplied by to be in the unit of `right`, or nothing if unclear."""
    before, scales = _names_and_scales(left)
    behind, scales_behind = _names_and_scales(right)
    terms = len(_ADDED.findall(left)) + 1
    if terms > 1 and not (_share_scale(terms, scales) and _share_unit(terms, before, behind)):
        return set()
    named: dict[str, set[str]] = {}
    for name in (*before, *behind):
        named.setdefault(_DIMENSION_OF[name].replace("volume", "length"), set()).add(name)
    factors = [*map(_factors, named.values()), *([_POWERS_OF_TEN] if scales or scales_behind else [])]
    return set(map(prod, product(*factors)))


def ratio(unit: str, other: str) -> set[float]:
    """Returns what a value in one metric unit is multiplied by to be in another, or nothing if one is unknown."""
    one, another = unit.strip(), other.strip()
    if not {one, another} <= _POWER_OF.keys() or _DIMENSION_OF.get(one) != _DIMENSION_OF.get(another):
        return set()
    return {10.0 ** (_POWER_OF[one] - _POWER_OF[another])}


def _names_and_scales(side: str) -> tuple[list[str], list[str]]:
    """Returns the names of units, and of scales such as million."""
    names = [name.rstrip(_POWERS) for _, name in units(side)]
    scales = [name for name in names if _DIMENSION_OF[name] == "scale"]
    return [name for name in names if name not in scales], scales


def _share_scale(terms: int, scales: list[str]) -> bool:
    return len(scales) in (0, terms) and len({*scales}) <= 1


def _share_unit(terms: int, before: list[str], behind: list[str]) -> bool:
    """Checks whether added terms share a unit. A variable looks like a unit of one letter that only one side has."""
    if set(before) == set(behind):
        return True
    if len({*before}) > 1 or len({*behind}) > 1 or len(before) not in (0, terms):
        return False
    return bool(before and behind) or len((before or behind)[0]) > 1


def _factors(names: set[str]) -> tuple[float, ...]:
    """Returns the ratios of units of one dimension; nothing if they are not known exactly."""
    if len(names) == 1:
        return (1.0,)
    if names <= _TENS:
        return _POWERS_OF_TEN
    if names <= _SECONDS_OF.keys() and len(names) <= _MOST_TIMES:
        return tuple(_SECONDS_OF[one] / _SECONDS_OF[other] for one, other in product(names, repeat=2))
    return ()


def has_conversion(text: str) -> bool:
    """Checks whether a text names two units of one dimension or millions, so that it may state a quantity twice."""
    names: dict[str, str] = {"scale": ""}
    volumes = ((dimension.replace("length\u00b3", "volume"), name) for dimension, name in units(text))
    return any(names.setdefault(dimension, name) != name for dimension, name in volumes)
