"""What configurations cost, and which is the cheapest."""

from dataclasses import replace

import numpy as np
import pytest
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.cost import Cost, CostOfTrial, cheapest, cost_of, cost_of_trial, least_costly
from trimtab_tuner.clients import Clients
from trimtab_tuner.space import Knob, Space

SPACE = Space(
    knobs=(
        Knob(name="workers", kind="integer", low=1, high=64, default=1, help="Processes."),
        Knob(name="mode", kind="categorical", choices=("a", "b", "c"), default="a", help="Modes."),
        Knob(name="backlog", kind="integer", scale="log", low=16, high=4096, default=128, help="Queue."),
    )
)
NEAR, FAR = {**SPACE.default(), "workers": 3}, {**SPACE.default(), "workers": 40}
RATE = 1000.0
OPEN, CLOSED = Clients(), Clients(loop="closed", connections=(1, 64))


def cost(cpu_s, memory_bytes):
    """The cost of a configuration in an open loop, by rate."""
    return Cost(cpu_s_per_1000_requests=cpu_s, memory_bytes=memory_bytes, level_unit="requests/s")


def costs(cpu, memory):
    """Costs by hash, from rows of figures by configuration."""
    return {
        configuration_hash(one): cost({RATE: tuple(a)}, {RATE: tuple(b)})
        for one, a, b in zip((NEAR, FAR), cpu, memory, strict=True)
    }


LEVEL, LESS, MORE = (0.20, 0.21, 0.19, 0.20), (0.15, 0.16, 0.14, 0.15), (40e6, 41e6, 40e6, 40e6)
LESS_MEMORY = (20e6, 21e6, 20e6, 20e6)


@pytest.mark.parametrize(
    ("cpu", "memory", "chosen", "why"),
    [
        ((LEVEL, LESS), (LESS_MEMORY, MORE), FAR,
         "used the least CPU time: 150 ms for 1,000 requests at 1,000 requests/s, the next 200 ms"),
        ((LEVEL, (0.21, 0.19, 0.20, 0.19)), (MORE, LESS_MEMORY), FAR,
         "needed the least memory: 20.25 MB at 1,000 requests/s, the next 40.25 MB"),
        (((None,) * 4, LESS), (MORE, LESS_MEMORY), FAR,
         "needed the least memory: 20.25 MB at 1,000 requests/s, the next 40.25 MB"),
        ((LEVEL, LEVEL), (MORE, (41e6, 40e6, 40e6, 39e6)), NEAR,
         "is nearest to the default; what they cost cannot be told apart either"),
    ],
)  # fmt: skip
def test_cpu_decides_then_memory_then_nearness_to_the_default(cpu, memory, chosen, why):
    """What cannot be told apart, or was not counted of all, leaves it to the next."""
    assert cheapest(SPACE, (FAR, NEAR), costs(cpu, memory)) == (chosen, why)


def test_nearness_counts_changed_knobs_and_then_their_distance():
    """One knob far away is nearer than two close by; a category is one step."""
    two = {**SPACE.default(), "workers": 2, "backlog": 136}
    other_mode = {**SPACE.default(), "mode": "c"}
    assert cheapest(SPACE, (two, other_mode, FAR), {})[0] == FAR
    assert cheapest(SPACE, (two, other_mode), {})[0] == other_mode


@pytest.mark.parametrize("known", [{}, costs((LESS, LEVEL), (MORE, MORE))])
def test_what_was_not_compared_is_not_said_to_cost_the_same(known):
    """Nothing was measured, or not of every one of them."""
    two = {**SPACE.default(), "workers": 2}
    why = "is nearest to the default; what they cost could not be compared"
    assert cheapest(SPACE, (two, FAR), known) == (two, why)


def test_costs_compare_at_the_highest_rate_that_all_followed():
    """The second follows the lower rate only, where it is the cheaper one."""
    both = {
        configuration_hash(NEAR): cost({500.0: LEVEL, RATE: LESS}, {}),
        configuration_hash(FAR): cost({500.0: LESS}, {}),
    }
    assert cheapest(SPACE, (NEAR, FAR), both)[0] == FAR


def test_noise_of_equal_costs_rarely_decides():
    """A/A: CPU time that differs by 3 % within blocks; the farther one is chosen by luck in 2.5 % of 400."""
    chance = np.random.default_rng(6)
    lucky = 0
    for _ in range(400):
        block = chance.normal(0, 0.1, 4)
        cpu = [(0.2 * np.exp(block + chance.normal(0, 0.03, 4))).tolist() for _ in range(2)]
        lucky += cheapest(SPACE, (NEAR, FAR), costs(cpu, [(None,) * 4] * 2))[0] == FAR
    assert lucky / 400 <= 0.04


def measured(block, *rates, verdict=Verdict.VERIFIED):
    """A trial of the confirmation: at each rate, what was replied, and half a CPU second in a second."""
    used = {"server_processes": {"cpu_s": 0.5}}
    return Trial(
        configuration=NEAR,
        verdict=verdict,
        score=100.0 if verdict is Verdict.VERIFIED else None,
        purpose=TrialPurpose.CONFIRMATION,
        block=block,
        measurements=tuple(
            Measurement(
                rate_rps=rate, goodput_mbps=1.0, reply_rate_rps=replied, duration_s=1.0, counters=used
            )
            for rate, replied in rates
        ),
    )


