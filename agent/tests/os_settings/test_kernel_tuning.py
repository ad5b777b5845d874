"""Knobs of the kernel for the time of a trial: what is set is put back, and what moves under it is told."""

import json
import subprocess
import sys

import pytest
from trimtab_agent.kernel.tuning import KernelTuning

SWAPPINESS, RMEM, WMEM = (
    "/proc/sys/vm/swappiness",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_wmem",
)
GOVERNORS = tuple(f"/sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor" for cpu in (0, 4))
SET = {"swappiness": 10}  # as long as 60: a file of the test is not cut off as the kernel's are


@pytest.fixture
def tuning(journal, kernel):
    """Of a machine with three of the kernel's files."""
    for path, text in {SWAPPINESS: "60", RMEM: "4096\t131072\t6291456", WMEM: "4096\t16384\t4194304"}.items():
        file = kernel / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return KernelTuning(journal, kernel)


def now(kernel, path):
    """What a file holds."""
    return " ".join((kernel / path[1:]).read_text().split())


def test_what_is_set_for_a_trial_is_put_back_and_is_no_drift(tuning, kernel):
    """Nobody else did anything."""
    with tuning.for_configuration(SET) as drift:
        assert now(kernel, SWAPPINESS) == "10"
        assert drift() == ()
    assert now(kernel, SWAPPINESS) == "60"


def test_a_value_that_the_trial_set_and_somebody_else_changed_is_told_and_stays(tuning, kernel):
    """What somebody wants is not overwritten."""
    with tuning.for_configuration(SET) as drift:
        (kernel / SWAPPINESS[1:]).write_text("33\n")
        assert f"{SWAPPINESS} was set to 10 and is 33 now" in drift()
    assert now(kernel, SWAPPINESS) == "33"


@pytest.mark.parametrize("configuration", [SET, {}])
def test_a_value_that_nobody_of_ours_has_set_and_that_moves_is_told(tuning, kernel, configuration):
    """As bpftune does with TCP's buffers: the trial ran under two kernels, whether it tunes them or not."""
    with tuning.for_configuration(configuration) as drift:
        (kernel / RMEM[1:]).write_text("4096 131072 33554432\n")
        said = f"{RMEM} was 4096 131072 6291456 when the trial began and is 4096 131072 33554432 now"
        assert said in drift()
    assert now(kernel, RMEM) == "4096 131072 33554432"


KILLED_WHILE_IT_TUNES = """
import json, os, random, signal, sys, time
from contextlib import closing
from pathlib import Path
from trimtab_agent.host.identity import describe_host
from trimtab_agent.kernel.tuning import KernelTuning
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_db import open_database, sqlite_url

root, database, configuration, kills = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]), 200
url, host, instants = sqlite_url(database), describe_host(database.parent), random.Random(5)

def journal_of(repository):
    lines = repository.os_changes(repository.register_host(host))
    return SettingsJournal(lines, DirectAccess(root), boot_id="this-boot")

def values():
    return {str(file): file.read_text().split() for file in sorted(root.rglob("*")) if file.is_file()}

def tune_for_ever(ready):
    tuning = KernelTuning(journal_of(open_database(url)), root)
    os.write(ready, b".")
    while True:
        with tuning.for_configuration(configuration):
            pass

before, changed, wrong = values(), 0, 0
for _ in range(kills):
    begun, ready = os.pipe()
    child = os.fork()
    if child == 0:
        tune_for_ever(ready)
    os.read(begun, 1)
    time.sleep(instants.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(begun), os.close(ready)
    changed += values() != before
    with closing(open_database(url)) as repository:
        journal = journal_of(repository)
        journal.restore()
        wrong += bool(journal.in_force()) or values() != before
print(json.dumps([changed, wrong]))
"""


@pytest.mark.live
@pytest.mark.timeout(900)
def test_two_hundred_kills_while_knobs_are_set_leave_none_of_them_changed(tuning, kernel, tmp_path):
    """At random instants: before and after each is set or put back, and while the journal is written."""
    for path in GOVERNORS:
        (kernel / path[1:]).parent.mkdir(parents=True)
        (kernel / path[1:]).write_text("powersave\n")
    # As long as what is there: a file of the test is not cut off as the kernel's are.
    knobs = {"tcp_rmem_default": 262_144, "tcp_wmem_default": 32_768, "scaling_governor": "schedutil"}
    arguments = [str(kernel), str(tmp_path / "killed.db"), json.dumps(SET | knobs)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_IT_TUNES, *arguments], capture_output=True, text=True, check=True
    )
    changed, wrong = json.loads(done.stdout)
    assert changed > 0, "no kill met a knob that was set"
    assert wrong == 0
