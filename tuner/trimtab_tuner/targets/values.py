"""Reading values out of servers' configuration files, with one sentence when they make no sense."""

import math
import re
from collections.abc import Iterable

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.space import Knob
from trimtab_tuner.targets.base import RenderError

SIZE_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DAY_S = 86_400
# Those of nginx, as in 1h30m, and of Apache, as in 5min; a number without one is of seconds.
_TIME_UNITS_S = {
    "ms": 0.001, "s": 1, "m": 60, "mi": 60, "min": 60, "h": 3600, "d": _DAY_S, "w": 7 * _DAY_S,
    "M": 30 * _DAY_S, "y": 365 * _DAY_S, "": 1,
}  # fmt: skip
_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)
_TIME_PART = re.compile(r" *(\d+)(ms|min|mi|[smhdwMy]|)(?![^\d ])", re.ASCII)


def integer(name: str, text: str) -> int:
    """A whole number of zero or more; RenderError names the setting."""
    if not text.isascii() or not text.isdigit():
        raise RenderError(f"{name} = {text}: expected a whole number")
    return int(text)


def number(name: str, text: str) -> Value:
    """A number of zero or more; one that is not whole, such as 1.5, stays the text that it is."""
    if _NUMBER.fullmatch(text) is None:
        raise RenderError(f"{name} = {text}: expected a number")
    return int(float(text)) if float(text).is_integer() else text


def size_bytes(name: str, text: str) -> int:
    """A size such as `512k` in bytes."""
    factor = SIZE_SUFFIXES.get(text[-1:].lower())
    return integer(name, text) if factor is None else integer(name, text[:-1]) * factor


def seconds(name: str, text: str) -> int:
    """A time such as `75s` or `1m30s` in seconds, rounded up to a whole one."""
    parts = list(_TIME_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise RenderError(f"{name} = {text}: expected a whole number, or a time as in 75s")
    return math.ceil(sum(int(part[1]) * _TIME_UNITS_S[part[2]] for part in parts))


def word(name: str, text: str, allowed: Iterable[Value]) -> str:
    """One of the allowed words, whatever its case; RenderError lists them."""
    words = [str(value) for value in allowed]
    if text.lower() not in words:
        raise RenderError(f"{name} = {text}: expected one of {', '.join(words)}")
    return text.lower()


def unquoted_path(path: str, forbidden: str) -> str:
    """The path, if none of its characters means something else in the server's language."""
    if any(character in path for character in forbidden + "\n"):
        listed = " ".join(forbidden)
        raise RenderError(f"{path!r}: expected a path without line break and without any of {listed}")
    return path


def within(knobs: Iterable[Knob], values: Configuration) -> Configuration:
    """The values in the order of the knobs; those that are not there stay out."""
    return {knob.name: values[knob.name] for knob in knobs if knob.name in values}
