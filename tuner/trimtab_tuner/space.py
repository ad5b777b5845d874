"""The knobs of a target and the space of configurations they span.

A `Knob` describes one parameter: which values it may take, on which scale they are spread, what it costs. A
`Space` is the knobs of one run. Some of them are *free* (the strategy chooses), the others are *fixed*. Both
are frozen; `restrict` and `fix` return a new space, so a run's space is built by a chain of calls from its
target's space. `model_dump` of either gives the JSON from which the browser builds its form.
"""

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Literal, Self, TypeVar

from pydantic import Field, model_validator
from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.roles import Role

Setting = TypeVar("Setting")

LOOKED_THROUGH = 1000  # configurations, when a space is asked whether there is anything to try


class SpaceError(ValueError):
    """A knob, value or range that the space does not allow; `knob` names the offender."""

    def __init__(self, knob: str, message: str) -> None:
        super().__init__(message)
        self.knob = knob


class Knob(Frozen):
    """One tunable parameter.

    `integer` knobs have `low`, `high` and a `scale`; `ordinal` (ordered) and `categorical` (unordered) knobs
    have `choices`. The default is always an allowed value, even outside a restricted range: it is the
    reference every run measures. `resource_weight` is the rough cost of one unit of the value in KiB of
    memory, used to break ties. `scope` says what the value counts for: each `worker`, the `total` over the
    workers, the `server` as such; of the kernel's knobs (`targets/kernel.py`) the network `namespace`, or the
    whole `host`. `role` is what it does, in the words that all servers share (`roles.py`). With `each_cpu`
    the default is one for each CPU that the server has, as nginx's `auto`, and the number is what that is in
    the run.
    """

    name: str
    role: Role | None = None
    kind: Literal["integer", "ordinal", "categorical"]
    scale: Literal["linear", "log"] = "linear"
    low: int | None = None
    high: int | None = None
    choices: tuple[Value, ...] = ()
    default: Value
    unit: str = ""
    resource_weight: float = Field(default=0.0, ge=0)
    needs_restart: bool = True
    scope: Literal["worker", "total", "server", "namespace", "host"] = "server"
    each_cpu: bool = False
    help: str

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kind == "integer":
            if self.low is None or self.high is None or self.choices:
                raise ValueError(f"{self.name}: an integer knob has low and high, and no choices")
            if self.low > self.high:
                raise ValueError(f"{self.name}: low {self.low} is above high {self.high}")
            if self.scale == "log" and self.low < 1:
                raise ValueError(f"{self.name}: a log scale starts at 1 or above, not at {self.low}")
        elif not self.choices or len(set(self.choices)) != len(self.choices):
            raise ValueError(f"{self.name}: an {self.kind} knob has at least one choice, each once")
        return self

    def of(self, settings: Mapping[str, Setting]) -> Setting | None:
        """What settings by knob or by role say of this knob: under its name, else under its role."""
        if self.name in settings:
            return settings[self.name]
        return None if self.role is None else settings.get(self.role)

    @property
    def allowed(self) -> str:
        """The allowed values in words, for messages."""
        if self.kind == "integer":
            return f"an integer from {self.low} to {self.high}"
        return "one of " + ", ".join(str(choice) for choice in self.choices)

    def contains(self, value: Value) -> bool:
        """Whether the value lies in the knob's range or among its choices (the default may not)."""
        if isinstance(value, bool):
            return False
        if self.kind == "integer":
            return isinstance(value, int) and self._low <= value <= self._high
        return value in self.choices

    def check(self, value: Value) -> Value:
        """Return the value if it is allowed, else raise SpaceError."""
        is_default = value == self.default and not isinstance(value, bool)
        if not is_default and not self.contains(value):
            raise SpaceError(self.name, f"{self.name} = {value!r}: expected {self.allowed}")
        return value

    def told(self, value: Value) -> str:
        """The value in words: a default that is one for each CPU is that, not the number that it is here."""
        return "one for each CPU" if self.each_cpu and value == self.default else str(value)

    @property
    def of_kernel(self) -> bool:
        """Whether it is the kernel's: it counts for more than the server."""
        return self.scope in ("namespace", "host")

    @property
    def count(self) -> int:
        """How many values the knob may take."""
        return self._high - self._low + 1 if self.kind == "integer" else len(self.choices)

    def values(self) -> tuple[Value, ...]:
        """Every value in the knob's range, or its choices."""
        return tuple(range(self._low, self._high + 1)) if self.kind == "integer" else self.choices

    def grid(self, points: int) -> tuple[Value, ...]:
        """At most `points` distinct values spread evenly on the knob's scale, both ends included.

        Integers are rounded, inner ones on a log scale to two significant digits. Categories have no order
        to thin out by, so all of them are given whatever `points` says; ordinals keep both ends.
        """
        if points < 1:
            raise ValueError(f"{self.name}: a grid has at least one point, not {points}")
        if self.kind == "categorical":
            return self.choices
        if self.kind == "ordinal":
            last = len(self.choices) - 1
            indices = {round(last * i / max(points - 1, 1)) for i in range(points)}
            return tuple(self.choices[i] for i in sorted(indices))
        inner = {self.at(i / (points - 1)) for i in range(1, points - 1)}
        ends = {self._low, self._high} if points > 1 else {self.at(0.5)}
        return tuple(sorted(ends | {int(v) for v in inner}))

    def position(self, value: Value) -> float:
        """Where the value lies on the knob's scale: 0 at the low end, 1 at the high end (may lie outside).

        For categories it is only a label: the index over the number of choices.
        """
        if self.kind == "integer" and isinstance(value, int):
            if self.low == self.high:
                return 0.0
            if self.scale == "log":
                return math.log(max(value, 0.5) / self._low) / math.log(self._high / self._low)
            return (value - self._low) / (self._high - self._low)
        if value not in self.choices:  # a default outside a restricted set
            return 0.0
        return self.choices.index(value) / max(len(self.choices) - 1, 1)

    def at(self, position: float) -> Value:
        """The value at a position of 0 to 1 on the knob's scale, rounded as in `grid`."""
        position = min(max(position, 0.0), 1.0)
        if self.kind != "integer":
            return self.choices[round(position * (len(self.choices) - 1))]
        if position in (0.0, 1.0):
            return self._high if position else self._low
        if self.scale == "log":
            value = float(self._low * (self._high / self._low) ** position)
            digits = max(0, math.floor(math.log10(value)) - 1)
            unit = int(10**digits)
            rounded = round(value / unit) * unit
        else:
            rounded = round(self._low + position * (self._high - self._low))
        return min(max(rounded, self._low), self._high)

    @property
    def _low(self) -> int:
        assert self.low is not None  # noqa: S101 - the validator has seen to it
        return self.low

    @property
    def _high(self) -> int:
        assert self.high is not None  # noqa: S101 - the validator has seen to it
        return self.high


