"""Guards as people write them, and the rails that say when nothing is tried."""

from dataclasses import replace
from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.live.budget import DAY_S, Spent
from trimtab_tuner.live.guards import (
    HOUR_S,
    Candidate,
    CoolDown,
    Now,
    Rail,
    Rails,
    Reloads,
    Shown,
    breached,
    parse_guard,
    parse_quiet_hours,
    refused,
)
from trimtab_tuner.space import Knob, Space

WELL = Shown(requests=10_000, errors=0, latency_us={"p50": 900.0, "p99": 20e3}, cpu_share=0.5, waiting=2)
SPACE = Space(
    knobs=(
        Knob(name="workers", kind="integer", low=1, high=101, default=1, resource_weight=1000, help="-"),
        Knob(name="mode", kind="categorical", choices=("off", "on"), default="off", help="-"),
    )
)
MB = 1_000_000
RAILS = Rails(guards=(parse_guard("p99 <= 50ms"),), quiet_hours=parse_quiet_hours("22:00-06:00"))
NOW = Now(
    at_s=100_000,
    local=time(12, 0),
    shown=WELL,
    spent=Spent(requests=100_000, harmed=0, allowed=100),
    available_bytes=1000 * MB,
    production_bytes=100 * MB,
    reloads=Reloads(),
    cool_down=CoolDown(),
)
CANDIDATE = Candidate(
    space=SPACE,
    incumbent={"workers": 1, "mode": "off"},
    configuration={"workers": 11, "mode": "on"},
    measured=False,
    by_reload=True,
)
# What each rail is in the way of.
IN_THE_WAY = {
    Rail.GUARD: ({"shown": replace(WELL, latency_us={"p99": 60e3})}, {}),
    Rail.RISK_BUDGET: ({"spent": Spent(requests=100_000, harmed=100, allowed=100)}, {}),
    Rail.STEP_AND_RANGE: ({}, {"configuration": {"workers": 50, "mode": "off"}}),
    Rail.MEMORY: ({"production_bytes": 300 * MB}, {}),
    Rail.QUIET_HOURS: ({"local": time(23, 0)}, {}),
    Rail.RELOADS: ({"reloads": Reloads(at_s=(99_000, 99_100, 99_900))}, {}),
    Rail.COOL_DOWN: ({"cool_down": CoolDown(in_a_row=1, last_at_s=99_900)}, {}),
}


@pytest.mark.parametrize(
    ("text", "bound", "usual"),
    [
        ("p99 <= 50ms", 50_000, "p99 <= 50ms"),
        ("p50<=2 ms ", 2_000, "p50 <= 2ms"),
        ("errors <= 0.1%", 0.001, "errors <= 0.1%"),
        ("errors <= 0 %", 0, "errors <= 0%"),
        ("cpu <= 80%", 0.8, "cpu <= 80%"),
        ("queue <= 100", 100, "queue <= 100"),
        ("queue <= 5 connections", 5, "queue <= 5connections"),
    ],
)
def test_guards_are_read_as_people_write_them(text, bound, usual):
    """Microseconds, shares and connections inside; the usual form reads the same."""
    guard = parse_guard(text)
    assert (guard.bound, guard.text) == (pytest.approx(bound), usual)
    assert parse_guard(guard.text) == guard


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p99 < 50ms", "expected STATISTIC <= NUMBER UNIT"),
        ("speed <= 1ms", "no such statistic; expected one of mean, p50, p90, p99, p999, errors, cpu, queue"),
        ("p99 <= 50", "p99 is given in us, ms, s"),
        ("errors <= 3", "errors is given in %"),
        ("queue <= 3 ms", "queue is given in no unit, connections"),
        ("cpu <= 101%", "expected at most 100%"),
        ("cpu <= 0%", "expected a bound above 0"),
        ("p99 <= 0ms", "expected a bound above 0"),
        ("p99 <= 1.2.3ms", "1.2.3 is no number"),
        ("", "expected STATISTIC <= NUMBER UNIT"),
    ],
)
def test_guard_that_makes_no_sense_is_refused_in_a_sentence(text, said):
    """The text is quoted, and an example given."""
    with pytest.raises(ValueError, match=said.replace(".", r"\.")) as refusal:
        parse_guard(text)
    assert str(refusal.value).startswith(repr(text))
    assert "for instance p99 <= 50ms" in str(refusal.value)


@given(st.text(max_size=30))
def test_any_text_is_a_guard_or_is_refused_as_such(text):
    """Nothing else is raised."""
    try:
        guard = parse_guard(text)
    except ValueError:
        return
    assert parse_guard(guard.text) == guard


