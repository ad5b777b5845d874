"""Knobs, spaces and hashes."""

import itertools
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from trimtab_trials.configuration import configuration_hash
from trimtab_tuner.space import AtMost, Knob, OnlyWith, Space, SpaceError

WORKERS = Knob(
    name="workers",
    kind="integer",
    scale="log",
    low=1,
    high=1024,
    default=1,
    resource_weight=1000,
    scope="total",
    help="Processes.",
)
CONNECTIONS = Knob(
    name="max_connections",
    kind="integer",
    scale="log",
    low=1,
    high=1_000_000,
    default=1024,
    resource_weight=1,
    scope="total",
    help="Connections.",
)
SENDFILE = Knob(
    name="sendfile",
    kind="categorical",
    choices=("nonblocking", "blocking"),
    default="nonblocking",
    help="Mode.",
)
LIMIT = Knob(name="accept_limit", kind="ordinal", choices=(1, 8, 64, "inf"), default="inf", help="Accepts.")
SPACE = Space(
    knobs=(SENDFILE, WORKERS, CONNECTIONS, LIMIT),
    fixed={"accept_limit": "inf"},
    constraints=(AtMost(smaller="workers", larger="max_connections"),),
)


@pytest.mark.parametrize(
    ("knob", "value", "sentence"),
    [
        (WORKERS, 0, "workers = 0: expected an integer from 1 to 1024"),
        (WORKERS, True, "workers = True: expected an integer from 1 to 1024"),
        (WORKERS, "1", "workers = '1': expected an integer from 1 to 1024"),
        (SENDFILE, "off", "sendfile = 'off': expected one of nonblocking, blocking"),
        (LIMIT, 2, "accept_limit = 2: expected one of 1, 8, 64, inf"),
    ],
)
def test_bad_value_is_refused_with_knob_value_and_what_is_allowed(knob, value, sentence):
    """The error names the knob, the value and the allowed values."""
    with pytest.raises(SpaceError) as error:
        knob.check(value)
    assert sentence == str(error.value)
    assert knob.name == error.value.knob


@given(
    low=st.integers(1, 1000),
    span=st.integers(0, 1_000_000),
    points=st.integers(2, 40),
    scale=st.sampled_from(["linear", "log"]),
)
def test_integer_grid_is_distinct_ascending_and_has_both_ends(low, span, points, scale):
    """Whatever the range, a grid holds at most the wanted number of values, in range, from end to end."""
    knob = Knob(name="k", kind="integer", scale=scale, low=low, high=low + span, default=low, help="")
    grid = knob.grid(points)
    assert list(grid) == sorted(set(grid))
    assert len(grid) <= points
    assert (grid[0], grid[-1]) == (low, low + span)


def test_log_grid_has_round_values_a_constant_ratio_apart():
    """Inner values of a log grid are rounded to two digits."""
    knob = CONNECTIONS.model_copy(update={"low": 64, "high": 16_384})
    assert knob.grid(5) == (64, 260, 1000, 4100, 16_384)


def test_categorical_grid_has_every_choice():
    """Categories have no order to thin out by."""
    assert SENDFILE.grid(1) == ("nonblocking", "blocking")


def test_ordinal_grid_keeps_both_ends():
    """Thinning an ordered knob keeps its ends."""
    assert LIMIT.grid(2) == (1, "inf")


@given(st.integers(1, 1_000_000))
def test_position_and_at_are_inverse_but_for_rounding(value):
    """A value's position leads back to that value rounded to two digits."""
    assert CONNECTIONS.at(CONNECTIONS.position(value)) == pytest.approx(value, rel=0.051)


def test_default_holds_fixed_values_and_defaults():
    """The default configuration has every knob."""
    expected = {"sendfile": "nonblocking", "workers": 1, "max_connections": 1024, "accept_limit": "inf"}
    assert expected == SPACE.default()
    assert SPACE.fix("max_connections", 64).default()["max_connections"] == 64


def test_check_completes_a_configuration():
    """Knobs left out are filled in."""
    assert {**SPACE.default(), "workers": 4} == SPACE.check({"workers": 4})


