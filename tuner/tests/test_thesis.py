"""The thesis' comparison: its plans, its published orders, and what measurements say of them."""

import pytest
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial
from trimtab_trials.trial import Verdict as TrialVerdict
from trimtab_tuner.thesis.costs import Costs, cheaper_is_faster, costs_of
from trimtab_tuner.thesis.documents import PUBLISHED, SERVERS
from trimtab_tuner.thesis.evaluation import Found, Verdict, evaluate
from trimtab_tuner.thesis.plan import FULL, SHORT
from trimtab_tuner.thesis.shapes import compare_shapes, near_best, published_spans

OUR_ROUNDS = (1.0, 1.02, 0.97, 1.01)


def found(server, score):
    """A server whose repeats score about so much, and drift with the machine."""
    scores = tuple(score * drift * (1 + 0.002 * i) for i, drift in enumerate(OUR_ROUNDS))
    return Found(server=server, configuration={"workers": 1}, scores=scores)


def verdicts(result):
    """By pair, the documents' upper one first."""
    return {(pair.upper, pair.lower): pair.verdict for pair in result.pairs}


@pytest.mark.parametrize("published", PUBLISHED.values())
def test_published_orders_hold_every_server_once_and_follow_the_areas(published):
    """A group that comes later has no greater area than one before it, ties of the ranking aside."""
    assert sorted(name for group in published.order for name in group) == sorted(SERVERS)
    assert set(published.areas) == set(SERVERS)
    least = [min(published.areas[name] for name in group) for group in published.order]
    most = [max(published.areas[name] for name in group) for group in published.order]
    assert all(later <= before + 0.02 for before, later in zip(least, most[1:], strict=False))


def test_ranks_skip_those_that_are_shared():
    """As in the thesis' own tables."""
    assert [PUBLISHED["in-memory"].rank(n) for n in ("watpipe-nb", "watpipe-b", "knot-c")] == [1, 4, 9]


@pytest.mark.parametrize("plan", [SHORT, FULL])
def test_each_round_takes_every_server_once_in_an_order_that_stays(plan):
    """A study that goes on after a kill takes the same order."""
    for round_ in range(plan.repeats):
        assert sorted(plan.order("heavy-io", round_)) == sorted(plan.servers)
        assert plan.order("heavy-io", round_) == plan.order("heavy-io", round_)
    assert len({plan.order("heavy-io", round_) for round_ in range(plan.repeats)}) > 1


def test_order_as_published_is_agreed_and_one_turned_round_differs():
    """Whether they drift with the machine or not."""
    published = PUBLISHED["heavy-io"]
    result = evaluate("heavy-io", published, [found("watpipe-b", 90.0), found("symped-nb", 100.0)])
    assert verdicts(result) == {("watpipe-b", "symped-nb"): Verdict.DIFFERS}
    result = evaluate("heavy-io", published, [found("symped-nb", 90.0), found("watpipe-b", 100.0)])
    assert verdicts(result) == {("watpipe-b", "symped-nb"): Verdict.AGREED}
    first, second = result.servers
    assert (first.server, first.rank, first.over_first) == ("watpipe-b", 1, None)
    assert (second.rank, second.published_rank) == (2, 9)
    assert second.over_first.high < 0


def test_servers_ranked_alike_agree_only_when_the_interval_is_narrow():
    """That two were not told apart is no proof that they are alike."""
    close = [found("symped-nb", 100.0), found("watpipe-nb", 100.0)]
    published = PUBLISHED["in-memory"]
    assert list(verdicts(evaluate("in-memory", published, close)).values()) == [Verdict.AGREED]
    wide = Found(server="watpipe-nb", configuration=None, scores=(70.0, 130.0, 80.0, 120.0))
    assert list(verdicts(evaluate("in-memory", published, [close[0], wide])).values()) == [Verdict.UNTOLD]


def test_server_without_a_score_is_told_last_and_judged_by_nobody():
    """It failed verification everywhere, or has not been measured yet."""
    none = Found(server="watpipe-b", configuration=None, scores=())
    result = evaluate("heavy-io", PUBLISHED["heavy-io"], [none, found("symped-nb", 100.0)])
    assert [one.server for one in result.servers] == ["symped-nb", "watpipe-b"]
    assert result.servers[1].score_mbps is None
    assert list(verdicts(result).values()) == [Verdict.UNTOLD]
    assert result.count(Verdict.UNTOLD) == 1


