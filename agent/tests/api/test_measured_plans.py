"""Which plan the Host page begins with: what the recorded runs of this machine have measured."""

from collections.abc import Callable, Sequence

import pytest
from trimtab_db import records
from trimtab_tuner.targets import TARGETS

CORE = TARGETS["core"].space()


@pytest.fixture
def record_plans(daemon, make_trial_of) -> Callable[..., records.Run]:
    """Records a run over the plans: a score for each plan at each number of workers."""

    def record(scores: dict[str, Sequence[float]], host_id: int | None = None, free: bool = True):
        fixed = {name: value for name, value in CORE.fixed.items() if name != "affinity" or not free}
        space = CORE.model_copy(update={"fixed": fixed})
        run = daemon.repository.create_run(
            records.NewRun(
                host_id=host_id or daemon.context.host_id,
                target_id=daemon.repository.register_target("core", "0.1.0"),
                workload_id=daemon.repository.register_workload("w4", {}, files=1, total_bytes=1),
                preset="quick",
                strategy="grid",
                objective="condensed-area",
                second_objective=None,
                space=space.model_dump(mode="json"),
                settings={},
                seed=1,
                budget_trials=9,
                layout={"server": [0], "generator": [1]},
            )
        )
        number = 0
        for plan, own in scores.items():
            for workers, score in enumerate(own, start=1):
                number += 1
                daemon.repository.record_trial(make_trial_of(run, number, plan, workers, score))
        return run

    return record


def test_nothing_measured_is_none_with_the_reason(daemon, record_plans):
    """Also where the plan was not searched over, or never beside none."""
    record_plans({"aligned": [100.0, 110.0]})
    record_plans({"none": [100.0], "aligned": [120.0]}, free=False)
    reply = daemon.client.get("/api/v1/affinity/measured").json()
    assert (reply["best"], reply["plans"]) == ("none", [])
    assert "No recorded run" in reply["reason"]


def test_the_plan_that_measured_best_is_told_with_its_gain(daemon, record_plans):
    """Paired by all that the plan is not: a better one at more workers is not the workers' gain."""
    run = record_plans(
        {"none": [100.0, 200.0, 400.0], "process": [101.0, 198.0, 401.0], "aligned": [120.0, 241.0, 479.0]}
    )
    reply = daemon.client.get("/api/v1/affinity/measured").json()
    assert reply["best"] == "aligned"
    assert f"3 pairs in run {run.id}" in reply["reason"]
    gains = {line["plan"]: line["gain"]["gain"] for line in reply["plans"]}
    assert gains["aligned"] == pytest.approx(0.2, abs=0.01)


def test_a_plan_that_costs_is_not_the_best(daemon, record_plans):
    """As aligned did on the machine that this was written on."""
    record_plans({"none": [100.0, 200.0, 400.0], "aligned": [65.0, 131.0, 259.0]})
    reply = daemon.client.get("/api/v1/affinity/measured").json()
    assert reply["best"] == "none"
    assert "aligned beside none: -35 %" in reply["reason"]


def test_a_gain_that_could_be_chance_is_none(daemon, record_plans):
    """One pair has no interval."""
    record_plans({"none": [100.0], "aligned": [150.0]})
    assert daemon.client.get("/api/v1/affinity/measured").json()["best"] == "none"


def test_misaligned_is_never_advised(daemon, record_plans):
    """It is there to be measured."""
    record_plans({"none": [100.0, 200.0, 400.0], "misaligned": [120.0, 241.0, 479.0]})
    assert daemon.client.get("/api/v1/affinity/measured").json()["best"] == "none"
