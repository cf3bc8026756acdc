"""`unit_conversion`: lengths, masses, volumes, times, speeds, temperatures and amounts of data."""

from ai_battle import tool

# Each unit in the first one of its kind.
KINDS: tuple[dict[str, float], ...] = (
    {
        "m": 1,
        "km": 1000,
        "cm": 0.01,
        "mm": 0.001,
        "mi": 1609.344,
        "yd": 0.9144,
        "ft": 0.3048,
        "in": 0.0254,
        "nmi": 1852,
    },
    {"kg": 1, "g": 0.001, "mg": 1e-6, "t": 1000, "lb": 0.45359237, "oz": 0.028349523125, "st": 6.35029318},
    {
        "l": 1,
        "ml": 0.001,
        "m3": 1000,
        "gal": 3.785411784,
        "qt": 0.946352946,
        "cup": 0.2365882365,
        "floz": 0.0295735295625,
    },
    {"s": 1, "ms": 0.001, "min": 60, "h": 3600, "day": 86_400, "week": 604_800},
    {"m/s": 1, "km/h": 1 / 3.6, "mph": 0.44704, "kn": 1852 / 3600},
    {"byte": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
    {"j": 1, "kj": 1000, "cal": 4.184, "kcal": 4184, "kwh": 3.6e6},
)
# Kelvin = (value + offset) * factor
TEMPERATURES = {"k": (0.0, 1.0), "c": (273.15, 1.0), "f": (459.67, 5 / 9)}


@tool
def unit_conversion(value: float, from_unit: str, to_unit: str) -> dict[str, float | str]:
    """Convert a value from one unit to another.

    Args:
        value: The number to convert.
        from_unit: Its unit, such as km, lb, gal, h, mph, GiB, kWh, F.
        to_unit: The unit that is wanted.
    """
    return {"value": _convert(value, _plain(from_unit), _plain(to_unit)), "unit": to_unit}


def _plain(unit: str) -> str:
    return unit.strip().lower().replace("\N{DEGREE SIGN}", "")


def _convert(value: float, given: str, wanted: str) -> float:
    if given in TEMPERATURES and wanted in TEMPERATURES:
        (offset, factor), (offset_wanted, factor_wanted) = TEMPERATURES[given], TEMPERATURES[wanted]
        return round((value + offset) * factor / factor_wanted - offset_wanted, 10)
    for units in KINDS:
        if given in units and wanted in units:
            return float(f"{value * units[given] / units[wanted]:.12g}")
    known = ", ".join([*(unit for units in KINDS for unit in units), *TEMPERATURES])
    raise ValueError(f"{given!r} can't be converted to {wanted!r}; these units are known: {known}")
