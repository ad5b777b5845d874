"""How sentences and tables count and measure: `1 trial`, `3 trials`, `1,321 Mbps`, `98 %`, `+124 %`.

The web UI makes its figures the same way (`webui/src/maths/format.ts`): one test has both make the same ones.
"""

import math

WHOLE = ("requests/s", "connections")
"""Units whose values are told to the last digit."""
DIGITS = 3
DECIMALS = 6


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun, which gets an s from two on where there is no other `plural`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def in_digits(value: float | None) -> str:
    """A figure in three digits, whole from 100 on, thousands set apart; empty where there is none."""
    if not value:
        return "" if value is None else "0"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{DIGITS}g}"))))
    return f"{value:,.{min(DECIMALS, max(0, DIGITS - 1 - magnitude))}f}"


def in_unit(value: float, unit: str) -> str:
    """A figure with its unit, which is empty for a mere number."""
    if unit == "1/s":
        return f"{in_digits(value)}/s"
    return f"{f'{value:,.0f}' if unit in WHOLE else in_digits(value)} {unit}".rstrip()


def in_time(time_us: float) -> str:
    """A time in the unit in which it has up to three digits before the point, as the pages tell it."""
    for unit, us in (("s", 1e6), ("ms", 1e3)):
        if time_us >= 0.9995 * us:  # what is rounded to a thousand is one of the next unit
            return in_unit(time_us / us, unit)
    return in_unit(time_us, "µs")


def in_mbps(goodput_mbps: float) -> str:
    """Goodput or a score with its unit."""
    return in_unit(goodput_mbps, "Mbps")


def in_percent(share: float, decimals: int = 0) -> str:
    """A share of 1."""
    return f"{100 * share:.{decimals}f} %"


def in_change(share: float) -> str:
    """A gain or a loss with its sign, with a decimal below ten: `+1.2 %`, `+124 %`, `-0.4 %`.

    Of a fall that leaves less than half a percent, what is left has two digits: `-99.73 %`, and not `-100 %`.
    Zero has no sign.
    """
    percent = 100 * share
    left = 100 + percent
    decimals = 1 if float(f"{abs(percent):.1f}") < 10 else 0
    if 0 < left < 0.5:
        decimals = min(DECIMALS, 1 - math.floor(math.log10(left)))
    text = f"{percent:+,.{decimals}f} %"
    return text if round(percent, decimals) else text[1:]


def in_confidence(share: float) -> str:
    """How sure an interval is: `95 %`, `98.3 %`."""
    return f"{100 * share:.3g} %"
