"""What is tried next: seeds, then steps round the incumbent, and never again what did harm."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimtab_tuner.live.contexts import Context
from trimtab_tuner.live.episode import Action
from trimtab_tuner.live.proposals import (
    FIRST_RADIUS,
    LEAST_RADIUS,
    MOST_RADIUS,
    OF_PRODUCTION_ALONE,
    Attempt,
    Seed,
    live_space,
    proposals,
    radius,
)
from trimtab_tuner.live.steps import Change, changes, is_within
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, OnlyWith, Space
from trimtab_tuner.targets import TARGETS

WORKERS = Knob(
    name="workers",
    role=Role.WORKERS,
    kind="integer",
    scale="log",
    low=1,
    high=1024,
    default=4,
    help="-",
)
IDLE = Knob(name="idle_s", kind="integer", low=0, high=100, default=50, help="-")
MODE = Knob(name="mode", kind="categorical", choices=("off", "on", "auto"), default="off", help="-")
CACHE = Knob(name="cache", kind="ordinal", choices=(0, 10, 100, 1000), default=0, help="-")
PLAN = Knob(name="plan", role=Role.PLACEMENT, kind="categorical", choices=("a", "b"), default="a", help="-")
SPACE = live_space(
    Space(
        knobs=(WORKERS, IDLE, MODE, CACHE, PLAN),
        constraints=(OnlyWith(knob="cache", otherwise=0, other="mode", among=("off", "on")),),
    ),
    {},
    OF_PRODUCTION_ALONE,
    {},
)
INCUMBENT = SPACE.default()
TRAFFIC = Context(rate_rps=1000, reply_bytes=14_000, requests_per_connection=7)


def attempt(action, before=INCUMBENT, **values):
    """An episode of the incumbent against another configuration."""
    return Attempt(before=before, after={**before, **values}, action=action)


def listed(space=SPACE, seeds=(), attempts=(), seed=1, most_step=MOST_RADIUS):
    """Everything that would be tried."""
    asked = proposals(space, seeds, attempts, context=TRAFFIC, seed=seed, most_step=most_step)
    return list(asked)


def first(**asked):
    """What would be tried next."""
    return listed(**asked)[0]


def after(attempts):
    """The space round the incumbent that those attempts leave."""
    last = attempts[-1]
    return SPACE.with_defaults(last.after if last.action is Action.PROMOTE else last.before)


def test_steps_change_one_knob_each_by_the_radius_at_most():
    """A tenth of the scale at first; the least step of an ordinal is longer, and a category goes anywhere."""
    found = {str(change) for proposal in listed() for change in proposal.changes}
    assert found == {
        "workers 4 → 8",
        "workers 4 → 2",
        "idle_s 50 → 60",
        "idle_s 50 → 40",
        "mode off → on",
        "mode off → auto",
        "cache 0 → 10",
    }
    assert all(len(proposal.changes) == 1 and not proposal.measured for proposal in listed())


def test_proposal_says_what_and_why():
    """As a sentence for the list of advice."""
    said = {str(proposal) for proposal in listed()}
    assert (
        "would try workers 4 → 8 because raising workers has not been tried alone with this traffic" in said
    )
    assert "would try mode off → on because mode = on has not been tried alone with this traffic" in said


def test_seeds_come_first_the_most_that_was_measured_before_the_others():
    """With where that was seen; they may be further away than a step."""
    seeds = [
        Seed(configuration={"workers": 512}, gain=0.2, source="run 3: +20 % capacity on w1"),
        Seed(configuration={"workers": 64, "plan": "b"}, gain=0.8, source="run 12 recommends it"),
        Seed(configuration=INCUMBENT, gain=0.9, source="run 4: the same"),
        Seed(configuration={"workers": 5000}, gain=0.9, source="run 5: out of range"),
        Seed(configuration={"workers": 64}, gain=0.1, source="run 6: the same as run 12"),
    ]
    one, two, three = listed(seeds=seeds)[:3]
    assert str(one) == (
        "would try workers 4 → 64 because run 12 recommends it, there with other values of plan"
    )
    assert two.configuration == {**INCUMBENT, "workers": 512}
    assert one.measured
    assert two.measured
    assert not three.measured


def test_seeds_that_were_found_with_such_traffic_come_before_larger_gains_with_other_traffic():
    """At whatever rate they were found."""
    alike = Context(rate_rps=0, reply_bytes=12_000, requests_per_connection=7)
    other = Context(rate_rps=1000, reply_bytes=120_000, requests_per_connection=7)
    seeds = [
        Seed(configuration={"workers": 64}, gain=0.8, source="run 12", context=other),
        Seed(configuration={"workers": 128}, gain=0.9, source="a run of nobody knows what"),
        Seed(configuration={"workers": 512}, gain=0.1, source="run 3", context=alike),
    ]
    found = [proposal.configuration["workers"] for proposal in listed(seeds=seeds)[:3]]
    assert found == [512, 128, 64]


def test_seed_that_was_tried_is_not_tried_again():
    """Whatever came of it."""
    seeds = [Seed(configuration={"workers": 64}, gain=0.8, source="run 12")]
    tried = Attempt(before=INCUMBENT, after=listed(seeds=seeds)[0].configuration, action=Action.GIVE_UP)
    assert not any(proposal.measured for proposal in listed(seeds=seeds, attempts=[tried]))


def test_what_was_promoted_may_be_tried_again_where_something_else_is_in_force():
    """As when this traffic comes back; not so what it was better than, nor what did harm after all."""
    better = {**INCUMBENT, "workers": 64}
    seeds = [Seed(configuration=better, gain=1.0, source="it was promoted here")]
    promoted, harmful = attempt(Action.PROMOTE, workers=64), attempt(Action.ROLL_BACK, workers=64)
    elsewhere = SPACE.with_defaults({**INCUMBENT, "idle_s": 90})
    assert listed(space=elsewhere, seeds=seeds, attempts=[promoted])[0].configuration == better
    assert not listed(space=elsewhere, seeds=seeds, attempts=[promoted, harmful])[0].measured
    before = [Seed(configuration=INCUMBENT, gain=1.0, source="it was before")]
    assert not listed(space=elsewhere, seeds=before, attempts=[promoted])[0].measured
    assert listed(space=elsewhere, seeds=before, attempts=[promoted, harmful])[0].configuration == INCUMBENT


def test_direction_that_has_helped_is_followed_first():
    """From where it led to."""
    for seed in range(10):
        helped = [attempt(Action.PROMOTE, workers=8)]
        proposal = first(space=after(helped), attempts=helped, seed=seed)
        assert proposal.changes == (Change(knob="workers", before=8, after=20),)
        assert proposal.because == "raising workers has helped with this traffic (workers 4 → 8)"


def test_nobody_goes_back_to_where_it_was_worse_before_all_else_was_tried():
    """And never to the same value."""
    helped = [
        attempt(Action.PROMOTE, idle_s=60),
        attempt(Action.GIVE_UP, {**INCUMBENT, "idle_s": 60}, idle_s=75),
    ]
    for seed in range(10):
        order = [str(p.changes[0]) for p in listed(space=after(helped), attempts=helped, seed=seed)]
        assert order[-1] == "idle_s 60 → 45"


def test_harmful_value_is_not_reached_again_by_that_knob_alone():
    """Nor passed; a shorter step is tried, after everything else."""
    harmful = [attempt(Action.ROLL_BACK, workers=8)]
    order = [str(p.changes[0]) for p in listed(attempts=harmful)]
    assert order[-1] == "workers 4 → 6"
    gone = [
        attempt(Action.ROLL_BACK, mode="auto"),
        attempt(Action.ROLL_BACK, workers=5),
        attempt(Action.PROMOTE, idle_s=60),
    ]
    named = {str(p.changes[0]) for p in listed(space=after(gone), attempts=gone)}
    assert {"mode off → on", "workers 4 → 3"} <= named
    assert not {"mode off → auto", "workers 4 → 5", "workers 4 → 6"} & named


def test_harm_of_several_knobs_together_is_blamed_on_none():
    """Each alone may still help."""
    harmful = [attempt(Action.ROLL_BACK, workers=8, mode="on")]
    why = {str(p.changes[0]): p.because for p in listed(attempts=harmful)}
    assert why["mode off → on"] == "mode = on has not been tried alone with this traffic"
    assert "workers 4 → 6" in why


def test_condition_between_knobs_moves_both_or_neither():
    """A cache goes with the mode that has one, if it is no further away than a step."""
    near, far = ({**INCUMBENT, "cache": cache} for cache in (10, 1000))
    changed = [p.changes for p in listed(space=SPACE.with_defaults(near))]
    auto, cache = Change(knob="mode", before="off", after="auto"), Change(knob="cache", before=10, after=0)
    assert (auto, cache) in changed
    assert not any(auto in each for each in (p.changes for p in listed(space=SPACE.with_defaults(far))))


def test_radius_follows_what_was_promoted_and_what_did_harm():
    """Within its ends; what is given up, and seeds, leave it as it is."""
    promoted, harmful = attempt(Action.PROMOTE, workers=8), attempt(Action.ROLL_BACK, workers=8)
    assert radius([]) == FIRST_RADIUS
    assert radius([promoted]) == pytest.approx(0.15)
    assert radius([promoted] * 9) == MOST_RADIUS
    assert radius([harmful]) == pytest.approx(0.1 / 1.5)
    assert radius([harmful] * 9) == LEAST_RADIUS
    assert radius([attempt(Action.GIVE_UP, workers=8)]) == FIRST_RADIUS
    assert radius([harmful.model_copy(update={"measured": True})]) == FIRST_RADIUS


def test_limit_of_the_user_holds_below_the_radius():
    """Seeds are not bound by it."""
    seeds = [Seed(configuration={"idle_s": 90}, gain=0.8, source="run 12")]
    found = [str(p.changes[0]) for p in listed(seeds=seeds, most_step=0.03)]
    assert found[0] == "idle_s 50 → 90"
    assert {"idle_s 50 → 53", "idle_s 50 → 47"} <= set(found)


def test_knob_of_production_alone_is_never_changed():
    """By role, and those of replicas by name."""
    assert not any(change.knob == "plan" for proposal in listed() for change in proposal.changes)
    nginx = TARGETS["nginx"].space(cpus=2)
    free = {knob.name for knob in nginx.knobs if knob.name in {"reuseport", "backlog", "replicas"}}
    assert len(free) == 3
    whole = nginx.model_copy(update={"fixed": {}})
    live = live_space(whole, {}, OF_PRODUCTION_ALONE, {})
    assert {"worker_processes", "sendfile"} <= {knob.name for knob in live.free}
    assert not {"reuseport", "backlog", "replicas", "replica_placement", "worker_cpu_affinity"} & {
        knob.name for knob in live.free
    }


def test_incumbent_outside_the_ranges_is_where_steps_begin():
    """A user's own file may have any value; what is out of reach of it is not proposed."""
    space = live_space(Space(knobs=(WORKERS, IDLE)), {"workers": 5000, "idle_s": 3}, (), {})
    assert {str(p.changes[0]) for p in listed(space=space)} == {"idle_s 3 → 13", "idle_s 3 → 0"}


