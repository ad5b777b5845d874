"""The sampling thread with its recorder: what is kept, and what is let go."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from empty_databases import empty_sqlite
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters import source
from trimtab_agent.counters.source import CounterSet
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.host.identity import describe_host
from trimtab_agent.recording import recorder, sampler
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.recording.thinning import decoded
from trimtab_db import Repository, engines, open_database
from trimtab_db.records import CounterSample
from trimtab_db.repository.counters import RETENTION


@pytest.fixture
def repository(tmp_path) -> Iterator[Repository]:
    """An empty database."""
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    yield repository
    repository.close()


@pytest.fixture
def host_id(repository, tmp_path) -> int:
    """This machine's record."""
    return repository.register_host(describe_host(tmp_path))


@pytest.fixture
def broadcaster() -> Broadcaster:
    """Where the samples are published."""
    return Broadcaster()


def make(repository, host_id, broadcaster, interval_s=0.01) -> tuple[Sampler, recorder.Recorder]:
    """A sampler, and what keeps its samples."""
    recording = recorder.Recorder(repository, host_id, broadcaster)
    return Sampler(WatchedCounters(), recording, broadcaster, interval_s=interval_s), recording


def test_samples_older_than_a_day_are_let_go_while_sampling(repository, host_id, broadcaster, monkeypatch):
    """A daemon that runs for months does not grow without bounds."""
    monkeypatch.setattr(recorder, "PRUNE_EVERY_S", 0.0)
    monkeypatch.setattr(recorder, "WRITE_EVERY_S", 0.0)
    old = datetime.now(UTC) - RETENTION[1] - timedelta(hours=1)
    repository.add_counter_samples([CounterSample(host_id=host_id, taken_at=old, values={})])
    sampling, recording = make(repository, host_id, broadcaster)
    sampling.start()
    pause = threading.Event()
    while len(kept := repository.counter_samples(host_id, old)) < 3 or kept[0].taken_at == old:
        pause.wait(0.01)
    sampling.stop()
    recording.close()
    assert all(
        sample.values["cpu"]["cpus"] for sample in map(decoded, repository.counter_samples(host_id, old))
    )


def test_means_of_ten_seconds_and_a_minute_are_recorded_beside_the_samples(
    repository, host_id, broadcaster, monkeypatch
):
    """What is left of a step when sampling ends is recorded as well; a minute has no lists."""
    monkeypatch.setattr(recorder, "WRITE_EVERY_S", 0.0)
    begun = datetime.now(UTC)
    sampling, recording = make(repository, host_id, broadcaster)
    sampling.start()
    pause = threading.Event()
    while len(repository.counter_samples(host_id, begun)) < 3:
        pause.wait(0.01)
    sampling.stop()
    recording.close()
    tens = repository.counter_samples(host_id, begun, step_s=10)
    minutes = repository.counter_samples(host_id, begun, step_s=60)
    assert decoded(tens[-1]).values["cpu"]["cpus"]
    assert decoded(minutes[-1]).values["cpu"]["total"]
    assert "cpus" not in decoded(minutes[-1]).values["cpu"]


class Clock:
    """Time that passes only while the sampler waits; it stands in for the module `time` and for the sampler's
    end, which comes after so many seconds.
    """

    def __init__(self, begun_s: float, ends_after_s: float) -> None:
        self._begun_s, self._ends_after_s, self._now_s = begun_s, ends_after_s, 0.0

    def monotonic(self) -> float:
        """Seconds since the test began."""
        return self._now_s

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._begun_s + self._now_s

    def wait(self, timeout_s: float) -> bool:
        """Lets the time pass; whether the end has come."""
        self._now_s += timeout_s
        return self._now_s >= self._ends_after_s

    def set(self) -> None:
        """The end comes when its time has come."""


def test_samples_of_less_than_a_second_come_as_long_as_they_are_wanted(
    repository, host_id, broadcaster, monkeypatch
):
    """On a clock of the test's own, in fractions that have no rounding: 1/64 s, and then 1/4 s again."""
    begun = datetime.now(UTC)
    clock = Clock(begun.timestamp(), ends_after_s=2.0)
    for module in (sampler, source):
        monkeypatch.setattr(module, "time", clock)
    subscription = broadcaster.subscribe(lambda: None)
    recording = recorder.Recorder(repository, host_id, broadcaster)
    sampling = Sampler(CounterSet([]), recording, broadcaster, interval_s=0.25)
    monkeypatch.setattr(sampling, "_end", clock)
    sampling.sample_every(1 / 64, for_s=1.0)
    sampling.start()
    sampling.stop()
    recording.close()
    fine = list(map(decoded, repository.counter_samples(host_id, begun, step_s=0)))
    whole = list(map(decoded, repository.counter_samples(host_id, begun)))
    assert [sample.values["interval_s"] for sample in fine] == [round(1 / 64, 4)] * 63
    assert [sample.values["interval_s"] for sample in whole] == [0.25] * 7
    assert len(subscription.drain()) == 63 + 4


