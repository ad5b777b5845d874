"""Bigger is not always better: of a proxy's kept connections and buffers the best is found inside, too."""

import pytest
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.simulated.scenario import Scenario
from trimtab_agent.simulated.server_model import SimulatedServer
from trimtab_agent.study.run_spec import RunSpec
from trimtab_db.records import RunState
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

EFFECTS = {"keepalive": 0.6, "proxy_buffers": 0.3}
KNOBS = {knob.name: knob for knob in TARGETS["nginx"].proxy_knobs if knob.name in EFFECTS}


def best_values(seed):
    """What the simulated server's best values are."""
    return {name: server_of(seed)._best(knob) for name, knob in KNOBS.items()}


def server_of(seed):
    """The simulated server."""
    job = TrialJob(
        target="nginx",
        workload=parameters(WORKLOADS["proxy"], 0.1),
        ladder=(100.0,),
        rate_duration_s=1.0,
        timeout_s=1.0,
    )
    return SimulatedServer(
        job=job,
        scenario=Scenario(seed=seed, effects=EFFECTS),
        trial=0,
        sizes=(1024,),
        cpus=(0,),
        generator_cpus=(1,),
    )


CHOICES = KNOBS["keepalive"].choices
# Twice as far up the scale nothing is gained any more: the largest number is no better than none.
SEEDS = [seed for seed in range(100) if CHOICES.index(best_values(seed)["keepalive"]) in (3, 4)][:3]


@pytest.mark.parametrize("seed", SEEDS)
def test_best_number_of_kept_connections_is_found_where_more_are_worse(seed, simulated, runtime):
    """It gains half of what the best does at least, on a server where the largest number gains nothing."""
    simulated.change(seed=seed, effects=EFFECTS)
    run_id = runtime.service.start(RunSpec(target="nginx", workload="proxy", seed=seed))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    found = Outcome.model_validate(run.outcome).best
    gained = {value: server_of(seed)._nearness(KNOBS["keepalive"], value) for value in CHOICES}
    assert gained[CHOICES[-1]] == 0
    assert gained[found["keepalive"]] >= 0.5