def test_equal_histories_give_equal_proposals_and_seeds_draw_the_order():
    """Nothing else is remembered."""
    assert listed(seed=3) == listed(seed=3)
    orders = {tuple(str(p) for p in listed(seed=seed)) for seed in range(10)}
    assert len(orders) > 5


@pytest.mark.parametrize("name", TARGETS)
def test_every_server_gets_steps_that_its_space_allows(name):
    """With all knobs free that a live arm can change."""
    space = TARGETS[name].space(cpus=2).model_copy(update={"fixed": {}})
    found = listed(space=live_space(space, {}, OF_PRODUCTION_ALONE, {}))
    assert len(found) >= 5
    assert all(space.allows(proposal.configuration) for proposal in found)


outcomes = st.lists(
    st.tuples(st.sampled_from([Action.PROMOTE, Action.GIVE_UP, Action.ROLL_BACK]), st.integers(0, 2)),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(outcomes, st.integers(0, 1000), st.floats(0.01, 0.3))
def test_whatever_comes_of_them_no_proposal_repeats_one_or_goes_too_far(outcomes, seed, most_step):
    """A whole life of a context: each is allowed, new, and within the radius or a least step."""
    attempts, incumbent = [], INCUMBENT
    seeds = [Seed(configuration={"workers": 64, "mode": "on"}, gain=0.5, source="run 1")]
    for action, place in outcomes:
        space = SPACE.with_defaults(incumbent)
        asked = proposals(space, seeds, attempts, context=TRAFFIC, seed=seed, most_step=most_step)
        proposal = next(islice(asked, place, None), None)
        if proposal is None:
            break
        assert space.allows(proposal.configuration)
        assert proposal.changes == changes(space, incumbent, proposal.configuration)
        assert all(proposal.configuration not in (a.before, a.after) for a in attempts)
        if not proposal.measured:
            within = min(radius(attempts), most_step)
            assert all(is_within(space.knob(c.knob), c, within) for c in proposal.changes[:1])
            assert all(is_within(space.knob(c.knob), c, most_step) for c in proposal.changes)
        attempts.append(
            Attempt(
                before=incumbent,
                after=proposal.configuration,
                action=action,
                measured=proposal.measured,
            )
        )
        incumbent = proposal.configuration if action is Action.PROMOTE else incumbent


@pytest.mark.parametrize(("own", "high"), [(10, 20), (20, 20), (30, 1024)])
def test_knob_gets_no_higher_than_the_server_takes_up_unless_it_is_already(own, high):
    """What only a restart changes."""
    space = live_space(Space(knobs=(WORKERS,)), {"workers": own}, (), {"workers": 20})
    assert space.knob("workers").high == high
