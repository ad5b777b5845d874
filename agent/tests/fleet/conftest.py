"""Fixtures of the fleet: a rack of hosts with a scheduler, PostgreSQL, and stations that have joined."""

import json
from collections.abc import Callable, Iterator

import pytest
from fleet_rack import Rack
from postgresql_server import PostgresqlServer
from trimtab_agent.errors import HostError
from trimtab_agent.fleet.controller import Fleet
from trimtab_agent.station.link import require_links
from trimtab_db import Repository, open_database, records
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob, TrialReport, read_job

RATES = (300, 600)
RATE_S = 1.0
DRIVEN = {Verdict.VERIFIED, Verdict.FAILED_VERIFICATION, Verdict.GENERATOR_LIMITED, Verdict.DISTURBED}
"""The verdicts of a server that was driven: which of them it is depends on what else this machine does."""


def job(**changed: object) -> TrialJob:
    """A job of two short rates."""
    definition = {
        "name": "pages",
        "help": "Twenty small pages.",
        "files": {"kind": "listed", "copies": 20, "list": [{"size_bytes": 5000}]},
        "sessions": {"kind": "plain", "requests": 5},
    }
    return read_job(
        json.dumps(
            {
                "target": "core",
                "workload": {"definition": definition, "seed": 1, "time_scale": 1.0},
                "ladder": RATES,
                "rate_duration_s": RATE_S,
                "timeout_s": 2.0,
                **changed,
            }
        )
    )


def assert_driven(report: TrialReport) -> None:
    """Its server was driven from the first rate on, for as long as the machine was quiet enough."""
    assert report.verdict in DRIVEN, report.reason
    driven = tuple(measurement.rate_rps for measurement in report.measurements)
    assert driven, report.reason
    assert driven == RATES[: len(driven)]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresqlServer]:
    """A server that runs, and is gone when others count processes."""
    server = PostgresqlServer()
    yield server
    server.remove()


@pytest.fixture(scope="session", autouse=True)
def namespaces() -> None:
    """Skips where no namespace can be made."""
    try:
        require_links()
    except HostError as error:
        pytest.skip(error.sentence)


@pytest.fixture(scope="module")
def database_url(postgresql: PostgresqlServer) -> Iterator[str]:
    """An empty database for the stations of a module's tests."""
    name = postgresql.new_database()
    yield postgresql.url(name)
    postgresql.drop(name)


@pytest.fixture(scope="module")
def repository(database_url: str) -> Iterator[Repository]:
    """The fleet's database."""
    repository = open_database(database_url)
    yield repository
    repository.close()


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> Iterator[Rack]:
    """A rack with a scheduler; `control` is where commands run, in the network of the tests."""
    rack = Rack(tmp_path_factory.mktemp("rack"))
    try:
        control = rack.own("control", TRIMTAB_DATABASE_URL=database_url)
        control.start("fleet", "serve", "--listen", rack.address).wait_for("The scheduler listens")
        yield rack
    finally:
        rack.remove()


@pytest.fixture
def fleet(rack: Rack) -> Iterator[Fleet]:
    """The fleet as a study sees it."""
    with Fleet(rack.scheduler, rack.credentials) as fleet:
        yield fleet


@pytest.fixture
def new_run(repository: Repository) -> Callable[[], records.Run]:
    """Makes runs."""

    def make() -> records.Run:
        host = records_host()
        return repository.create_run(
            records.NewRun(
                host_id=repository.register_host(host),
                target_id=repository.register_target("core", "0.1.0"),
                workload_id=repository.register_workload("pages", {}, files=20, total_bytes=100_000),
                preset="quick",
                strategy="random",
                objective="peak",
                space={"knobs": []},
                settings={},
                seed=1,
                budget_trials=4,
                layout={"server": [0], "generator": [0]},
            )
        )

    return make


def records_host():
    """The machine that runs are decided on."""
    from trimtab_trials.host import Host

    return Host(
        machine_id="deciding",
        name="control",
        kernel="6.18",
        cpu_model="any",
        cpus=2,
        memory_bytes=1 << 30,
        topology={},
    )