@pytest.mark.parametrize(
    ("configuration", "sentence"),
    [
        (
            {"threads": 1},
            "threads: no such knob; expected one of sendfile, workers, max_connections, accept_limit",
        ),
        ({"accept_limit": 1}, "accept_limit = 1: expected 'inf', it is fixed in this run"),
        ({"workers": 9, "max_connections": 8}, "workers = 9: expected at most max_connections = 8"),
    ],
)
def test_bad_configuration_is_refused(configuration, sentence):
    """Unknown knobs, fixed knobs and broken constraints each get their sentence."""
    with pytest.raises(SpaceError) as error:
        SPACE.check(configuration)
    assert sentence == str(error.value)


def test_restrict_narrows_and_frees_a_fixed_knob():
    """A fixed knob that is given a choice of values becomes free; choices keep their order."""
    space = SPACE.restrict("accept_limit", choices=("inf", 8))
    assert space.knob("accept_limit").choices == (8, "inf")
    assert "accept_limit" in {knob.name for knob in space.free}
    assert "accept_limit" not in {knob.name for knob in SPACE.free}


def test_default_stays_allowed_outside_a_restricted_range():
    """The reference every run measures is the server's own default."""
    space = SPACE.restrict("workers", low=2, high=8)
    assert space.check(space.default())["workers"] == 1
    assert 1 not in space.knob("workers").grid(8)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"name": "workers", "low": 8, "high": 4}, "workers: low 8 is above high 4"),
        ({"name": "workers", "low": 0}, "workers: bound 0: expected an integer from 1 to 1024"),
        (
            {"name": "workers", "choices": (1,)},
            "workers: an integer knob is restricted by low and high, not by choices",
        ),
        ({"name": "sendfile", "low": 1}, "sendfile: restricted by choices, not by low and high"),
        (
            {"name": "sendfile", "choices": ()},
            "sendfile: choices is empty; expected at least one of nonblocking, blocking",
        ),
        (
            {"name": "sendfile", "choices": ("off",)},
            "sendfile: choice 'off': expected one of nonblocking, blocking",
        ),
    ],
)
def test_bad_restriction_is_refused(arguments, sentence):
    """Empty and outside restrictions are named."""
    with pytest.raises(SpaceError) as error:
        SPACE.restrict(**arguments)
    assert sentence == str(error.value)


def test_resource_cost_counts_workers_before_connections():
    """A worker weighs as much as a thousand connections here."""
    few_workers = SPACE.resource_cost({"workers": 1, "max_connections": 1500})
    many_workers = SPACE.resource_cost({"workers": 3, "max_connections": 500})
    assert few_workers < many_workers


def test_hash_is_stable_and_ignores_order():
    """The hash is part of the database, so its value is pinned."""
    assert configuration_hash({"workers": 4, "sendfile": "blocking"}) == "7ea6846e18d6"
    assert configuration_hash({"b": 1, "a": 2}) == configuration_hash({"a": 2, "b": 1})
    assert configuration_hash({"a": 1}) != configuration_hash({"a": "1"})


def test_space_survives_json():
    """The browser's form and the database both get the space as JSON."""
    assert Space.model_validate(json.loads(json.dumps(SPACE.model_dump(mode="json")))) == SPACE


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "integer", "low": 2, "high": 1, "default": 1},
        {"kind": "integer", "scale": "log", "low": 0, "high": 1, "default": 1},
        {"kind": "integer", "default": 1},
        {"kind": "ordinal", "choices": (1, 1), "default": 1},
        {"kind": "categorical", "choices": (), "default": 1},
    ],
)
def test_contradictory_knob_is_refused(fields):
    """A knob is consistent or not made at all."""
    with pytest.raises(ValidationError):
        Knob(name="k", help="", **fields)


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (SPACE, ""),
        (SPACE.restrict("workers", low=4, high=4).fix("max_connections", 64).fix("sendfile", "blocking"), ""),
        (
            SPACE.fix("workers", 1).fix("max_connections", 64).fix("sendfile", "blocking"),
            "every knob is fixed: expected at least one knob that is free to tune",
        ),
        (
            SPACE.restrict("workers", low=1, high=1).fix("max_connections", 64).fix("sendfile", "blocking"),
            "only the default is possible: expected a second value for one of the free knobs (workers)",
        ),
        (
            SPACE.restrict("workers", low=8, high=32).restrict("max_connections", low=1, high=4),
            "no configuration is possible: workers = 8: expected at most max_connections = 4",
        ),
        (
            SPACE.restrict("workers", low=500).fix("max_connections", 100),
            "no configuration is possible: workers = 500: expected at most max_connections = 100",
        ),
    ],
)
def test_space_that_leaves_nothing_to_try_says_why(space, said):
    """Nothing free, nothing but the default, or ranges that contradict each other."""
    assert said == space.nothing_to_try()


