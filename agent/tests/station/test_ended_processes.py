"""What is said of a server's processes that have ended: whether one was a worker, and who has killed it."""

from types import SimpleNamespace

import psutil
import pytest
from trimtab_agent.station import site as site_module
from trimtab_agent.station.server.target_server import workers_among
from trimtab_agent.station.site import Site, machine_kills
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads.conditions import Conditions


def process(pid: int, title: str) -> SimpleNamespace:
    """A process that calls itself so; one that ends meanwhile without a title."""

    def cmdline() -> list[str]:
        if not title:
            raise psutil.NoSuchProcess(pid)
        return title.split(" ")

    return SimpleNamespace(pid=pid, cmdline=cmdline)


def test_manager_and_loader_of_a_cache_are_no_workers_of_nginx():
    """The loader ends by itself a minute after the start: nothing has been lost then."""
    processes = [
        process(10, "nginx: master process nginx -p /run"),
        process(11, "nginx: worker process"),
        process(12, "nginx: worker process is shutting down"),
        process(13, "nginx: cache manager process"),
        process(14, "nginx: cache loader process"),
        process(15, "nginx: master process nginx -p /run"),  # has been forked and not told who it is
        process(16, ""),
    ]
    assert workers_among(processes, TARGETS["nginx"].worker_title) == {11, 12}


@pytest.mark.parametrize("name", ["apache", "h2o", "lighttpd"])
def test_all_processes_of_the_others_count(name):
    """They do not tell them apart by title."""
    assert workers_among([process(1, "a"), process(2, "b")], TARGETS[name].worker_title) == {1, 2}


@pytest.mark.parametrize(
    ("kills", "said"),
    [
        ((6, 6), ""),
        ((6, 7), " (the kernel killed a process for want of memory meanwhile)"),
        ((6, 9), " (the kernel killed 3 processes for want of memory meanwhile)"),
    ],
)
def test_trial_that_was_killed_for_memory_says_so_without_a_group_of_its_own(monkeypatch, kills, said):
    """A container's own limit, or a machine that is full."""
    counts = iter(kills)
    monkeypatch.setattr(site_module, "machine_kills", lambda: next(counts))
    site = Site(files=None, conditions=Conditions())
    before = site.out_of_memory_kills()
    assert site.out_of_memory_remark(before) == said


def test_kills_are_read_from_vmstat_where_the_kernel_counts_them(tmp_path):
    """Since Linux 4.13; before, there are none to tell of."""
    vmstat = tmp_path / "vmstat"
    assert machine_kills(vmstat) == 0
    vmstat.write_text("pgpgin 4\n")
    assert machine_kills(vmstat) == 0
    vmstat.write_text("pgpgin 4\noom_kill 6\n")
    assert machine_kills(vmstat) == 6
