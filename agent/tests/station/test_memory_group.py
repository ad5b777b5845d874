"""Memory control groups, their journal, and runs under a memory limit: with the kernel's own groups.

Where groups cannot be made (no root, a container) the tests are skipped with the reason.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from live_support import tiny_options, tiny_spec, wait_until_gone
from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.runtime import open_runtime
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftover, Leftovers
from trimtab_agent.station.memory_group import (
    KIND,
    find_controller,
    memory_group,
    remove,
    require_memory_groups,
)
from trimtab_agent.station.warming import read_in_group
from trimtab_agent.stopping import StopSignal
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_agent.workloads.choice import make_workload
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

CPUS = tuple(sorted(os.sched_getaffinity(0)))


@pytest.fixture
def groups():
    """Skips where no group can be made."""
    try:
        require_memory_groups(f"test-{os.getpid()}")
    except HostError as error:
        pytest.skip(error.sentence)


@pytest.fixture
def journal(tmp_path):
    """A journal of the test's own."""
    return Leftovers(tmp_path / "leftovers.json")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file set of 51 MB on disk."""
    definition = WORKLOADS["specweb99"].sized(10)
    file_set = FileSet(tmp_path_factory.mktemp("files"), make_workload(parameters(definition, 1.0)))
    file_set.prepare(lambda done, total: None, StopSignal())
    return file_set


def read_twice(files, group, directory):
    """Two passes over the file set from within the group."""
    files.drop_from_page_cache(StopSignal())
    for _ in range(2):
        read_in_group(files.root, group, CPUS, directory / "reader.log", StopSignal())
    return group.read()


@pytest.mark.live
@pytest.mark.kernel
def test_file_set_that_does_not_fit_is_read_back_again(groups, journal, files, tmp_path):
    """Refaults, and never more than the limit; what fits is read once."""
    with memory_group(f"test-{os.getpid()}", 25 << 20, journal) as group:
        small = read_twice(files, group, tmp_path)
    with memory_group(f"test-{os.getpid()}", 200 << 20, journal) as group:
        large = read_twice(files, group, tmp_path)
    assert small.file_refaults > 1000
    assert small.usage_bytes <= 25 << 20
    assert large.file_refaults < 100  # none of the file set; the reader's own program may have been away
    assert large.file_bytes > 50e6
    assert journal.entries() == []


@pytest.mark.kernel
def test_group_goes_with_all_its_processes(groups, journal):
    """A process that stays in it is killed."""
    with memory_group(f"test-{os.getpid()}", 64 << 20, journal) as group:
        sleeper = subprocess.Popen([*group.join_command, "sleep", "60"], stdout=subprocess.PIPE)
        while str(sleeper.pid) not in (group.directory / "cgroup.procs").read_text().split():
            assert sleeper.poll() is None
        assert journal.entries() == [Leftover(KIND, str(group.directory))]
    assert sleeper.wait(60) == -signal.SIGKILL
    assert not group.directory.exists()
    sleeper.stdout.close()


@pytest.mark.kernel
def test_process_beyond_the_limit_is_counted(groups, journal):
    """By the kernel's own count of kills."""
    with memory_group(f"test-{os.getpid()}", 16 << 20, journal) as group:
        greedy = [*group.join_command, "python3", "-c", "x = bytearray(200 << 20); x[::4096] = x[::4096]"]
        assert subprocess.run(greedy, stderr=subprocess.DEVNULL, check=False).returncode != 0
        assert group.out_of_memory_kills() >= 1


@pytest.mark.kernel
def test_journal_takes_away_what_a_killed_process_left(groups, journal):
    """Latest first; things that are gone already are no complaint."""
    directory = find_controller().parent / f"trimtab-test-left-{os.getpid()}"
    journal.remember(KIND, str(directory))
    journal.remember(KIND, str(directory) + "-never-made")
    directory.mkdir()
    assert journal.clear({KIND: remove}) == []
    assert not directory.exists()
    assert journal.entries() == []


