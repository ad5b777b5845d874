"""How often the intervals of capacities and gains hold the truth in simulated confirmations, and how wide
they are.
"""

import math
from dataclasses import dataclass, replace
from statistics import fmean

import pytest
from trimtab_agent.simulated.scenario import Scenario
from trimtab_agent.simulated.server_model import SimulatedServer
from trimtab_trials.measurement import FOLLOWS
from trimtab_tuner.certainty.statistics import paired_gain
from trimtab_tuner.judging.climbing import next_rung
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.job_rates import rates_of
from trimtab_tuner.judging.judgement import holds
from trimtab_tuner.judging.ladder import RUNG_RISE, make_ladder
from trimtab_tuner.presets import PRESETS
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.telling.performance import capacities_of, performances
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

QUICK = PRESETS["quick"].settings
DEFAULT = {**TARGETS["core"].space(cpus=1).default(), "max_connections": 512}
WORKLOAD = parameters(WORKLOADS["specweb99"].sized(1), 0.1)
SEEDS = range(1, 201)


@dataclass
class Confirmation:
    """The blocks of a default and of a configuration that admits so many times its connections."""

    scenario: Scenario
    times: float
    trials: int = 0

    def measured(self):
        """What was measured in each block, of the default and of the other; the truth of both, in requests
        per second.
        """
        default, other = (self._server(limit) for limit in self.limits)
        ladder = list(first := make_ladder(default.capacity_rps * self._off_the_knee(), QUICK.ladder_points))
        while ladder[-1] < other.capacity_rps:
            ladder.append(next_rung(ladder[-1], RUNG_RISE))
        blocks = range(1, QUICK.confirmation_repeats + 1)
        of_default, of_other = {}, {}
        for block in blocks:
            of_default[block] = self._climb(self.limits[0], first)
            of_other[block] = self._climb(self.limits[1], ladder)
        return of_default, of_other, self._limit(default.capacity_rps), self._limit(other.capacity_rps)

    @property
    def limits(self):
        """Of connections: those of the default and of the other."""
        return 512, round(512 * self.times)

    def _off_the_knee(self):
        """A calibration is not exact: where the rungs lie is another matter in every run."""
        return 0.88 + 0.24 * (self.scenario.seed * 0.618034 % 1)

    def _limit(self, capacity_rps):
        """The highest rate that such a server follows."""
        lost = self.scenario.overload_loss
        return capacity_rps * (1 + lost) / (FOLLOWS + lost)

    def _server(self, connections, ladder=(1000.0,)):
        job = TrialJob(
            target="core",
            configuration={**DEFAULT, "max_connections": connections},
            workload=WORKLOAD,
            ladder=tuple(ladder),
            rise=RUNG_RISE,
            refinements=QUICK.capacity_halvings,
            rate_duration_s=QUICK.rate_duration_s,
            warmup_s=QUICK.warmup_s,
            timeout_s=QUICK.timeout_s,
        )
        self.trials += 1
        return SimulatedServer(
            job=job,
            scenario=self.scenario,
            trial=self.trials,
            sizes=(1024, 102_400),
            cpus=(0,),
            generator_cpus=(1,),
        )

    def _climb(self, connections, ladder):
        server, measured = self._server(connections, ladder), []
        for number, rate_rps in enumerate(rates_of(server.job, measured), start=1):
            one = server.measure(number, rate_rps, frozenset())
            measured.append(replace(one, held=holds(server.job, one)))
        return measured


def by_rates_alone(of_default, of_other):
    """The interval of the gain that reaches from what the one followed against what the other did not."""
    default, other = (list(capacities_of(blocks).values()) for blocks in (of_default, of_other))
    low = paired_gain([one.lost_rps for one in default], [one.rate_rps for one in other]).low
    high = paired_gain([one.rate_rps for one in default], [one.lost_rps for one in other]).high
    return math.log((1 + high) / (1 + low))


@pytest.mark.parametrize(
    ("times", "scenario", "narrower"),
    [
        (1.0, {"noise_within": 0.02, "noise_between": 0.02}, 0.9),
        (1.3, {"noise_within": 0.004, "noise_between": 0.006}, 0.6),
        (1.8, {"noise_within": 0.03, "noise_between": 0.05, "overload_loss": 0.4}, 0.95),
        (1.5, {"noise_within": 0.001, "noise_between": 0.001, "overload_loss": 3.0}, 1.0),
    ],
    ids=["equal", "quiet", "noisy", "collapsing"],
)
def test_intervals_hold_the_truth_and_are_narrower_than_by_the_rates_alone(times, scenario, narrower):
    """In 200 confirmations each; wherever the rungs of the ladder lie."""
    held, widths, widths_by_rates = {"gain": 0, "capacity": 0}, [], []
    for seed in SEEDS:
        confirmation = Confirmation(Scenario(seed=seed, default_share=0.45, **scenario), times)
        of_default, of_other, default_rps, other_rps = confirmation.measured()
        own = performances({"default": of_default, "other": of_other}, "default", (1.0,))["other"]
        gain = own.capacity_gain
        held["gain"] += gain.low <= other_rps / default_rps - 1 <= gain.high
        held["capacity"] += own.capacity_rps.low <= other_rps <= own.capacity_rps.high
        widths.append(math.log((1 + gain.high) / (1 + gain.low)))
        widths_by_rates.append(by_rates_alone(of_default, of_other))
    assert min(held.values()) >= 0.93 * len(SEEDS), held
    assert fmean(widths) <= narrower * fmean(widths_by_rates)
