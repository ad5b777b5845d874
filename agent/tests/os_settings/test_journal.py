"""Settings are journalled before they are touched, and always put back."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess, SettingRefused, check_value, form_of
from trimtab_agent.os_settings.journal import Change, SettingsJournal
from trimtab_db import open_database, sqlite_url

from .conftest import SETTINGS

SETTINGS_25 = "/proc/irq/25/smp_affinity"
CHANGES = [
    Change(path="/proc/irq/24/smp_affinity", value="00000002", why="eth0 queue 0 to CPU 1"),
    Change(path="/sys/class/net/eth0/queues/rx-0/rps_cpus", value="00000001", why="steer eth0 to CPU 0"),
]


def test_applied_settings_are_put_back_as_they_were(journal, values):
    """Apply, then restore, leaves everything as before, and the journal empty."""
    before = values()
    assert [line.state for line in journal.apply(CHANGES, by_hand=True)] == ["applied", "applied"]
    assert values() == before | {change.path: change.value for change in CHANGES}
    assert [line.state for line in journal.restore()] == ["restored", "restored"]
    assert [int(mask, 16) for mask in values().values()] == [int(mask, 16) for mask in before.values()]
    assert journal.in_force() == ()


def test_a_preview_touches_nothing(journal, values):
    """It says what would be done."""
    before = values()
    assert [(line.state, line.before) for line in journal.preview(CHANGES)] == [
        ("planned", "00000003"),
        ("planned", "00000000"),
    ]
    assert values() == before
    assert journal.in_force() == ()


def test_a_setting_that_has_the_value_already_is_left_alone(journal):
    """Nothing to write, nothing to journal."""
    (line,) = journal.apply([Change(path="/proc/irq/25/smp_affinity", value="1", why="")], by_hand=True)
    assert line.state == "unchanged"
    assert journal.in_force() == ()


def test_what_is_not_there_is_refused_with_the_reason_and_the_rest_is_applied(journal):
    """One refusal does not end the others."""
    missing = Change(path="/proc/irq/99/smp_affinity", value="00000001", why="")
    refused, applied = journal.apply([missing, CHANGES[0]], by_hand=True)
    assert (refused.state, applied.state) == ("refused", "applied")
    assert "not there" in refused.reason


class Stubborn(DirectAccess):
    """A kernel that makes something else of one mask, as drivers with managed interrupts do."""

    def write(self, path: str, value: str) -> None:
        """Keeps CPU 0 in, whatever is written to interrupt 24."""
        super().write(path, "00000001" if path.endswith("24/smp_affinity") and value == "00000002" else value)


def test_a_mask_that_the_kernel_changes_is_refused_and_put_back(kernel, lines, values):
    """Read-back decides, not the write."""
    before = values()
    journal = SettingsJournal(lines, Stubborn(kernel), boot_id="this-boot")
    (line,) = journal.apply(CHANGES[:1], by_hand=True)
    assert line.state == "refused"
    assert "made 00000001 of it" in line.reason
    assert values() == before
    assert journal.in_force() == ()


class Watched(DirectAccess):
    """Notes at each write which settings the journal had announced by then."""

    def __init__(self, root, database, host_id):
        super().__init__(root)
        self._database = database
        self._host_id = host_id
        self.announced = []

    def write(self, path: str, value: str) -> None:
        """As seen by another process: what has not been committed is not there."""
        other = open_database(sqlite_url(self._database))
        self.announced.append({line.path for line in other.os_changes(self._host_id).unrestored()})
        other.close()
        super().write(path, value)


def test_all_lines_are_committed_before_the_first_mask_is_written(kernel, lines, host_id, tmp_path):
    """One transaction for a whole plan, and still ahead of every write."""
    access = Watched(kernel, tmp_path / "trimtab.db", host_id)
    SettingsJournal(lines, access, boot_id="this-boot").apply(CHANGES, by_hand=True)
    assert access.announced == [{change.path for change in CHANGES}] * 2


def test_what_follows_a_stop_is_neither_written_nor_left_in_the_journal(journal, values):
    """Asked before each change."""
    answers = iter([False, True])
    (first,) = journal.apply(CHANGES, by_hand=True, stopped=lambda: next(answers))
    assert (first.path, first.state) == (CHANGES[0].path, "applied")
    assert values()[CHANGES[1].path] == "00000000"
    assert [line.path for line in journal.in_force()] == [CHANGES[0].path]


def test_two_changes_of_one_setting_at_once_are_refused(journal, values):
    """Neither would be the one to have."""
    before = values()
    with pytest.raises(ValueError, match="same setting"):
        journal.apply([CHANGES[0], CHANGES[0]], by_hand=True)
    assert values() == before


def test_drift_names_the_setting_that_somebody_else_changed(journal, kernel):
    """As irqbalance would."""
    journal.apply(CHANGES, by_hand=True)
    assert journal.drift() == ()
    (kernel / "proc/irq/24/smp_affinity").write_text("00000003\n")
    assert journal.drift() == ("/proc/irq/24/smp_affinity was set to 00000002 and is 00000003 now",)


def test_drift_of_a_plan_knows_the_settings_that_it_found_right_already(journal, kernel):
    """Those have no line in the journal: there is nothing to put back. What others applied is not its own."""
    journal.apply([CHANGES[1]], by_hand=True)
    found = journal.apply([Change(path="/proc/irq/24/smp_affinity", value="3", why="")], by_hand=False)
    assert [setting.state for setting in found] == ["unchanged"]
    (kernel / CHANGES[1].path.removeprefix("/")).write_text("00000000\n")
    assert journal.drift_of(found) == ()
    (kernel / "proc/irq/24/smp_affinity").write_text("00000001\n")
    assert journal.drift_of(found) == ("/proc/irq/24/smp_affinity was set to 3 and is 00000001 now",)


def test_a_setting_touched_twice_ends_with_its_first_value(journal, values):
    """Lines are put back latest first."""
    journal.apply([Change(path="/proc/irq/24/smp_affinity", value="00000001", why="")], by_hand=True)
    journal.apply([Change(path="/proc/irq/24/smp_affinity", value="00000002", why="")], by_hand=True)
    journal.restore()
    assert values()["/proc/irq/24/smp_affinity"] == "00000003"


def test_only_the_lines_after_a_given_one_are_put_back_when_asked_so(journal, values):
    """A trial takes back its own changes and leaves the operator's."""
    journal.apply(CHANGES[:1], by_hand=True)
    mark = journal.in_force()[0].id
    journal.apply(CHANGES[1:], by_hand=True)
    assert len(journal.restore(down_to=mark)) == 1
    assert values()["/proc/irq/24/smp_affinity"] == "00000002"


