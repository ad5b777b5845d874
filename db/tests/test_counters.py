"""The contract of the repository about counter samples; runs on every backend."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from trimtab_db.errors import RecordConflictError
from trimtab_db.records import CounterSample, StoredSample
from trimtab_db.repository.counters import RETENTION


def make_samples(host_id: int, newest: datetime, count: int, **fields: object) -> list[CounterSample]:
    """Samples one second apart, oldest first."""
    return [
        CounterSample(
            host_id=host_id, taken_at=newest - timedelta(seconds=age), values={"run_queue": age}, **fields
        )
        for age in reversed(range(count))
    ]


def decoded(samples: Iterable[StoredSample]) -> list[CounterSample]:
    """What was recorded."""
    return [
        CounterSample(
            host_id=sample.host_id,
            taken_at=sample.taken_at,
            values=json.loads(sample.values_json),
            run_id=sample.run_id,
            trial_number=sample.trial_number,
            step_s=sample.step_s,
        )
        for sample in samples
    ]


def test_window_holds_both_its_ends_and_its_host_only(repository, make_host):
    """Samples come oldest first."""
    host_id = repository.register_host(make_host())
    other_id = repository.register_host(make_host(machine_id="another"))
    newest = datetime.now(UTC)
    samples = make_samples(host_id, newest, 10)
    repository.add_counter_samples(samples)
    repository.add_counter_samples(make_samples(other_id, newest, 10))
    assert decoded(repository.counter_samples(host_id, samples[4].taken_at)) == samples[4:]
    window = repository.counter_samples(host_id, samples[4].taken_at, samples[6].taken_at)
    assert decoded(window) == samples[4:7]


def test_samples_of_a_trial_are_those_taken_while_it_was_measured(repository, make_run):
    """Oldest first, and none of the trial before."""
    run = make_run(repository)
    newest = datetime.now(UTC)
    own = make_samples(run.host_id, newest, 3, run_id=run.id, trial_number=2)
    earlier = make_samples(
        run.host_id, own[0].taken_at - timedelta(seconds=1), 3, run_id=run.id, trial_number=1
    )
    repository.add_counter_samples(earlier + own)
    assert decoded(repository.trial_counter_samples(run.id, 2)) == own
    assert repository.trial_counter_samples(run.id, 3) == ()


def test_trial_has_its_finest_samples_only_where_they_are_there_for_all_of_it(repository, make_run):
    """Neither ten a second for a moment nor seconds that are pruned in part are the whole trial."""
    run = make_run(repository)
    newest = datetime.now(UTC)
    whole = make_samples(run.host_id, newest, 30, run_id=run.id, trial_number=1)
    moment = [replace(whole[10], step_s=0), replace(whole[11], step_s=0)]
    repository.add_counter_samples(whole + moment)
    assert decoded(repository.trial_counter_samples(run.id, 1)) == whole
    fine = [replace(sample, step_s=0) for sample in whole[:10] + whole[12:]]
    repository.add_counter_samples(fine)
    assert {sample.step_s for sample in repository.trial_counter_samples(run.id, 1)} == {0}
    tens = [replace(sample, step_s=10, trial_number=2) for sample in whole[9::10]]
    left = [replace(sample, trial_number=2) for sample in whole[-5:]]
    repository.add_counter_samples(tens + left)
    assert decoded(repository.trial_counter_samples(run.id, 2)) == tens


def test_no_samples_are_no_transaction(repository):
    """An empty batch is fine."""
    repository.add_counter_samples([])


def test_bad_sample_takes_its_batch_with_it(repository, make_host):
    """All of a batch or none of it."""
    host_id = repository.register_host(make_host())
    newest = datetime.now(UTC)
    batch = make_samples(host_id, newest, 3) + make_samples(4711, newest, 1)
    with pytest.raises(RecordConflictError):
        repository.add_counter_samples(batch)
    assert repository.counter_samples(host_id, newest - RETENTION[1]) == ()


def test_pruning_keeps_each_step_for_its_time_and_the_ten_seconds_of_runs(repository, make_run, make_host):
    """A run's samples go after a day like all others; their means of ten seconds stay with it."""
    run = make_run(repository)
    now = datetime.now(UTC)
    other_id = repository.register_host(make_host(machine_id="another"))
    for step_s, age in RETENTION.items():
        stale = now - age - timedelta(minutes=1)
        repository.add_counter_samples(
            [
                *make_samples(run.host_id, now, 5, step_s=step_s),
                *make_samples(run.host_id, stale, 3, step_s=step_s),
                *make_samples(run.host_id, stale, 4, step_s=step_s, run_id=run.id, trial_number=1),
            ]
        )
    repository.add_counter_samples(make_samples(other_id, now - timedelta(days=2), 2))
    repository.prune_counter_samples(run.host_id)
    long_ago = now - timedelta(days=1000)
    kept = {
        step_s: len(repository.counter_samples(run.host_id, long_ago, step_s=step_s)) for step_s in RETENTION
    }
    assert kept == {0: 5, 1: 5, 10: 5 + 4, 60: 5}
    assert {sample.step_s for sample in repository.trial_counter_samples(run.id, 1)} == {10}
    assert len(repository.counter_samples(other_id, long_ago)) == 2


def test_samples_never_take_up_more_than_they_may(repository, make_host):
    """The finest step gives way first, oldest before newest."""
    host_id = repository.register_host(make_host())
    now = datetime.now(UTC)
    for step_s in (1, 60):
        samples = [replace(each, values={"run_queue": 7}) for each in make_samples(host_id, now, 100)]
        repository.add_counter_samples([replace(each, step_s=step_s) for each in samples])
    one_bytes = len(zlib.compress(b'{"run_queue":7}', 1))
    assert repository.prune_counter_samples(host_id, largest_bytes=150 * one_bytes) == 50
    long_ago = now - timedelta(days=1)
    fine, coarse = (repository.counter_samples(host_id, long_ago, step_s=step_s) for step_s in (1, 60))
    assert (len(fine), len(coarse), fine[-1].taken_at) == (50, 100, now)


def test_samples_of_a_machine_are_its_own_whatever_its_kernel_was(repository, make_host):
    """A machine that has got a new kernel goes on with its samples, and clears up the old ones."""
    old = repository.register_host(make_host())
    now = datetime.now(UTC)
    repository.add_counter_samples(make_samples(old, now - timedelta(days=3), 2))
    repository.add_counter_samples(make_samples(old, now - timedelta(seconds=9), 2))
    new = repository.register_host(make_host(kernel="6.19.0"))
    repository.add_counter_samples(make_samples(new, now, 2))
    assert len(repository.counter_samples(new, now - timedelta(hours=1))) == 4
    assert repository.prune_counter_samples(new) == 2