@pytest.mark.parametrize(
    ("text", "shown", "sentence"),
    [
        ("p99 <= 19ms", {}, "p99 = 20 ms: expected p99 <= 19ms"),
        ("p99 <= 20ms", {}, ""),
        ("p50 <= 800us", {}, "p50 = 0.9 ms: expected p50 <= 800us"),
        ("cpu <= 40%", {}, "cpu = 50%: expected cpu <= 40%"),
        ("queue <= 1", {}, "queue = 2 connections: expected queue <= 1"),
        (
            "errors <= 0.1%",
            {"errors": 11},
            "errors = 0.11% (11 of 10,000 requests): expected errors <= 0.1%",
        ),
        ("errors <= 0.1%", {"errors": 10}, ""),
        ("errors <= 0%", {"errors": 1}, "errors = 0.01% (1 of 10,000 requests): expected errors <= 0%"),
    ],
)
def test_breach_is_told_with_what_was_shown(text, shown, sentence):
    """A limit itself is allowed."""
    assert parse_guard(text).breached(replace(WELL, **shown)) == sentence


def test_percentile_of_few_requests_means_nothing():
    """Ten stragglers have to be possible: 1,000 requests for a p99, 20 for a p50."""
    slow = {"p50": 1e6, "p99": 1e6}
    for statistic, least in (("p99", 1000), ("p50", 20)):
        guard = parse_guard(f"{statistic} <= 5ms")
        assert not guard.breached(Shown(requests=least - 1, errors=0, latency_us=slow))
        assert guard.breached(Shown(requests=least, errors=0, latency_us=slow))


def test_few_errors_are_no_share_but_many_of_few_requests_are():
    """One of ten requests is 10 % by chance; aborted requests are no replies and count all the same."""
    guard = parse_guard("errors <= 0.1%")
    assert not guard.breached(Shown(requests=10, errors=3, latency_us={}))
    assert guard.breached(Shown(requests=10, errors=4, latency_us={}))
    assert "100.00% (4 of 4 requests)" in guard.breached(Shown(requests=0, errors=4, latency_us={}))


@pytest.mark.parametrize("text", ["p999 <= 1s", "cpu <= 99%", "queue <= 1000"])
def test_guard_on_what_is_not_observed_does_not_hold(text):
    """Nobody would see it fail."""
    unseen = Shown(requests=10_000, errors=0, latency_us={})
    assert "is not observed" in parse_guard(text).breached(unseen)


def test_first_guard_that_does_not_hold_is_told():
    """In the order of the user."""
    guards = [parse_guard(text) for text in ("p99 <= 1s", "queue <= 1", "cpu <= 10%")]
    assert breached(guards, WELL).startswith("queue")
    assert breached(guards[:1], WELL) == ""


@pytest.mark.parametrize(
    "text", ["", "22:00", "22-6", "22:00-22:00", "25:00-06:00", "22:00-06:60", "22:0-06:00", "a:00-b:00"]
)
def test_quiet_hours_that_make_no_sense_are_refused(text):
    """With an example."""
    with pytest.raises(ValueError, match="for instance 22:00-06:00"):
        parse_quiet_hours(text)


def test_quiet_hours_wrap_midnight():
    """The beginning is quiet, the end is not."""
    hours = parse_quiet_hours("22:00-06:00")
    quiet = [time(22, 0), time(23, 59), time(0, 0), time(5, 59)]
    assert all(hours.includes(at) for at in quiet)
    assert not any(hours.includes(at) for at in (time(6, 0), time(12, 0), time(21, 59)))


@given(st.times(), st.times(), st.times())
def test_every_time_is_quiet_in_the_hours_or_in_those_turned_round(begin, end, at):
    """And never in both."""
    begin, end = (each.replace(second=0, microsecond=0) for each in (begin, end))
    if begin == end:
        return
    one, other = (parse_quiet_hours(f"{a:%H:%M}-{b:%H:%M}") for a, b in ((begin, end), (end, begin)))
    assert one.includes(at) != other.includes(at)


def test_reloads_are_forgotten_after_an_hour():
    """And do not pile up."""
    reloads = Reloads()
    for at_s in (0.0, 10.0, 20.0, HOUR_S + 5.0):
        reloads = reloads.one_more(at_s)
    assert reloads.at_s == (10.0, 20.0, HOUR_S + 5.0)
    assert [reloads.within_hour(at) for at in (HOUR_S + 5, HOUR_S + 15, 3 * HOUR_S)] == [3, 2, 0]


def test_cool_down_doubles_with_every_rollback_in_a_row_up_to_a_day():
    """An episode that ends well breaks the row."""
    cool_down, lasts_s = CoolDown(), []
    for _ in range(20):
        cool_down = cool_down.rolled_back(1000.0)
        lasts_s.append(cool_down.left_s(1000.0, 600.0))
    assert lasts_s[:3] == [600, 1200, 2400]
    assert max(lasts_s) == lasts_s[-1] == DAY_S
    assert cool_down.left_s(1000.0 + DAY_S, 600.0) == 0
    assert cool_down.ended_well().left_s(1000.0, 600.0) == 0