def test_cost_is_told_at_the_rates_that_were_followed_in_every_verified_block():
    """A rate that was not followed once has no cost, nor has a block without verification."""
    trials = [
        measured(1, (1000.0, 1000.0), (2000.0, 2000.0)),
        measured(2, (1000.0, 1000.0), (2000.0, 1500.0)),
        measured(3, (1000.0, 1.0), verdict=Verdict.FAILED_VERIFICATION),
    ]
    assert cost_of(trials, (1, 2, 3), OPEN).cpu_s_per_1000_requests == {1000.0: (0.5, 0.5, None)}
    closed = cost_of(trials[:2], (1, 2), CLOSED)
    assert closed.cpu_s_per_1000_requests[2000.0] == (0.25, pytest.approx(1 / 3))
    assert cost_of((), (1,), OPEN).memory_bytes == {}


def test_block_in_which_the_generator_gave_out_counts_but_for_the_rates_at_which_it_did():
    """The confirmation counts it too, with what the configuration did at least."""
    whole = measured(1, (1000.0, 1000.0), (2000.0, 2000.0))
    cut_off = measured(2, (1000.0, 1000.0), (2000.0, 2000.0), verdict=Verdict.GENERATOR_LIMITED)
    rates = (cut_off.measurements[0], replace(cut_off.measurements[1], generator_limited=True))
    cut_off = replace(cut_off, estimated_score=90.0, measurements=rates)
    assert cost_of((whole, cut_off), (1, 2), OPEN).cpu_s_per_1000_requests == {1000.0: (0.5, 0.5)}


def test_cost_in_a_closed_loop_is_told_at_a_number_of_connections():
    """There are no rates."""
    found = {
        configuration_hash(one): Cost(
            cpu_s_per_1000_requests={64.0: row}, memory_bytes={}, level_unit=CLOSED.level_unit
        )
        for one, row in ((NEAR, LEVEL), (FAR, LESS))
    }
    assert "150 ms for 1,000 requests at 64 connections" in cheapest(SPACE, (NEAR, FAR), found)[1]


def of_trial(cpu_s, memory_mb, rate_rps=RATE, beyond=None):
    """What one trial cost at one rate; and at a higher one, which others need not have followed."""
    cpu = {rate_rps: cpu_s} if beyond is None else {rate_rps: cpu_s, 2 * rate_rps: beyond}
    return CostOfTrial(cpu_s_per_1000_requests=cpu, memory_bytes=dict.fromkeys(cpu, memory_mb * 1e6))


@pytest.mark.parametrize(
    ("near", "far", "noise", "chosen"),
    [
        ([of_trial(0.20, 40, beyond=0.1)], [of_trial(0.15, 80)], 0.01, FAR),  # less CPU time goes first
        ([of_trial(0.20, 40)], [of_trial(0.195, 20)], 0.01, FAR),  # alike in that, less memory
        ([of_trial(0.20, 40)], [of_trial(0.195, 39)], 0.01, NEAR),  # alike in both, nearer to the default
        ([of_trial(0.20, 40)], [of_trial(0.17, 40)], 0.10, NEAR),  # on a noisy host nothing is told apart
        ([of_trial(0.20, 40)], [], 0.01, NEAR),  # of one nothing is known
        ([of_trial(0.2, 40), of_trial(0.1, 40)], [of_trial(0.2, 40)], 0.01, NEAR),  # the mean counts
        ([of_trial(0.20, 40)], [of_trial(0.15, 20, rate_rps=300.0)], 0.01, NEAR),  # no rate in common
    ],
)
def test_of_equal_configurations_of_a_search_the_one_that_costs_less_is_taken(near, far, noise, chosen):
    """By what was measured in its trials, of which most have one, and not by a formula of its limits."""
    known = {configuration_hash(NEAR): near, configuration_hash(FAR): far}
    assert least_costly(SPACE, (FAR, NEAR), known, noise) == chosen


def test_cost_of_a_trial_is_of_the_rates_that_it_followed():
    """Not of one at which the server had fallen behind, or the load generator had given out."""
    counters = {"server_processes": {"cpu_s": 0.5, "peak_memory_bytes": 7e6}}

    def at(rate_rps, replied_rps, **more):
        measured = Measurement(
            rate_rps=rate_rps, goodput_mbps=1.0, reply_rate_rps=replied_rps, duration_s=1.0, **more
        )
        return replace(measured, counters=counters)

    trial = Trial(
        configuration=NEAR,
        verdict=Verdict.VERIFIED,
        measurements=(at(1000.0, 1000.0), at(2000.0, 1500.0), at(900.0, 900.0, generator_limited=True)),
    )
    found = cost_of_trial(trial, OPEN)
    assert found.cpu_s_per_1000_requests == {1000.0: 0.5}
    assert found.memory_bytes == {1000.0: 7e6}