def test_what_resists_stays_in_the_journal_with_a_sentence(journal):
    """So that the next start tries again."""

    def refuse(name):
        raise OSError(1, "Operation not permitted", name)

    journal.remember(KIND, "a")
    assert journal.clear({KIND: refuse}) == [
        "the memory group a of an earlier job stays: Operation not permitted"
    ]
    assert journal.entries() == [Leftover(KIND, "a")]


@pytest.mark.parametrize("text", ["", "{", "[1]", '[["a"]]', "null"])
def test_damaged_journal_is_an_empty_one(tmp_path, text):
    """It must never keep a run from starting."""
    (tmp_path / "leftovers.json").write_text(text)
    journal = Leftovers(tmp_path / "leftovers.json")
    assert journal.entries() == []
    journal.remember(KIND, "a")
    assert journal.entries() == [Leftover(KIND, "a")]


def test_version_2_group_is_made_beneath_an_ancestor_that_hands_memory_down(tmp_path):
    """Our own group holds processes, so that nothing can be made in it."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/system.slice/trimtab.service\n")
    own = tmp_path / "cgroup/system.slice/trimtab.service"
    own.mkdir(parents=True)
    for directory, text in ((own, ""), (own.parent, "cpu memory"), (own.parent.parent, "memory")):
        (directory / "cgroup.subtree_control").write_text(text)
    controller = find_controller(tmp_path / "proc", tmp_path / "cgroup")
    assert (controller.parent, controller.version) == (own.parent, 2)


def test_machine_without_memory_groups_is_refused_with_the_reason(tmp_path):
    """Never silently unlimited."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("2:cpu:/\n0::/\n")
    with pytest.raises(HostError, match="expected the memory controller"):
        find_controller(tmp_path / "proc", tmp_path / "cgroup")


def test_limit_is_the_thesis_ratio_of_the_file_set():
    """1.4 GB of memory against 2.1 GB of files, and so on; recorded with the run."""
    plan = check(RunSpec(memory="moderate-io", settings={"directories": 20}))
    assert plan.parameters.definition.conditions.memory == "moderate-io"
    with pytest.raises(SpecError, match="expected a file set of at least 47 MB") as refusal:
        check(RunSpec(memory="heavy-io", settings={"directories": 5}))
    assert refusal.value.field == "memory"


@pytest.mark.live
@pytest.mark.kernel
def test_run_under_a_limit_records_refaults(groups, runtime, listener):
    """The first rate of a trial under heavy-io; the group is gone when the run has ended."""
    run_id = runtime.service.start(tiny_spec(directories=10).model_copy(update={"memory": "heavy-io"}))
    listener.wait_for("measurement")
    (entry,) = Leftovers(Path(runtime.settings.var) / "leftovers.json").entries()
    assert Path(entry.name).is_dir()
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert not Path(entry.name).exists()
    counters = runtime.repository.trial(run_id, 1).measurements[0].counters["memory_group"]
    assert counters["limit_bytes"] == int(0.75 / 2.1 * 51_194_840)
    assert counters["usage_bytes"] <= counters["limit_bytes"]
    assert counters["file_refaults_per_s"] > 0


@pytest.mark.live
def test_cold_start_reads_the_file_set_from_disk(runtime, listener):
    """Without a limit, too; no root is needed."""
    run_id = runtime.service.start(tiny_spec(directories=2).model_copy(update={"start": "cold"}))
    listener.wait_for("measurement")
    runtime.service.stop(run_id)
    runtime.service.wait()
    counters = runtime.repository.trial(run_id, 1).measurements[0].counters
    assert "memory_group" not in counters
    assert counters["paging"]["read_kib_per_s"] > 0


@pytest.mark.live
@pytest.mark.kernel
def test_killed_run_leaves_a_group_that_the_next_start_removes(groups, settings, trimtab):
    """kill -9 in the middle of a trial."""
    command = trimtab("tune", "--memory=heavy-io", *tiny_options(directories=10))
    command.wait_for_line("requests/s")
    (entry,) = json.loads((Path(settings.var) / "leftovers.json").read_text())
    children = command.descendants()
    command.process.kill()
    command.process.wait()
    wait_until_gone(children)
    assert Path(entry[1]).is_dir()
    with open_runtime(settings):
        assert not Path(entry[1]).exists()
    assert not (Path(settings.var) / "leftovers.json").exists()