@pytest.mark.live
def test_ten_samples_a_second_are_taken_while_somebody_wants_them(repository, host_id, broadcaster):
    """They are published and kept beside each whole second, and end by themselves."""
    begun = datetime.now(UTC)
    arrived = threading.Event()
    subscription = broadcaster.subscribe(arrived.set)
    sampling, recording = make(repository, host_id, broadcaster, interval_s=0.2)
    begun_s = time.monotonic()
    sampling.sample_every(0.02, for_s=1.0)
    assert sampling.interval_s == 0.02
    sampling.start()
    pause = threading.Event()
    while sampling.interval_s < 0.2:
        pause.wait(0.02)
    took_s = time.monotonic() - begun_s + 0.2
    whole = fine = repository.counter_samples(host_id, begun)
    while not fine or whole[-1].taken_at <= fine[-1].taken_at:
        pause.wait(0.02)
        recording.write()
        whole = repository.counter_samples(host_id, begun)
        fine = repository.counter_samples(host_id, begun, step_s=0)
    sampling.stop()
    recording.close()
    assert len(fine) > 2
    fine, whole = [decoded(each) for each in fine], [decoded(each) for each in whole]
    assert all(sample.values["cpu"]["cpus"] for sample in (*fine, *whole))
    assert sum(sample.values["interval_s"] for sample in fine) < took_s
    assert max(sample.values["interval_s"] for sample in whole) >= 0.19
    in_order = sorted(event.data["time"] for event in subscription.drain())
    assert len(in_order) == len(set(in_order)) >= len(fine)


def test_what_another_thread_is_writing_can_be_read_after_a_write(
    repository, host_id, broadcaster, monkeypatch
):
    """A page that asks for the last seconds while a batch is being written must not miss that batch."""
    begun = datetime.now(UTC)
    monkeypatch.setattr(recorder, "WRITE_EVERY_S", 0.0)
    writing, go_on = threading.Event(), threading.Event()
    add = repository.add_counter_samples

    def add_slowly(samples: list[CounterSample]) -> None:
        if samples:
            writing.set()
            go_on.wait()
        add(samples)

    monkeypatch.setattr(repository, "add_counter_samples", add_slowly)
    sampling, recording = make(repository, host_id, broadcaster)
    sampling.start()
    writing.wait()
    counts: list[int] = []

    def write_and_read() -> None:
        recording.write()
        counts.append(len(repository.counter_samples(host_id, begun)))

    reader = threading.Thread(target=write_and_read)
    reader.start()
    reader.join(0.5)
    go_on.set()
    reader.join()
    sampling.stop()
    recording.close()
    assert counts[0] > 0


def test_samples_that_a_locked_database_refuses_are_written_when_it_is_open_again(
    repository, host_id, broadcaster, tmp_path, monkeypatch
):
    """Nothing of the time of the lock is missing; it is told once."""
    monkeypatch.setattr(engines, "BUSY_TIMEOUT_S", 0.01)
    subscription = broadcaster.subscribe(lambda: None)
    recording = recorder.Recorder(repository, host_id, broadcaster)
    begun = datetime.now(UTC)
    with closing(sqlite3.connect(tmp_path / "trimtab.db", isolation_level=None)) as other:
        repository.database.engine.dispose()  # or the connections keep their patience
        other.execute("BEGIN EXCLUSIVE")
        for second in range(3):
            recording.keep({"cpu": second}, begun.timestamp() + second, 1, None, None)
            recording.write()
        assert repository.counter_samples(host_id, begun - timedelta(seconds=1)) == ()
        other.execute("ROLLBACK")
    recording.close()
    kept = map(decoded, repository.counter_samples(host_id, begun - timedelta(seconds=1)))
    assert [sample.values["cpu"] for sample in kept] == [0, 1, 2]
    (told,) = subscription.drain()
    assert "kept for up to an hour" in told.data["message"]


def test_only_the_latest_samples_are_kept_of_a_long_time_without_a_database(
    repository, host_id, broadcaster, tmp_path, monkeypatch
):
    """A daemon beside a broken disk does not grow without bounds."""
    monkeypatch.setattr(engines, "BUSY_TIMEOUT_S", 0.01)
    monkeypatch.setattr(recorder, "MOST_KEPT", 2)
    recording = recorder.Recorder(repository, host_id, broadcaster)
    begun = datetime.now(UTC)
    with closing(sqlite3.connect(tmp_path / "trimtab.db", isolation_level=None)) as other:
        repository.database.engine.dispose()
        other.execute("BEGIN EXCLUSIVE")
        for number in range(4):
            recording.keep({"cpu": number}, begun.timestamp() + number, 0, None, None)
            recording.write()
        other.execute("ROLLBACK")
    recording.write()
    kept = map(decoded, repository.counter_samples(host_id, begun - timedelta(seconds=1), step_s=0))
    assert [sample.values["cpu"] for sample in kept] == [2, 3]


def test_trial_says_how_often_it_is_sampled(repository, host_id, broadcaster):
    """The faster of what a trial and what somebody else wants counts."""
    sampling, _ = make(repository, host_id, broadcaster, interval_s=1.0)
    with sampling.of_trial(1, 2, 0.1):
        assert sampling.interval_s == 0.1
        sampling.sample_every(0.5, for_s=60)
        assert sampling.interval_s == 0.1
    assert sampling.interval_s == 0.5
    sampling.sample_every(0.5, for_s=-1)
    assert sampling.interval_s == 1.0
