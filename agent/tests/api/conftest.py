"""A real daemon for the API's tests: uvicorn on a free port, a SQLite file, the real tuning service.

Counters are not sampled and no run is going on, unless a test starts that.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest
from empty_databases import empty_sqlite
from fastapi import FastAPI
from trimtab_agent.api.access import Access
from trimtab_agent.api.app import create_app
from trimtab_agent.api.context import Context
from trimtab_agent.api.serve import DaemonServer, listen
from trimtab_agent.api.uploads import Uploads
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.fleet.run_stations import RunStations
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.paths import VarPaths
from trimtab_agent.recording.recorder import Recorder
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.results.analysis import Analyses
from trimtab_agent.results.outcome import Outcome, RankedConfiguration
from trimtab_agent.runtime import affinity_service, kernel_of, live_service, station_maker, this_host
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.runs import RunService
from trimtab_db import Repository, open_database, records
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.targets import TARGETS
from uvicorn import Config

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SPACE = TARGETS["core"].space()


@dataclass
class Daemon:
    """A running daemon, and a client that talks to it."""

    client: httpx.Client
    app: FastAPI
    context: Context
    sampler: Sampler
    settings: AgentSettings
    server: DaemonServer
    thread: threading.Thread

    @property
    def repository(self) -> Repository:
        """Its database."""
        return self.context.repository

    @property
    def port(self) -> int:
        """Its port."""
        return self.client.base_url.port or 0


def launch(directory: Path, **changes: object) -> Daemon:
    """Starts a daemon that keeps its files in `directory`."""
    var = directory / "var"
    var.mkdir(exist_ok=True)
    built = {"webui": directory / "dist", "docs_site": directory / "docs"}
    settings = AgentSettings(**{"port": 0, "var": var, **built, **changes})
    repository = open_database(empty_sqlite(var / "trimtab.db"))
    broadcaster = Broadcaster()
    host_id = repository.register_host(this_host(settings))
    layout = CpuLayout(server=(0,), generator=(1,), reason="because")
    recorder = Recorder(repository, host_id, broadcaster)
    counters = WatchedCounters()
    sampler = Sampler(counters, recorder, broadcaster, lock=VarPaths(var).sampler_lock)
    service = RunService(
        settings=settings,
        repository=repository,
        broadcaster=broadcaster,
        sampler=sampler,
        recorder=recorder,
        stations=RunStations(
            settings, repository, layout, station_maker(settings, repository, host_id, layout, counters)
        ),
        host_id=host_id,
        kernel=lambda loaded_at: kernel_of(settings, loaded_at),
    )
    listener = listen(settings)
    port = listener.getsockname()[1]
    context = Context(
        settings=settings,
        service=service,
        live=live_service(settings, repository, host_id),
        live_servers=settings.live_servers,
        base_files=settings.base_files,
        sites=settings.sites,
        uploads=Uploads(settings),
        affinity=affinity_service(settings, repository, host_id),
        repository=repository,
        broadcaster=broadcaster,
        sampler=sampler,
        recorder=recorder,
        host_id=host_id,
        layout=layout,
        access=Access(settings, port),
        analyses=Analyses(repository),
    )
    app = create_app(settings, context)
    # A machine that stalls lets the client come back late on a connection that it has kept.
    config = Config(app, log_config=None, access_log=False, timeout_keep_alive=60)
    server = DaemonServer(config, context.closing)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
    return Daemon(client, app, context, sampler, settings, server, thread)


def end(daemon: Daemon) -> None:
    """Ends a daemon, and the run it may be in."""
    daemon.client.close()
    daemon.server.should_exit = True
    daemon.thread.join()
    daemon.context.live.close()
    daemon.context.service.close()
    daemon.context.repository.close()


@pytest.fixture
def start_daemon(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    """Starts daemons with the settings given; they end with the test."""
    running: list[Daemon] = []

    def start(**changes: object) -> Daemon:
        running.append(launch(tmp_path, **changes))
        return running[-1]

    yield start
    for daemon in running:
        end(daemon)


@pytest.fixture
def daemon(start_daemon: Callable[..., Daemon]) -> Daemon:
    """A daemon on the loopback address, without a token."""
    return start_daemon()


@pytest.fixture(scope="module")
def empty_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """The same, shared by tests whose requests are refused or only read, and that leave nothing behind."""
    daemon = launch(tmp_path_factory.mktemp("empty"), extra_hosts="tuner.example, proxy.example:444")
    yield daemon
    end(daemon)


def configuration(**changed: int | str) -> dict[str, int | str]:
    """The default configuration of `core`, with some knobs changed."""
    return {**SPACE.default(), **changed}


@pytest.fixture
def recorded_run(record_run: Callable[[], records.Run]) -> records.Run:
    """A finished run of two search trials with everything that belongs to a run."""
    return record_run()


@pytest.fixture
def record_run(daemon: Daemon) -> Callable[..., records.Run]:
    """Records another such run, on request with another second objective, host or workload, or settings."""
    return partial(_record_run, daemon)


def _record_run(
    daemon: Daemon,
    second_objective: str | None = None,
    host_id: int | None = None,
    directories: int = 2,
    base: str | None = None,
    **settings: object,
) -> records.Run:
    repository = daemon.repository
    run = repository.create_run(
        records.NewRun(
            host_id=host_id or daemon.context.host_id,
            target_id=repository.register_target("core", "0.1.0"),
            workload_id=repository.register_workload(
                "specweb99", {"directories": directories}, files=72, total_bytes=10_247_160
            ),
            preset="quick",
            strategy="coarse-to-fine",
            objective="condensed-area",
            second_objective=second_objective,
            base={} if base is None else {"path": base, "text": ""},
            space=SPACE.model_dump(mode="json"),
            settings={"ladder_points": 2, **settings},
            seed=1,
            budget_trials=2,
            layout={"server": [0], "generator": [1], "sentence": "Server on CPU 0."},
        )
    )
    repository.set_run_ladder(run.id, [1000.0, 2000.0])
    for number, workers in ((1, 1), (2, 4)):
        repository.record_trial(make_trial(run, number, configuration(workers=workers)))
    repository.add_event(run.id, "info", "The ladder is fixed.", {"saturation_rps": 1500.0})
    gain = Gain(gain=0.25, low=0.2, high=0.3, significant=True, blocks=4)
    best = configuration(workers=4)
    outcome = Outcome(
        sentence="25 % better.",
        confirmed=True,
        default=SPACE.default(),
        best=best,
        gain=gain,
        ranking=(
            RankedConfiguration(
                rank=1,
                is_default=False,
                configuration=best,
                configuration_hash=configuration_hash(best),
                scores_mbps=(92.0, None),
                mean_score_mbps=92.0,
                gain=gain,
            ),
        ),
        verdicts={"verified": 2},
    )
    repository.set_run_outcome(run.id, outcome.model_dump(mode="json"))
    repository.record_export(
        records.Export(
            run_id=run.id,
            format="nginx",
            file_name="nginx.conf",
            text="worker_processes 4; # größer\n",
            check_command="nginx -t -c nginx.conf",
            check_ok=True,
            check_output="syntax is ok",
            created_at=START,
        )
    )
    repository.set_run_phase(run.id, records.RunPhase.DONE)
    repository.set_run_state(run.id, records.RunState.FINISHED)
    return repository.run(run.id)


@pytest.fixture
def make_trial_of() -> Callable[..., Trial]:
    """Makes a verified trial of a run with a plan, some workers and a score."""

    def make(run: records.Run, number: int, plan: str, workers: int, score: float) -> Trial:
        return replace(make_trial(run, number, configuration(affinity=plan, workers=workers)), score=score)

    return make


def make_trial(run: records.Run, number: int, tried: dict[str, int | str]) -> Trial:
    """A verified trial of one rate and one size class."""
    latency = Latency(300.0, 800.0, 2100.0, 9800.0, 12000.0, 420.0)
    measurement = Measurement(
        number=1,
        rate_rps=1000.0,
        duration_s=2.0,
        warmup_s=0.5,
        elapsed_s=2.4,
        goodput_mbps=90.0 + number,
        reply_rate_rps=990.0,
        bytes_received=20_000_000,
        sessions=SessionCounts(274, 274, 274, 0, 0, 0, 0),
        requests=RequestCounts(2000, 1990, 4, 5, 1, 0, 0),
        connect_latency=latency,
        first_byte_latency=Latency(None, None, None, None, None, None),
        reply_latency=latency,
        failures={"reset": 1},
        health={"verdict": "ok", "reasons": []},
        server_stats={"requests": 1991},
        counters={},
        generator_limited=False,
        size_classes=(
            SizeClassCounts(
                size_bytes=102,
                asked=2000,
                replied=1990,
                timed_out_before_read=4,
                timed_out_after_read=5,
                failed=1,
                abandoned=0,
            ),
        ),
    )
    return Trial(
        run_id=run.id,
        host_id=run.host_id,
        number=number,
        purpose=TrialPurpose.SEARCH,
        level=1,
        configuration=tried,
        verdict=Verdict.VERIFIED,
        reason="All three rules hold.",
        score=90.0 + number,
        server_config="[server]\nworkers = 4\n",
        started_at=START,
        finished_at=START + timedelta(seconds=10),
        measurements=(measurement,),
    )
