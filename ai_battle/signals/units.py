"""Units of measure, and whether the two sides of a sum are of the same ones."""

import re

_DIMENSIONS = {
    "time": (
        "ms s sec secs min mins h hr hrs hour hours minute minutes second seconds day days week weeks month months year"
        " years Stunde Stunden Minute Minuten Sekunden Tag Tage Tagen Woche Wochen heure heures jour jours hora horas"
        " día días dia dias ora ore giorno giorni uur uren dag dagen godzin godzina dni saat dakika gün"
    ),
    "length": "mm cm dm m km in inch inches ft foot feet yd yard yards mi mile miles meter meters metre metres Meter",
    "mass": "mg g kg t lb lbs oz gram grams kilo kilos pound pounds ounce ounces ton tons",
    "volume": "ml cl dl l L liter liters litre litres Liter cup cups tbsp tsp gallon gallons quart quarts pint pints",
    "scale": (
        "thousand million billion trillion millions billions Mio Mrd Millionen Milliarden Tausend millones millions"
        " milliard milliards mille mil milhões milhares milioni miliardi miljoen miljard mln mld tys bin milyon milyar"
        " тыс млн млрд lakh crore"
    ),
    "money": "cent cents ct dollar dollars euro euros Cent Euro centimes centavos",
}
_OF = {unit: dimension for dimension, units in _DIMENSIONS.items() for unit in units.split()}
_UNIT = re.compile(r"(?<![^\W_])([^\W\d_]{1,9})(?![^\W_])|(?<=\d)([^\W\d_]{1,3})(?![^\W_])")
_POWERS = "\u00b2\u00b3"


def units(text: str) -> list[tuple[str, str]]:
    """Dimension and name of each unit that is written out, in order."""
    found = (one or glued for one, glued in _UNIT.findall(text))
    bare = ((name.rstrip(_POWERS), name) for name in found)
    return [(_OF[unit] + name[len(unit) :], name) for unit, name in bare if unit in _OF]


def are_comparable(left: str, right: str) -> bool:
    """Whether the numbers of a sum can be checked alone: what is converted on the way can't.

    Terms that are added are of one unit; a letter that stands for a number looks like a unit that comes and goes.
    """
    before, behind = units(left), units(right)
    if not before and not behind:
        return True
    if "+" in left or "-" in left:
        return set(before) == set(behind)
    names: dict[str, str] = {}
    return all(names.setdefault(dimension, name) == name for dimension, name in (*before, *behind))