def test_tuned_ranges_of_the_thesis_are_those_of_its_tables():
    """In memory one process is enough; with little of it 15 to 25 are."""
    spans = published_spans()
    in_memory = spans["in-memory", "symped-nb"]["workers"]
    assert (in_memory.low, in_memory.high) == (1, 1)
    heavy = spans["heavy-io", "symped-nb"]["workers"]
    assert (heavy.low, heavy.best, heavy.high) == (15, 25, 25)


def test_a_shape_holds_where_our_ranges_lie_apart_in_the_same_way():
    """More processes with less memory: agreed, turned round, and told by nobody."""

    def scored(workers):
        return [
            ({"workers": w, "max_connections": 1000}, 100.0 if w == workers else 50.0) for w in (1, 8, 64)
        ]

    def verdict(in_memory, heavy):
        tried = {("in-memory", "symped-nb"): in_memory, ("heavy-io", "symped-nb"): heavy}
        shapes = compare_shapes(("in-memory", "heavy-io"), ["symped-nb"], tried)
        (shape,) = [shape for shape in shapes if shape.knob == "workers"]
        assert shape.published == 1
        return shape.verdict

    assert verdict(scored(1), scored(64)) is Verdict.AGREED
    assert verdict(scored(64), scored(1)) is Verdict.DIFFERS
    assert verdict(scored(8), scored(8)) is Verdict.UNTOLD
    assert verdict([], scored(8)) is Verdict.UNTOLD


def test_near_best_takes_in_what_scores_nearly_as_well():
    """Within the share, and the best itself."""
    scored = [({"workers": w}, s) for w, s in ((1, 97.0), (2, 100.0), (4, 96.0), (8, 80.0))]
    span = near_best(scored, "workers", 0.05)
    assert (span.low, span.best, span.high) == (1, 2, 4)
    assert near_best(scored[:2], "workers", 0.05) is None


def measured(number, *, cpu_s, replied=0.99, **server):
    """One rate of 1,000 requests/s for a second, with what its counters say."""
    own = {"cpu_s": cpu_s, "user": 10.0, "system": 30.0, "waited_per_s": 400.0, "preempted_per_s": 100.0}
    return Measurement(
        number=number,
        rate_rps=1000.0,
        goodput_mbps=1.0,
        reply_rate_rps=1000.0 * replied,
        due_rate_rps=1000.0,
        duration_s=1.0,
        counters={"server_processes": own, "server": {"requests_per_s": 1000.0, **server}},
    )


def trial_of(*measurements):
    """A round with these rates."""
    return Trial(
        configuration={},
        verdict=TrialVerdict.VERIFIED,
        run_id=1,
        host_id=1,
        number=1,
        measurements=measurements,
    )


def test_costs_are_medians_of_the_rates_that_were_followed():
    """One that was not followed does not count, however much it took; what nobody counted is None."""
    rounds = [
        trial_of(measured(1, cpu_s=0.0198, event_calls_per_s=500.0), measured(2, cpu_s=0.0297)),
        trial_of(measured(1, cpu_s=0.0495), measured(2, cpu_s=9.0, replied=0.5)),
    ]
    costs = costs_of("symped-nb", rounds)
    assert costs.cpu_us == pytest.approx(30.0)
    assert costs.kernel_share == 0.75
    assert costs.switches == 0.5
    assert costs.event_calls == 0.5
    assert costs.cached_bytes is None


def test_server_without_counters_has_no_costs():
    """As one whose rounds have all failed."""
    assert costs_of("symped-nb", []) is None
    assert (
        costs_of("symped-nb", [trial_of(Measurement(rate_rps=1.0, goodput_mbps=1.0, reply_rate_rps=1.0))])
        is None
    )


def test_pairs_are_counted_in_which_who_is_ahead_takes_less_cpu_time():
    """Of those only that have their costs."""
    costs = [
        Costs(
            server=name, cpu_us=cpu_us, kernel_share=None, switches=None, event_calls=None, cached_bytes=None
        )
        for name, cpu_us in (("first", 20.0), ("second", 30.0), ("third", 25.0))
    ]
    assert cheaper_is_faster(costs, ["first", "second", "unknown", "third"]) == (2, 3)