def test_a_line_from_before_a_reboot_is_struck_out_without_writing(kernel, lines, values, journal):
    """The settings were lost with the boot; what is there now is the machine's own."""
    journal.apply(CHANGES[:1], by_hand=True)
    (line,) = SettingsJournal(lines, DirectAccess(kernel), boot_id="next-boot").restore()
    assert line.state == "rebooted"
    assert values()["/proc/irq/24/smp_affinity"] == "00000002"


def test_a_device_that_has_gone_leaves_no_line_behind(journal, kernel):
    """There is nothing to put back."""
    journal.apply(CHANGES[1:], by_hand=True)
    (kernel / "sys/class/net/eth0/queues/rx-0/rps_cpus").unlink()
    assert [line.state for line in journal.restore()] == ["gone"]
    assert journal.in_force() == ()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/proc/irq/24/../../sys/kernel/core_pattern",
        "/proc/irq/24/smp_affinity\n",
        "/proc/irq/x/smp_affinity",
        "/sys/class/net/../net/queues/rx-0/rps_cpus",
        "/sys/class/net/eth0/queues/rx-0/rps_cpus/",
        "/proc/irq/²/smp_affinity",
        "",
    ],
)
def test_no_other_file_is_ever_touched(path, journal):
    """Whatever is in the change."""
    with pytest.raises(SettingRefused, match="none of the settings"):
        form_of(path)
    (line,) = journal.apply([Change(path=path, value="00000001", why="")], by_hand=True)
    assert line.state == "refused"


