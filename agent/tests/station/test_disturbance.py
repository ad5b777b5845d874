"""When a rate counts as disturbed."""

from trimtab_agent.station.disturbance import DisturbanceWatch
from trimtab_trials.measurement import Measurement


def measured(counters, reply_rate_rps=1000.0):
    """A rate in which this was counted."""
    return Measurement(rate_rps=1000.0, goodput_mbps=100.0, reply_rate_rps=reply_rate_rps, counters=counters)


def counters(*, foreign=0.0, stolen=0.0, idle=0.0, reply_rate_rps=1000.0):
    """Counters of a rate on two server CPUs (0 and 1), of which the server itself used what was left."""
    own = 100.0 - foreign - stolen - idle
    cpus = [
        {"cpu": n, "user": foreign + own / 2, "nice": 0.0, "system": own / 2, "steal": stolen, "idle": idle}
        for n in (0, 1)
    ]
    counted = {"cpu": {"cpus": cpus}, "server_processes": {"user": own, "system": own}}
    return measured(counted, reply_rate_rps)


def watch(*usual):
    """A watch that has seen these rates."""
    seen = DisturbanceWatch((0, 1))
    for rate in usual:
        assert seen.judge(rate) == ""
    return seen


def test_more_foreign_load_than_usual_is_a_disturbance_and_is_named():
    """The sentence says who took how much, and what is usual."""
    said = watch(*[counters()] * 4).judge(counters(foreign=25.0))
    assert said == "other processes took 25 % and the hypervisor 0 % of the server's CPUs, usually 0 %"


def test_time_that_is_always_stolen_is_no_disturbance():
    """All trials suffer alike on such a machine."""
    assert watch(*[counters(stolen=15.0)] * 4).judge(counters(stolen=18.0)) == ""


def test_load_that_the_server_had_room_for_is_no_disturbance():
    """It could not have changed what is judged."""
    assert watch(*[counters()] * 4).judge(counters(foreign=25.0, idle=40.0)) == ""


def test_idle_time_does_not_excuse_who_kept_a_server_from_following():
    """A server at its limit of connections leaves CPUs idle, and answers fewer when it waits for them."""
    said = watch(*[counters()] * 4).judge(counters(foreign=40.0, idle=20.0, reply_rate_rps=830.0))
    assert said.startswith("other processes took 40 %")


def test_program_that_runs_through_half_of_a_search_does_not_become_usual():
    """What was measured before it is what the others are compared with."""
    seen = watch(*[counters()] * 8)
    said = [seen.judge(counters(foreign=60.0, idle=15.0, reply_rate_rps=700.0)) for _ in range(8)]
    assert all(said)


def test_first_rates_have_nothing_to_be_compared_with():
    """What is usual has to be seen first."""
    assert watch().judge(counters(foreign=50.0)) == ""


def test_missing_counters_are_no_disturbance():
    """Nothing is known of such a rate."""
    assert watch(*[counters()] * 4).judge(measured({"cpu": {"cpus": []}})) == ""
