"""One at a time on a machine, whatever directory each keeps its files in."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimtab_agent import settings
from trimtab_agent.errors import HostError, RunConflict
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.settings import AgentSettings


def test_second_one_learns_run_process_and_directory_of_the_first(tmp_path):
    """So that it is known whom to ask, and where to look."""
    lock = MachineLock(tmp_path / "lock", Path("/srv/one"))
    lock.tell(run_id=12)
    said = rf"run 12 is running on this machine \(process {os.getpid()}, its directory is /srv/one\)"
    with pytest.raises(RunConflict, match=said):
        MachineLock(tmp_path / "lock", Path("/srv/other"))
    lock.release()
    MachineLock(tmp_path / "lock", Path("/srv/other")).release()


def test_lock_of_a_killed_holder_is_free(tmp_path):
    """The kernel lets it go; what is written in it is nobody's any more."""
    hold = (
        "import sys; from pathlib import Path; from trimtab_agent.host.lock import MachineLock;"
        "lock = MachineLock(Path(sys.argv[1]), Path('/srv')); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunConflict, match=rf"process {holder.pid}"):
            MachineLock(tmp_path / "lock", tmp_path)
        holder.kill()
    MachineLock(tmp_path / "lock", tmp_path).release()


def test_lock_is_everybodys_whoever_made_it(tmp_path):
    """Users of one machine share it; the mask of the process that comes first must not keep the others
    out.
    """
    before = os.umask(0o077)
    try:
        MachineLock(tmp_path / "lock", tmp_path).release()
    finally:
        os.umask(before)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o666


def test_link_in_the_locks_place_is_not_followed(tmp_path):
    """Where everybody may write, somebody may have put one there."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(HostError, match="cannot open the lock"):
        MachineLock(tmp_path / "lock", tmp_path)
    assert (tmp_path / "victim").read_text() == "precious"


def test_nonsense_in_the_lock_is_passed_over(tmp_path):
    """Everybody may write to it: the sentence is then without what cannot be told."""
    lock = MachineLock(tmp_path / "lock", tmp_path)
    escape = '{"pid": true, "var": "/srv\\u001b[2J"}'
    for nonsense in ("", "[" * 4096, "[1, 2]", '{"pid": "rm -rf", "var": 7, "run_id": null}', escape):
        (tmp_path / "lock").write_text(nonsense)
        with pytest.raises(RunConflict, match="another run is running on this machine; stop it"):
            MachineLock(tmp_path / "lock", tmp_path)
    lock.release()


def test_two_directories_of_one_machine_have_the_same_lock(tmp_path, monkeypatch):
    """Unless they are told otherwise."""
    monkeypatch.delenv("TRIMTAB_LOCK")
    locks = {AgentSettings(var=tmp_path / name).machine_lock for name in ("one", "other")}
    assert len(locks) == 1
    assert AgentSettings(lock=tmp_path / "own").machine_lock == tmp_path / "own"


def test_full_disk_keeps_nobody_from_the_lock(tmp_path, monkeypatch):
    """Who holds it cannot be told then; it is held all the same, and given back."""

    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("trimtab_agent.host.lock.os.pwrite", full)
    lock = MachineLock(tmp_path / "lock", tmp_path)
    with pytest.raises(RunConflict, match="another run is running on this machine; stop it"):
        MachineLock(tmp_path / "lock", tmp_path)
    lock.release()
    MachineLock(tmp_path / "lock", tmp_path).release()


@pytest.mark.parametrize(("mode", "chosen"), [(0o1777, "locks"), (0o755, "temporary")])
def test_lock_lies_where_every_user_may_write(tmp_path, monkeypatch, mode, chosen):
    """Not where this one may: root and a user must meet at the same file."""
    monkeypatch.delenv("TRIMTAB_LOCK")
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks").chmod(mode)
    monkeypatch.setattr(settings, "LOCKS", tmp_path / "locks")
    monkeypatch.setattr(settings, "TEMPORARY", tmp_path / "temporary")
    assert AgentSettings().machine_lock == tmp_path / chosen / "trimtab.lock"