@pytest.mark.parametrize("mask", ["", "x", "3\n", "-1", "000000001", "1,1", "1 1", "0x3"])
def test_only_masks_are_written(mask):
    """In the kernel's own form."""
    with pytest.raises(SettingRefused, match="is no CPU mask"):
        check_value(SETTINGS_25, mask)


APPLY_AND_RESTORE_FOR_EVER = """
import sys
from pathlib import Path
from trimtab_agent.os_settings.journal import SettingsJournal, Change
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.host.identity import describe_host
from trimtab_db import open_database, sqlite_url

root, database = map(Path, sys.argv[1:3])
repository = open_database(sqlite_url(database))
lines = repository.os_changes(repository.register_host(describe_host(database.parent)))
journal = SettingsJournal(lines, DirectAccess(root), boot_id="this-boot")
journal.restore()
paths = sys.argv[3:]
print("ready", flush=True)
while True:
    journal.apply([Change(path=path, value="00000002", why="") for path in paths], by_hand=False)
    journal.restore()
"""


@pytest.mark.live
def test_a_kill_at_any_instant_is_made_good_at_the_next_start(kernel, tmp_path, values):
    """Killed with -9 at ten random instants; every touched file has its value again after the next start."""
    before = {path: int(mask, 16) for path, mask in values().items()}
    database, chance = tmp_path / "killed.db", random.Random(4)
    for _ in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", APPLY_AND_RESTORE_FOR_EVER, str(kernel), str(database), *SETTINGS],
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.005, 0.2))
            os.kill(process.pid, signal.SIGKILL)
        repository = open_database(sqlite_url(database))
        lines = repository.os_changes(repository.register_host(describe_host(tmp_path)))
        SettingsJournal(lines, DirectAccess(kernel), boot_id="this-boot").restore()
        assert lines.unrestored() == ()
        repository.close()
        assert {path: int(mask, 16) for path, mask in values().items()} == before


KILLED_AT_EVERY_WRITE = """
import itertools, json, os, signal, sys
from contextlib import closing
from pathlib import Path
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import Change, SettingsJournal
from trimtab_db import open_database, sqlite_url

root, database = map(Path, sys.argv[1:3])
paths = sys.argv[3:]

class Dying(DirectAccess):
    def write(self, path, value):
        self.step()
        super().write(path, value)
        self.step()

    def step(self):
        self.steps_left -= 1
        if self.steps_left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

def journal_of(repository, access):
    lines = repository.os_changes(repository.register_host(describe_host(database.parent)))
    return SettingsJournal(lines, access, boot_id="this-boot")

for steps in itertools.count():
    child = os.fork()
    if child == 0:
        access = Dying(root)
        access.steps_left = steps
        journal = journal_of(open_database(sqlite_url(database)), access)
        journal.apply([Change(path=path, value="00000002", why="") for path in paths], by_hand=False)
        journal.restore()
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
    with closing(open_database(sqlite_url(database))) as repository:
        journal = journal_of(repository, DirectAccess(root))
        journal.restore()
        values = {path: int((root / path[1:]).read_text(), 16) for path in paths}
        print(json.dumps([len(journal.in_force()), values]), flush=True)
"""


def test_a_kill_before_or_after_any_write_is_made_good_at_the_next_start(kernel, tmp_path, values):
    """Each of four masks is set and put back, and the process is killed on both sides of every write."""
    before = {path: int(mask, 16) for path, mask in values().items()}
    command = [
        sys.executable,
        "-c",
        KILLED_AT_EVERY_WRITE,
        str(kernel),
        str(tmp_path / "killed.db"),
        *SETTINGS,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ends) == 2 * 2 * len(SETTINGS)
    assert ends == [[0, before]] * len(ends)


@pytest.mark.kernel
def test_a_real_steering_mask_is_set_and_put_back(lines):
    """On this kernel: the receive steering of the loopback device."""
    path = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
    if not os.access(path, os.W_OK):
        pytest.skip(f"{path} cannot be written here")
    before = path.read_text()
    journal = SettingsJournal(lines, DirectAccess())
    try:
        (line,) = journal.apply([Change(path=str(path), value="00000001", why="test")], by_hand=True)
        assert line.state in ("applied", "unchanged")
        assert int(path.read_text().replace(",", ""), 16) == 1
    finally:
        journal.restore()
    assert path.read_text() == before


