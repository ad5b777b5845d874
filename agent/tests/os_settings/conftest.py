"""A directory that looks like the kernel's settings, a database, and a journal over both."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from empty_databases import empty_sqlite
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_db import Repository, open_database
from trimtab_db.repository.os_changes import OsChanges

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
    opened = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    yield opened
    opened.close()


@pytest.fixture
def journal(kernel: Path, lines: OsChanges) -> SettingsJournal:
    """A journal of this boot."""
    return SettingsJournal(lines, DirectAccess(kernel), boot_id="this-boot")


@pytest.fixture
def host_id(repository: Repository, tmp_path: Path) -> int:
    """This machine's record."""
    return repository.register_host(describe_host(tmp_path))


@pytest.fixture
def lines(repository: Repository, host_id: int) -> OsChanges:
    """Where the journal keeps its lines."""
    return repository.os_changes(host_id)