class AtMost(Frozen):
    """The constraint that one integer knob's value is at most another's; several stand for their product.

    It does not bind while one of them has a word for a value (`all`, `inf`).
    """

    smaller: str | tuple[str, ...]
    larger: str | tuple[str, ...]

    @property
    def knob(self) -> str:
        """The knob to be blamed."""
        return _names(self.smaller)[0]

    def may_break(self, fixed: Configuration) -> bool:
        """Whether it may still be broken when these values are fixed, which do not break it."""
        return any(name not in fixed for side in (self.smaller, self.larger) for name in _names(side))

    def broken(self, configuration: Configuration) -> str | None:
        """The sentence that says how the configuration breaks it; None if it does not."""
        smaller, larger = (
            {name: configuration[name] for name in _names(side)} for side in (self.smaller, self.larger)
        )
        product, bound = _product(smaller), _product(larger)
        if product is None or bound is None or product <= bound:
            return None
        sides = (
            " × ".join(f"{name} = {value}" for name, value in side.items()) for side in (smaller, larger)
        )
        return ": expected at most ".join(sides)


def _names(side: str | tuple[str, ...]) -> tuple[str, ...]:
    return (side,) if isinstance(side, str) else side


def _product(values: Configuration) -> int | None:
    """The product of the values; None if one of them is a word."""
    numbers = [value for value in values.values() if isinstance(value, int)]
    return math.prod(numbers) if len(numbers) == len(values) else None


class OnlyWith(Frozen):
    """The constraint that a knob keeps the value `otherwise` unless another one has a certain value.

    The other's value is to be above `above`, or among `among`. With `values` only those are bound to it, and
    all others are free.
    """

    knob: str
    values: tuple[Value, ...] = ()
    otherwise: Value
    other: str
    above: int | None = None
    among: tuple[Value, ...] = ()

    def may_break(self, fixed: Configuration) -> bool:
        """Whether it may still be broken when these values are fixed, which do not break it."""
        if self.knob in fixed and (self.other in fixed or self._leaves(fixed[self.knob])):
            return False
        return self.other not in fixed or not self._has(fixed[self.other])

    def _leaves(self, value: Value) -> bool:
        """Whether the knob may have the value whatever the other's is."""
        return value == self.otherwise or bool(self.values and value not in self.values)

    def _has(self, other: Value) -> bool:
        """Whether the other's value is one that leaves the knob free."""
        above = self.above is not None and isinstance(other, int) and other > self.above
        return above or other in self.among

    def broken(self, configuration: Configuration) -> str | None:
        """The sentence that says how the configuration breaks it; None if it does not."""
        value, other = configuration[self.knob], configuration[self.other]
        if self._leaves(value) or self._has(other):
            return None
        instead = f"another value, such as {self.otherwise}," if self.values else self.otherwise
        return f"{self.knob} = {value}: expected {instead} where {self.other} = {other}"


