"""Samples of a long window, put together on the clock."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from trimtab_agent.recording.thinning import StepMeans, thinned
from trimtab_db.records import CounterSample

START = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def sample(second: int, **values: object) -> CounterSample:
    """A sample taken `second` seconds after the start."""
    taken_at = START + timedelta(seconds=second)
    return CounterSample(
        host_id=1, taken_at=taken_at, values={"time": taken_at.timestamp(), "interval_s": 1.0, **values}
    )


def test_samples_of_one_step_become_their_mean():
    """At every depth: by name, and by place in lists of the same length."""
    rows = [
        sample(second, cpu={"cpus": [{"user": 10.0 * second}, {"user": 2.0}]}, missing={})
        for second in range(4)
    ]
    first, second = thinned(rows, 2)
    assert first.values["cpu"] == {"cpus": [{"user": 5.0}, {"user": 2.0}]}
    assert (first.values["interval_s"], first.taken_at) == (2.0, rows[1].taken_at)
    assert second.values["cpu"]["cpus"][0] == {"user": 25.0}


def test_what_only_some_samples_have_is_the_mean_of_those():
    """A server that ran for a part of the step is not diluted by the time without it."""
    (row,) = thinned([sample(0), sample(1, server={"requests_per_s": 8.0}), sample(2)], 10)
    assert row.values["server"] == {"requests_per_s": 8.0}
    (row,) = thinned([sample(0, missing={"a": None, "b": 1.0}), sample(1, missing={"a": 3.0, "b": 2.0})], 10)
    assert row.values["missing"] == {"a": 3.0, "b": 1.5}


def test_what_names_the_trial_and_the_cpu_is_not_averaged():
    """The step belongs to what it ended in."""
    rows = [
        sample(second, load={"trial": second, "goodput_mbps": 10.0 * second}, cpu={"cpus": [{"cpu": 1}]})
        for second in range(2)
    ]
    (row,) = thinned(rows, 10)
    assert row.values["load"] == {"trial": 1, "goodput_mbps": 5.0}
    assert row.values["cpu"] == {"cpus": [{"cpu": 1}]}
    assert row.values["time"] == rows[1].taken_at.timestamp()


def test_steps_stand_on_the_clock():
    """The same sample falls into the same step, wherever the window begins."""
    rows = [sample(second, n=second) for second in range(3, 9)]
    assert [row.values["n"] for row in thinned(rows, 5)] == [3.5, 6.5]
    assert [row.values["n"] for row in thinned(rows[1:], 5)] == [4, 6.5]


def test_a_step_of_a_second_changes_nothing():
    """As it is stored."""
    rows = [sample(0), sample(1)]
    assert thinned(rows, 1) == tuple(rows)
    assert thinned((), 10) == ()


def test_a_step_is_over_with_the_clock_or_with_the_trial():
    """Means of ten seconds, each of one trial only."""
    means = StepMeans(10)
    trials = [(1, 1)] * 12 + [(1, 2)] * 3
    done = []
    for second, (run_id, trial_number) in enumerate(trials):
        taken = replace(sample(second, cpu={"user": float(second)}), run_id=run_id, trial_number=trial_number)
        done.append(means.add(taken))
    finished = [mean for mean in done if mean is not None] + [means.finish()]
    assert [(mean.values["cpu"]["user"], mean.trial_number, mean.step_s) for mean in finished] == [
        (4.5, 1, 10),
        (10.5, 1, 10),
        (13.0, 2, 10),
    ]
    assert means.finish() is None