@given(st.integers(1, 200), st.floats(1, DAY_S), st.floats(0, 2 * DAY_S))
def test_cool_down_is_never_longer_than_a_day_nor_shorter_after_one_more(rollbacks, first_s, after_s):
    """However often, and at any time after the last rollback."""
    now, one_more = (CoolDown(in_a_row=n, last_at_s=0.0) for n in (rollbacks, rollbacks + 1))
    assert 0 <= now.left_s(after_s, first_s) <= one_more.left_s(after_s, first_s) <= DAY_S


def test_episode_may_begin_where_nothing_is_in_the_way():
    """By reload, or without."""
    assert refused(RAILS, NOW, CANDIDATE) is None
    assert refused(RAILS, NOW, replace(CANDIDATE, by_reload=False)) is None


@pytest.mark.parametrize("rail", Rail)
def test_each_rail_alone_is_in_the_way_with_a_sentence(rail):
    """Of its own."""
    of_now, of_candidate = IN_THE_WAY[rail]
    refusal = refused(RAILS, replace(NOW, **of_now), replace(CANDIDATE, **of_candidate))
    assert refusal is not None
    assert refusal.rail is rail
    assert len(refusal.reason) > 20


@given(st.sets(st.sampled_from(list(Rail)), min_size=1))
def test_strongest_of_several_rails_is_told(rails):
    """In the fixed order."""
    of_now = {key: value for rail in rails for key, value in IN_THE_WAY[rail][0].items()}
    of_candidate = {key: value for rail in rails for key, value in IN_THE_WAY[rail][1].items()}
    refusal = refused(RAILS, replace(NOW, **of_now), replace(CANDIDATE, **of_candidate))
    assert refusal is not None
    assert refusal.rail is min(rails, key=list(Rail).index)


def test_measured_candidate_is_bound_by_ranges_and_not_by_steps():
    """A run of this host has measured it whole."""
    far = replace(CANDIDATE, configuration={"workers": 50, "mode": "off"}, measured=True)
    assert refused(RAILS, NOW, far) is None
    outside = replace(CANDIDATE, configuration={"workers": 500, "mode": "off"}, measured=True)
    refusal = refused(RAILS, NOW, outside)
    assert refusal is not None
    assert refusal.reason == "workers = 500: expected an integer from 1 to 101"


def test_values_that_cost_more_memory_want_room_for_it():
    """10 more processes of 1,000 KiB each, beside two servers of 100 MB."""
    tight = replace(NOW, available_bytes=2 * 205 * MB)
    refusal = refused(RAILS, tight, CANDIDATE)
    assert refusal is not None
    assert refusal.reason == (
        "two servers beside production may take 210 MB: expected at most 50 % of the 410 MB that are "
        "available"
    )
    assert refused(RAILS, tight, replace(CANDIDATE, configuration=CANDIDATE.incumbent)) is None


def test_candidate_that_production_itself_tries_wants_room_for_its_values_alone():
    """Nothing is started beside it."""
    large = replace(NOW, production_bytes=900 * MB)
    assert refused(RAILS, large, replace(CANDIDATE, beside=False)) is None
    full = replace(large, available_bytes=10 * MB)
    refusal = refused(RAILS, full, replace(CANDIDATE, beside=False))
    assert refusal is not None
    assert refusal.reason == (
        "the candidate's values may take 10 MB: expected at most 50 % of the 10 MB that are available"
    )


def test_reload_that_could_not_be_taken_back_is_not_begun():
    """Two are kept free; a server that is set without a reload needs none."""
    busy = replace(NOW, reloads=Reloads(at_s=(99_000.0, 99_001.0, 99_002.0)))
    refusal = refused(RAILS, busy, CANDIDATE)
    assert refusal is not None
    assert refusal.rail is Rail.RELOADS
    assert refused(RAILS, busy, replace(CANDIDATE, by_reload=False)) is None


def test_who_has_seen_too_little_is_told_so():
    """Nothing is spent, there is nothing to spend yet."""
    fresh = replace(NOW, spent=Spent(requests=1, harmed=0, allowed=0))
    refusal = refused(RAILS, fresh, CANDIDATE)
    assert refusal is not None
    assert refusal.reason == "the risk budget is empty: only 1 request seen in the last 24 hours"


def test_rails_and_what_they_count_are_kept_as_plain_values():
    """The database takes JSON."""
    for value in (RAILS, Reloads(at_s=(1.0, 2.0)), CoolDown(in_a_row=2, last_at_s=3.0)):
        assert type(value).model_validate_json(value.model_dump_json()) == value
