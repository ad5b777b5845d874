"""The databases the tests run on, and records to fill them with.

A test that asks for `repository`, `database_url` or `bare_url` is part of the contract and runs on both:
SQLite, and Debian's PostgreSQL, which is started for the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from empty_databases import empty_sqlite
from postgresql_server import PostgresqlServer
from trimtab_db import Repository, engines, open_database, records, sqlite_url
from trimtab_db.records import LiveMode
from trimtab_trials.host import Host
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_trials.trial import Trial, TrialPurpose, Verdict

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for others waits for as long as a busy machine takes."""
    monkeypatch.setattr(engines, "BUSY_TIMEOUT_S", 200.0)


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    """Where a database file may be made."""
    return tmp_path / "trimtab.db"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A server that runs."""
    server = PostgresqlServer()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def postgresql_template(postgresql: PostgresqlServer) -> str:
    """The name of a database there that has only been opened, which others are copied from."""
    name = postgresql.new_database()
    open_database(postgresql.url(name)).close()
    return name


@pytest.fixture
def postgresql_url(postgresql: PostgresqlServer, postgresql_template: str) -> Iterator[str]:
    """The URL of a database there with the schema, and nothing recorded."""
    name = postgresql.new_database(postgresql_template)
    yield postgresql.url(name)
    postgresql.drop(name)


@pytest.fixture
def bare_postgresql_url(postgresql: PostgresqlServer) -> Iterator[str]:
    """The URL of a database there that nobody has opened yet."""
    name = postgresql.new_database()
    yield postgresql.url(name)
    postgresql.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database."""
    return request.param


@pytest.fixture
def database_url(kind: str, request: pytest.FixtureRequest, sqlite_file: Path) -> str:
    """The URL of a database of each kind with the schema, and nothing recorded."""
    return empty_sqlite(sqlite_file) if kind == "sqlite" else request.getfixturevalue("postgresql_url")


@pytest.fixture
def bare_url(kind: str, request: pytest.FixtureRequest, sqlite_file: Path) -> str:
    """The URL of a database of each kind that nobody has opened yet."""
    return sqlite_url(sqlite_file) if kind == "sqlite" else request.getfixturevalue("bare_postgresql_url")


@pytest.fixture
def repository(database_url: str) -> Iterator[Repository]:
    """An open, empty repository."""
    repository = open_database(database_url)
    yield repository
    repository.close()


def make_host(**changed: Any) -> Host:
    """A machine."""
    return Host(
        **{
            "machine_id": "one",
            "name": "bench",
            "kernel": "6.18.0",
            "cpu_model": "a processor",
            "cpus": 2,
            "memory_bytes": 8 << 30,
            "topology": {"nodes": [{"node": 0, "cpus": [0, 1]}]},
            **changed,
        }
    )


def make_run(repository: Repository, **changed: Any) -> records.Run:
    """A run that has just started, with everything it refers to."""
    new = {
        "host_id": repository.register_host(make_host()),
        "target_id": repository.register_target("core", "0.1.0"),
        "workload_id": repository.register_workload(
            "specweb99", {"directories": 10}, files=360, total_bytes=51_235_800
        ),
        "preset": "quick",
        "strategy": "coarse-to-fine",
        "objective": "condensed-area",
        "space": {"knobs": []},
        "settings": {"ladder_points": 4},
        "seed": 1,
        "budget_trials": 16,
        "layout": {"server": [0], "generator": [1]},
        **changed,
    }
    return repository.create_run(records.NewRun(**new))


def make_measurement(number: int = 1, **changed: Any) -> Measurement:
    """One rate with two size classes, one of which timed out a little."""
    return Measurement(
        **{
            "number": number,
            "rate_rps": 1000.0 * number,
            "duration_s": 2.0,
            "warmup_s": 0.5,
            "elapsed_s": 2.7,
            "goodput_mbps": 93.25,
            "reply_rate_rps": 990.5,
            "bytes_received": 2**40,
            "sessions": SessionCounts(274, 274, 270, 1, 2, 1, 0),
            "requests": RequestCounts(2000, 1980, 6, 9, 1, 4, 0),
            "connect_latency": Latency(20.0, 31.0, 88.0, 190.0, 240.0, 25.5),
            "first_byte_latency": Latency(None, None, None, None, None, None),
            "reply_latency": Latency(300.0, 810.0, 2100.0, 9800.0, 12000.0, 420.25),
            "failures": {"reset": 1},
            "health": {"verdict": "ok", "reasons": []},
            "server_stats": {"requests": 1981},
            "counters": {"cpu": {"total": {"user": 12.5}}},
            "generator_limited": False,
            "size_classes": (
                SizeClassCounts(
                    size_bytes=102,
                    asked=1000,
                    replied=990,
                    timed_out_before_read=3,
                    timed_out_after_read=4,
                    failed=1,
                    abandoned=2,
                ),
                SizeClassCounts(
                    size_bytes=921_600,
                    asked=1000,
                    replied=990,
                    timed_out_before_read=3,
                    timed_out_after_read=5,
                    failed=0,
                    abandoned=2,
                ),
            ),
            **changed,
        }
    )


def make_trial(run_id: int, number: int = 1, **changed: Any) -> Trial:
    """A verified search trial of two rates, on the first host that was registered."""
    return Trial(
        **{
            "run_id": run_id,
            "host_id": 1,
            "number": number,
            "purpose": TrialPurpose.SEARCH,
            "level": 1,
            "configuration": {"workers": number, "sendfile": "nonblocking"},
            "verdict": Verdict.VERIFIED,
            "reason": "",
            "score": 90.0 + number,
            "server_config": "[server]\nworkers = 1\n",
            "started_at": START + timedelta(seconds=number),
            "finished_at": START + timedelta(seconds=number + 1),
            "measurements": (make_measurement(1), make_measurement(2)),
            **changed,
        }
    )


def make_live_session(host_id: int, **changed: Any) -> records.NewLiveSession:
    """What is known when live tuning attaches to an nginx of that host."""
    return records.NewLiveSession(
        **{
            "host_id": host_id,
            "target": "nginx",
            "pid": 812,
            "addresses": ("127.0.0.1:80", "[::1]:80"),
            "unit": "nginx.service",
            "file": "/etc/nginx/nginx.conf",
            "mode": LiveMode.CANARY,
            "settings": {"objective": "cost", "guards": ["p99 <= 50ms"]},
            "process": 900,
            "process_started": 12345,
            **changed,
        }
    )


@pytest.fixture(name="make_host")
def _make_host() -> Callable[..., Host]:
    return make_host


@pytest.fixture(name="make_run")
def _make_run() -> Callable[..., records.Run]:
    return make_run


@pytest.fixture(name="make_measurement")
def _make_measurement() -> Callable[..., Measurement]:
    return make_measurement


@pytest.fixture(name="make_live_session")
def _make_live_session() -> Callable[..., records.NewLiveSession]:
    return make_live_session


@pytest.fixture(name="make_trial")
def _make_trial() -> Callable[..., Trial]:
    return make_trial
