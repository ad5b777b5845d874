"""The sampling thread: what it records, and what it lets go."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters import sampler
from trimtab_agent.host import describe_host
from trimtab_db import Repository, open_database, sqlite_url
from trimtab_db.records import CounterSample
from trimtab_db.repository.counters import RETENTION


@pytest.fixture
def repository(tmp_path) -> Iterator[Repository]:
    """An empty database."""
    repository = open_database(sqlite_url(tmp_path / "trimtab.db"))
    yield repository
    repository.close()


def test_samples_older_than_a_day_are_let_go_while_sampling(repository, monkeypatch):
    """A daemon that runs for months does not grow without bounds."""
    monkeypatch.setattr(sampler, "PRUNE_EVERY_S", 0.0)
    host_id = repository.register_host(describe_host())
    old = datetime.now(UTC) - RETENTION[1] - timedelta(hours=1)
    repository.add_counter_samples([CounterSample(host_id=host_id, taken_at=old, values={})])
    sampling = sampler.Sampler(repository, host_id, Broadcaster(), interval_s=0.01)
    sampling.start()
    pause = threading.Event()
    while len(kept := repository.counter_samples(host_id, old)) < 3 or kept[0].taken_at == old:
        pause.wait(0.01)
    sampling.stop()
    assert all(sample.values["cpu"]["cpus"] for sample in repository.counter_samples(host_id, old))


def test_means_of_ten_seconds_and_a_minute_are_recorded_beside_the_samples(repository):
    """What is left of a step when sampling ends is recorded as well; a minute has no lists."""
    host_id = repository.register_host(describe_host())
    begun = datetime.now(UTC)
    sampling = sampler.Sampler(repository, host_id, Broadcaster(), interval_s=0.01)
    sampling.start()
    pause = threading.Event()
    while len(repository.counter_samples(host_id, begun)) < 3:
        pause.wait(0.01)
    sampling.stop()
    tens = repository.counter_samples(host_id, begun, step_s=10)
    minutes = repository.counter_samples(host_id, begun, step_s=60)
    assert tens[-1].values["cpu"]["cpus"]
    assert minutes[-1].values["cpu"]["total"]
    assert "cpus" not in minutes[-1].values["cpu"]