BOUND = Space(
    knobs=(
        Knob(name="kind", kind="categorical", choices=("a", "b", "c"), default="a", help=""),
        Knob(name="mode", kind="categorical", choices=("x", "y", "z"), default="x", help=""),
        Knob(name="few", kind="integer", low=1, high=4, default=1, help=""),
        Knob(name="many", kind="integer", low=1, high=4, default=4, help=""),
    ),
    constraints=(
        OnlyWith(knob="mode", otherwise="x", other="kind", among=("a", "b")),
        OnlyWith(knob="mode", values=("z",), otherwise="x", other="few", above=2),
        AtMost(smaller="few", larger="many"),
    ),
)


@given(st.sets(st.sampled_from(["kind", "mode", "few", "many"])), st.data())
def test_constraints_that_are_left_out_could_not_be_broken(names, data):
    """Whatever is fixed, as long as it breaks none itself: the same configurations are allowed."""
    drawn = {knob.name: data.draw(st.sampled_from(knob.values())) for knob in BOUND.knobs}
    space = BOUND.model_copy(update={"fixed": {name: drawn[name] for name in names}})
    assume(space.allows(space.default()))
    fewer = space.without_idle_constraints()
    every = itertools.product(*(knob.values() for knob in space.free))
    for values in every:
        asked = dict(zip((knob.name for knob in space.free), values, strict=True))
        assert space.allows(asked) == fewer.allows(asked)
    if len(names) == len(drawn):
        assert fewer.constraints == ()


@given(st.data())
def test_settled_configuration_meets_every_condition_and_keeps_what_it_may(data):
    """Knobs that the others leave no choice get their only value; a configuration that is allowed stays."""
    drawn = {knob.name: data.draw(st.sampled_from(knob.values())) for knob in BOUND.knobs}
    settled = BOUND.settled(drawn)
    broken = [c for c in BOUND.constraints if isinstance(c, OnlyWith) and c.broken(settled)]
    assert not broken
    if BOUND.allows(drawn):
        assert settled == drawn


def test_values_that_are_left_out_are_not_there_any_more():
    """All others are; who has one of them already is told what may be had."""
    space = BOUND.without("mode", ("y",))
    assert set(space.knob("mode").values()) == set(BOUND.knob("mode").values()) - {"y"}
    assert not space.allows({**space.default(), "mode": "y"})
    with pytest.raises(SpaceError, match="mode = 'y': expected one of"):
        BOUND.fix("mode", "y").without("mode", ("y",))


def test_settling_leaves_what_the_user_has_fixed():
    """It is refused elsewhere, not changed here."""
    fixed = BOUND.fix("mode", "y")
    assert fixed.settled({**fixed.default(), "kind": "c"})["mode"] == "y"


def test_space_begins_at_a_users_own_values_whatever_they_are():
    """They are allowed even outside the ranges, and a fixed knob keeps the user's value."""
    own = {"workers": 5000, "accept_limit": 8, "max_connections": 10_000}
    begun = SPACE.with_defaults(own)
    assert begun.default() == {**own, "sendfile": "nonblocking"}
    assert begun.check(begun.default()) == begun.default()
    assert not begun.allows({"workers": 5001})
    assert not begun.allows({"accept_limit": "inf"})