def test_the_next_start_puts_back_a_runs_masks_and_leaves_a_persons(journal, lines, values):
    """Applied by hand means until restored by hand; a run that was killed cannot restore any more."""
    journal.apply(CHANGES[:1], by_hand=True)
    journal.apply(CHANGES[1:], by_hand=True)
    lines.record([(SETTINGS_25, "00000001", "00000002")], by_hand=True, boot_id="this-boot")  # then killed
    assert [line.path for line in journal.restore(only_left_behind=True)] == [SETTINGS_25]
    assert len(journal.in_force()) == 2
    assert values()["/proc/irq/24/smp_affinity"] == "00000002"


def test_the_next_start_leaves_a_persons_mask_on_top_of_one_that_a_run_left(journal, values):
    """A run's mask that could not be put back waits for the person's above it; then both are put back."""
    path = CHANGES[0].path
    journal.apply(CHANGES[:1], by_hand=False)
    journal.apply([Change(path=path, value="00000001", why="by hand")], by_hand=True)
    assert journal.restore(only_left_behind=True) == ()
    assert values()[path] == "00000001"
    assert [line.state for line in journal.restore()] == ["restored", "restored"]
    assert values()[path] == SETTINGS[path]


def test_the_next_start_puts_a_runs_mask_back_to_the_persons_beneath_it(journal, values):
    """What lies on top of a person's mask goes, and the person's stays."""
    path = CHANGES[0].path
    journal.apply([Change(path=path, value="00000001", why="by hand")], by_hand=True)
    journal.apply(CHANGES[:1], by_hand=False)
    assert [line.value for line in journal.restore(only_left_behind=True)] == ["00000001"]
    assert values()[path] == "00000001"
    assert len(journal.in_force()) == 1


def test_what_an_administrator_has_set_meanwhile_stays(journal, kernel, values):
    """Neither the old value nor ours: it is struck out and told, and not overwritten."""
    journal.apply(CHANGES, by_hand=False)
    (kernel / CHANGES[0].path.removeprefix("/")).write_text("00000001\n")
    outcomes = {line.path: (line.state, line.reason) for line in journal.restore()}
    assert outcomes[CHANGES[0].path] == ("kept", "somebody else has set it to 00000001 since")
    assert outcomes[CHANGES[1].path] == ("restored", "")
    assert values()[CHANGES[0].path] == "00000001"
    assert journal.in_force() == ()


class Locked(DirectAccess):
    """A setting that cannot be written for a while, as when /proc is mounted read-only."""

    locked = False

    def write(self, path: str, value: str) -> None:
        """Refuses while it is locked."""
        if self.locked:
            raise SettingRefused("read-only here")
        super().write(path, value)


def test_a_value_of_ours_that_could_not_be_taken_back_is_not_taken_for_somebody_elses(kernel, lines, values):
    """Two lines of one setting: while the later one fails, the earlier one is no stranger's to keep."""
    path, access = CHANGES[0].path, Locked(kernel)
    journal = SettingsJournal(lines, access, boot_id="this-boot")
    for mask in ("00000001", "00000002"):
        journal.apply([Change(path=path, value=mask, why="")], by_hand=True)
    access.locked = True
    assert [line.state for line in journal.restore()] == ["failed", "failed"]
    access.locked = False
    assert [line.state for line in journal.restore()] == ["restored", "restored"]
    assert values()[path] == SETTINGS[path]


def test_what_is_held_for_a_while_is_taken_back_whatever_ends_it(journal, values):
    """A refusal among several takes the others back as well."""
    before = values()
    with journal.held(CHANGES):
        assert values() != before
    assert values() == before
    missing = Change(path="/proc/irq/99/smp_affinity", value="00000001", why="")
    with pytest.raises(SettingRefused, match="irq/99"), journal.held([*CHANGES, missing]):
        pytest.fail("half of the changes are none")
    assert values() == before
    assert journal.in_force() == ()