class Space(Frozen):
    """The knobs of one run, the values of those that are fixed, and what must hold between them."""

    knobs: tuple[Knob, ...]
    fixed: Configuration = Field(default_factory=dict)
    constraints: tuple[AtMost | OnlyWith, ...] = ()

    @property
    def free(self) -> tuple[Knob, ...]:
        """The knobs that the strategy may set."""
        return tuple(knob for knob in self.knobs if knob.name not in self.fixed)

    def knob(self, name: str) -> Knob:
        """The knob of that name; SpaceError if there is none."""
        for knob in self.knobs:
            if knob.name == name:
                return knob
        names = ", ".join(knob.name for knob in self.knobs)
        raise SpaceError(name, f"{name}: no such knob; expected one of {names}")

    def of_role(self, *roles: Role) -> Knob | None:
        """The knob of the first of these roles that this server has; None if it has none of them."""
        return next((knob for role in roles for knob in self.knobs if knob.role is role), None)

    def default(self) -> Configuration:
        """The default of each free knob and the value of each fixed one."""
        return {knob.name: self.fixed.get(knob.name, knob.default) for knob in self.knobs}

    def with_defaults(self, values: Configuration) -> "Space":
        """The space that begins at these values: they are the defaults, and what is fixed is fixed at them.

        They need not be in the range of their knobs (a user's own file may set anything).
        """
        knobs = tuple(k.model_copy(update={"default": values.get(k.name, k.default)}) for k in self.knobs)
        fixed = {name: values.get(name, value) for name, value in self.fixed.items()}
        return self.model_copy(update={"knobs": knobs, "fixed": fixed})

    def with_each_cpu(self, names: Collection[str]) -> "Space":
        """The space in which the defaults of these knobs are one for each CPU of the server."""
        knobs = tuple(k.model_copy(update={"each_cpu": k.each_cpu or k.name in names}) for k in self.knobs)
        return self.model_copy(update={"knobs": knobs})

    def check(self, configuration: Configuration) -> Configuration:
        """Return the complete configuration: knobs left out are filled in from `default`.

        Raises SpaceError for an unknown knob, a value not allowed, a fixed knob set to something else, or a
        broken constraint.
        """
        complete = self.default()
        for name, value in configuration.items():
            complete[name] = self.knob(name).check(value)
            if name in self.fixed and value != self.fixed[name]:
                raise SpaceError(
                    name, f"{name} = {value!r}: expected {self.fixed[name]!r}, it is fixed in this run"
                )
        for constraint in self.constraints:
            sentence = constraint.broken(complete)
            if sentence is not None:
                raise SpaceError(constraint.knob, sentence)
        return complete

    def allows(self, configuration: Configuration) -> bool:
        """Whether `check` would accept the configuration."""
        try:
            self.check(configuration)
        except SpaceError:
            return False
        return True

    def settled(self, configuration: Configuration) -> Configuration:
        """The configuration with each free knob that the others leave no choice at the value it has then.

        For drawing: of configurations drawn knob by knob hardly one would meet a dozen conditions by chance.
        """
        settled, free = dict(configuration), {knob.name for knob in self.free}
        for constraint in self.constraints:
            if isinstance(constraint, OnlyWith) and constraint.knob in free and constraint.broken(settled):
                settled[constraint.knob] = constraint.otherwise
        return settled

    def without_idle_constraints(self) -> "Space":
        """The space without the constraints that no configuration of it can break, as each costs at every
        check; for a space whose fixed values break none.
        """
        constraints = tuple(c for c in self.constraints if c.may_break(self.fixed))
        return self.model_copy(update={"constraints": constraints})

    def restrict(
        self,
        name: str,
        *,
        low: int | None = None,
        high: int | None = None,
        choices: tuple[Value, ...] | None = None,
    ) -> "Space":
        """Narrow a knob to a part of its range or choices and set it free if it was fixed.

        Raises SpaceError if the part is empty or reaches outside what the knob allows.
        """
        knob = self.knob(name)
        if knob.kind == "integer":
            if choices is not None:
                raise SpaceError(
                    name, f"{name}: an integer knob is restricted by low and high, not by choices"
                )
            new_low, new_high = knob.low if low is None else low, knob.high if high is None else high
            for bound in (new_low, new_high):
                if bound is None or not knob.contains(bound):
                    raise SpaceError(name, f"{name}: bound {bound!r}: expected {knob.allowed}")
            if new_low is not None and new_high is not None and new_low > new_high:
                raise SpaceError(name, f"{name}: low {new_low} is above high {new_high}")
            narrowed = knob.model_copy(update={"low": new_low, "high": new_high})
        else:
            if low is not None or high is not None:
                raise SpaceError(name, f"{name}: restricted by choices, not by low and high")
            if not choices:
                raise SpaceError(name, f"{name}: choices is empty; expected at least {knob.allowed}")
            for choice in choices:
                if not knob.contains(choice):
                    raise SpaceError(name, f"{name}: choice {choice!r}: expected {knob.allowed}")
            in_order = tuple(choice for choice in knob.choices if choice in choices)
            narrowed = knob.model_copy(update={"choices": in_order})
        knobs = tuple(narrowed if k.name == name else k for k in self.knobs)
        fixed = {k: v for k, v in self.fixed.items() if k != name}
        return self.model_copy(update={"knobs": knobs, "fixed": fixed})

    def without(self, name: str, values: tuple[Value, ...]) -> "Space":
        """The space without these values of a knob; SpaceError if it has one of them already."""
        knob = self.knob(name)
        now = self.fixed.get(name, knob.default)
        left = knob.model_copy(update={"choices": tuple(c for c in knob.choices if c not in values)})
        if now in values:
            raise SpaceError(name, f"{name} = {now!r}: expected {left.allowed}")
        return self.model_copy(update={"knobs": tuple(left if k.name == name else k for k in self.knobs)})

    def fix(self, name: str, value: Value) -> "Space":
        """Take a knob out of the free set, at that value; SpaceError if the value is not allowed."""
        self.knob(name).check(value)
        return self.model_copy(update={"fixed": {**self.fixed, name: value}})

    def kept(self, name: str) -> "Space":
        """Take a knob out of the free set, at its default, whatever that is; SpaceError if there is none."""
        return self.model_copy(update={"fixed": {**self.fixed, name: self.knob(name).default}})

    def every(self, limit: int) -> tuple[Configuration, ...] | None:
        """All configurations that the space allows; None if its free knobs combine in over `limit` ways."""
        if math.prod(knob.count for knob in self.free) > limit:
            return None
        names = [knob.name for knob in self.free]
        default = self.default()
        combinations = itertools.product(*(knob.values() for knob in self.free))
        found = ({**default, **dict(zip(names, values, strict=True))} for values in combinations)
        return tuple(configuration for configuration in found if self.allows(configuration))

    def nothing_to_try(self) -> str:
        """Why no configuration but the default can be tried, in a sentence; empty if one may be.

        A small space is looked through; of a larger one only the ends of its ranges are.
        """
        if not self.free:
            return "every knob is fixed: expected at least one knob that is free to tune"
        bounds = (c for c in self.constraints if isinstance(c, AtMost))
        broken = next((s for c in bounds if (s := c.broken(self._kindest(c))) is not None), None)
        if broken is not None:
            return f"no configuration is possible: {broken}"
        few = self.every(LOOKED_THROUGH)
        if few is None or any(configuration != self.default() for configuration in few):
            return ""
        names = ", ".join(knob.name for knob in self.free)
        return f"only the default is possible: expected a second value for one of the free knobs ({names})"

    def _kindest(self, constraint: AtMost) -> Configuration:
        """The configuration that is farthest from breaking the constraint."""
        smaller, larger = _names(constraint.smaller), _names(constraint.larger)
        ends = {k.name: k.at(float(k.name in larger)) for k in self.free if k.name in (*smaller, *larger)}
        return {**self.default(), **ends}

    def resource_cost(self, configuration: Configuration) -> float:
        """Rough memory cost in KiB, for breaking ties: the sum of weight times value over numeric knobs."""
        return sum(
            knob.resource_weight * value
            for knob in self.knobs
            if isinstance(value := configuration.get(knob.name), int)
        )


class ListedSpace(Space):
    """A space of which only certain configurations exist, such as the cells of a recorded table."""

    configurations: tuple[Configuration, ...]

    def check(self, configuration: Configuration) -> Configuration:
        """As `Space.check`; also refuses what is not listed."""
        complete = super().check(configuration)
        if complete not in self.configurations:
            settings = ", ".join(f"{name}={complete[name]}" for name in (knob.name for knob in self.free))
            raise SpaceError(self.free[0].name, f"{settings}: not among the listed configurations")
        return complete

    def every(self, limit: int) -> tuple[Configuration, ...] | None:
        """The configurations listed, or None if there are over `limit`."""
        return self.configurations if len(self.configurations) <= limit else None
