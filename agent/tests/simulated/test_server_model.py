"""The model of a server: what it answers follows from what its knobs mean."""

from dataclasses import replace

import pytest
from trimtab_agent.simulated.scenario import Scenario
from trimtab_agent.simulated.server_model import SimulatedServer
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS

NO_NOISE = {"noise_within": 0.0, "noise_between": 0.0}
PLENTY = 100_000  # connections: then the CPUs are the limit


@pytest.fixture
def server(job):
    """Makes servers with some knobs changed; `scenario` is what differs from one without noise."""

    def make(knobs=None, trial=1, job_changes=None, **scenario):
        return SimulatedServer(
            job=job(knobs, **(job_changes or {})),
            scenario=Scenario(**{**NO_NOISE, **scenario}),
            trial=trial,
            sizes=(100, 1000, 10_000),
            cpus=(0, 1),
            generator_cpus=(2, 3),
        )

    return make


def test_same_seed_and_trial_give_the_same_numbers_and_others_do_not(server):
    """So that a run is repeated exactly, and no two of its trials are alike."""
    noisy = {"noise_within": 0.01, "noise_between": 0.01}

    def replies(trial=1, number=1, seed=1):
        return server(trial=trial, seed=seed, **noisy).measure(number, 50_000.0, frozenset()).reply_rate_rps

    assert replies() == replies()
    assert len({replies(), replies(trial=2), replies(number=2), replies(seed=2)}) == 4


def test_workers_add_up_to_the_cpus_and_cost_beyond_them(server):
    """One per CPU is best."""
    of = {
        workers: server({"workers": workers, "max_connections": PLENTY}).capacity_rps for workers in (1, 2, 8)
    }
    assert of[1] == 20_000
    assert of[2] == 2 * of[1]
    assert of[1] < of[8] < of[2]


def test_few_connections_are_the_limit_and_clients_wait_unread(server):
    """Half as many let through half as much, and what is late has not been read."""
    default = server().job.configuration["max_connections"]
    half = server({"workers": 2, "max_connections": default // 2})
    assert half.capacity_rps == pytest.approx(server({"workers": 2}).capacity_rps / 2)
    measured = half.measure(1, 2 * half.capacity_rps, frozenset())
    assert measured.requests.timed_out_before_read > 0
    assert measured.requests.timed_out_after_read == 0


@pytest.mark.parametrize("target", [name for name, one in TARGETS.items() if one.protocol == "http"])
def test_limit_of_connections_is_what_it_comes_to_on_every_server(server, target):
    """By whichever knob a server has for it, and as it counts them."""
    limit = TARGETS[target].equivalents[Role.CONNECTIONS]
    default = TARGETS[target].space(cpus=2).default()
    more = {**default, limit.knob: 2 * int(default[limit.knob])}
    made = server(capacity_rps=1e6)
    before, after = (
        replace(made, job=made.job.model_copy(update={"target": target, "configuration": each}))
        for each in (default, more)
    )
    times = limit.read(more) / limit.read(default)
    assert after.capacity_rps == pytest.approx(min(times * before.capacity_rps, after._cpu_rps(more)))
    assert after.capacity_rps > before.capacity_rps


def test_busy_cpus_are_the_limit_and_most_late_requests_have_been_read(server):
    """The other way round it is the connections that suffice."""
    busy = server({"max_connections": PLENTY})
    measured = busy.measure(1, 2 * busy.capacity_rps, frozenset())
    assert measured.requests.timed_out_after_read > 0
    assert measured.counters["network"]["listen_overflows_per_s"] == 0


def test_knob_with_an_effect_gains_it_at_its_best_value_only(server):
    """And nothing at the default."""
    effect = {"effects": {"sendfile": 0.5}}
    plain = server({"max_connections": PLENTY}).capacity_rps
    gains = {
        value: server({"max_connections": PLENTY, "sendfile": value}, **effect).capacity_rps / plain
        for value in ("off", "blocking", "nonblocking")
    }
    assert sorted(gains.values()) == [1.0, 1.0, 1.5]
    assert gains[server().job.configuration["sendfile"]] == 1.0


def test_host_that_slows_down_answers_less_from_trial_to_trial(server):
    """What drifts is told apart from noise by its direction."""
    rates = [
        server(trial=trial, drift_per_trial=0.05).measure(1, 1e5, frozenset()).reply_rate_rps
        for trial in (1, 2, 3)
    ]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) == 3


@pytest.mark.parametrize(
    "incidents",
    [(), ("starves",), ("fails",), ("disturbed",), ("generator-limited",), ("generator-starved",)],
)
@pytest.mark.parametrize("rate_rps", [10.0, 10_000.0, 200_000.0])
def test_what_became_of_the_requests_adds_up(server, rate_rps, incidents):
    """Whatever happens: to all of them, and to those of each size."""
    measured = server({"max_connections": PLENTY}).measure(1, rate_rps, frozenset(incidents))
    requests, classes = measured.requests, measured.size_classes
    ends = ("replied", "timed_out_before_read", "timed_out_after_read", "failed")
    assert requests.offered == sum(getattr(requests, end) for end in ends)
    for each in classes:
        assert each.asked == sum(getattr(each, end) for end in ends)
        assert min(getattr(each, end) for end in ends) >= 0
    assert requests.offered == sum(each.asked for each in classes)


def test_replies_take_longer_the_busier_the_server_is_and_never_longer_than_clients_wait(server):
    """As in a queue; beyond its capacity the clients' patience is all there is."""
    one = server({"max_connections": PLENTY})
    shares = (0.1, 0.5, 0.95, 2.0)
    latencies = [one.measure(1, share * one.capacity_rps, frozenset()).reply_latency for share in shares]
    means = [latency.mean_us for latency in latencies]
    assert means == sorted(means)
    assert latencies[-1].max_us <= 2e6


def test_closed_loop_offers_what_its_connections_can_ask(server):
    """Each asks again when it has its reply; so many that the CPUs are busy find the capacity."""
    knobs = {"workers": 2, "max_connections": PLENTY}
    one = server(knobs, job_changes={"workload": closed(server)})
    few, many = (one.measure(1, connections, frozenset()).reply_rate_rps for connections in (1.0, 64.0))
    assert few == pytest.approx(20_000, rel=0.01)
    assert many == pytest.approx(40_000, rel=0.01)


def closed(server):
    """The workload of such a job, with clients that do not think."""
    workload = server().job.workload
    clients = workload.definition.clients.model_copy(update={"loop": "closed"})
    definition = workload.definition.model_copy(update={"clients": clients})
    return workload.model_copy(update={"definition": definition})
