"""A directory that looks like the kernel's settings, a database, and a journal over both."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trimtab_agent.affinity.journal import AffinityJournal
from trimtab_agent.affinity.os_settings import DirectAccess
from trimtab_agent.host.identity import describe_host
from trimtab_db import Repository, open_database, sqlite_url
from trimtab_db.records import NewRun

SETTINGS = {
    "/proc/irq/24/smp_affinity": "00000003",
    "/proc/irq/25/smp_affinity": "00000001",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "00000000",
    "/sys/class/net/eth0/queues/tx-0/xps_cpus": "00000000",
}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A root directory with SETTINGS in it; all masks have the same length, so each write replaces one."""
    for path, mask in SETTINGS.items():
        file = tmp_path / "root" / path[1:]
        file.parent.mkdir(parents=True)
        file.write_text(f"{mask}\n")
    return tmp_path / "root"


@pytest.fixture
def values(kernel: Path) -> Callable[[], dict[str, str]]:
    """What every setting is now."""
    return lambda: {path: (kernel / path[1:]).read_text().split()[0] for path in SETTINGS}


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """A database of the test's own."""
    opened = open_database(sqlite_url(tmp_path / "trimtab.db"))
    yield opened
    opened.close()


@pytest.fixture
def journal(kernel: Path, repository: Repository) -> AffinityJournal:
    """A journal of this boot."""
    return AffinityJournal(repository, DirectAccess(kernel), boot_id="this-boot")


@pytest.fixture
def run_id(repository: Repository) -> int:
    """The number of a run that masks can be applied for."""
    run = NewRun(
        host_id=repository.register_host(describe_host()),
        target_id=repository.register_target("core", "0.1.0"),
        workload_id=repository.register_workload("one-packet", {}, files=1, total_bytes=1),
        preset="quick",
        strategy="grid",
        objective="peak",
        space={"knobs": []},
        settings={},
        seed=1,
        budget_trials=1,
        layout={},
    )
    return repository.create_run(run).id
