"""Notes about changes of production: who puts them back, and who leaves them to another."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.file_switching import SwitchedFile, digest_of, put_files_back
from trimtab_agent.live.keeping import Keeper
from trimtab_agent.live.restoring import Process
from trimtab_agent.os_settings.journal import BOOT_ID

OWN, OTHER = "worker_processes 1;\n", "worker_processes 3;\n"

# A process that is killed when it has written all of a file, and has not put it in its place.
KILLED = """
import os, signal, sys
from pathlib import Path
from trimtab_agent.live import own_file
from trimtab_agent.live.file_switching import SwitchedFile
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
file, note = map(Path, sys.argv[1:])
"""


@pytest.fixture
def gone():
    """A process that has ended."""
    with subprocess.Popen(("cat",), stdin=subprocess.PIPE) as process:
        return Process.of(process.pid)


@pytest.fixture
def switched(tmp_path, gone):
    """A file with a candidate's text, noted by an agent that has gone."""
    file, notes = tmp_path / "nginx.conf", tmp_path / "notes"
    file.write_text(OWN)
    notes.mkdir()

    def noted(**changes):
        backup = own_file.name_beside(file)
        own_file.keep_as(backup, file)
        own_file.write(file, OTHER)
        kept = SwitchedFile(
            **{
                "agent": gone,
                "production": gone,
                "boot_id": BOOT_ID.read_text().strip(),
                "file": str(file),
                "backup": str(backup),
                "reload_signal": 1,
                "check_command": ("true",),
                "own": digest_of(OWN),
                "ours": (digest_of(OTHER),),
                **changes,
            }
        )
        kept.write(notes / "1-2.file.json")
        return kept

    yield noted
    assert not list(notes.glob("*.part"))


def test_file_that_nobody_keeps_any_more_is_put_back(switched, tmp_path):
    """By the next Trimtab; nothing is left beside it."""
    switched()
    assert put_files_back(tmp_path / "notes") == []
    assert (tmp_path / "nginx.conf").read_text() == OWN
    assert not list(tmp_path.glob("*before-trimtab*"))
    assert not list((tmp_path / "notes").iterdir())


@pytest.mark.parametrize(
    "writing", ["own_file.write(file, 'worker_processes 5;')", "SwitchedFile.read(note).write(note)"]
)
def test_what_a_killed_process_was_about_to_write_is_removed(writing, switched, tmp_path):
    """Beside the file as beside the note."""
    switched()
    file, note = tmp_path / "nginx.conf", tmp_path / "notes" / "1-2.file.json"
    there = len(list(tmp_path.rglob("*")))
    command = (sys.executable, "-c", KILLED + writing, file, note)
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(list(tmp_path.rglob("*"))) == there + 1
    assert put_files_back(tmp_path / "notes") == []
    assert set(tmp_path.rglob("*")) == {file, tmp_path / "notes"}
    assert file.read_text() == OWN


def test_part_of_a_copy_is_not_taken_for_the_file(switched, tmp_path):
    """Its agent was killed while it kept the file, before anything was written to that."""
    kept = switched()
    (tmp_path / "nginx.conf").write_text(OWN)
    Path(kept.backup).write_text(OWN[:5])
    assert put_files_back(tmp_path / "notes") == []
    assert (tmp_path / "nginx.conf").read_text() == OWN
    assert set(tmp_path.rglob("*")) == {tmp_path / "nginx.conf", tmp_path / "notes"}


def test_first_note_of_a_killed_agent_is_removed(gone, tmp_path):
    """That of one that lives is about to be whole."""
    for agent in (gone.pid, os.getpid()):
        (tmp_path / f"{agent}-1.file.part").touch()
    assert put_files_back(tmp_path) == []
    assert [each.name for each in tmp_path.iterdir()] == [f"{os.getpid()}-1.file.part"]


def test_file_whose_keeper_lives_is_left_to_that(switched, tmp_path):
    """Its agent was killed while it was about to write, which would stay when the note has gone."""
    kept = switched(keeper=Process.of(os.getpid()))
    assert kept.holder == Process.of(os.getpid())
    assert put_files_back(tmp_path / "notes") == []
    assert (tmp_path / "nginx.conf").read_text() == OTHER
    assert SwitchedFile.read(tmp_path / "notes" / "1-2.file.json") == kept


def test_file_that_was_put_back_before_a_kill_is_as_it_was(switched, tmp_path):
    """The note is what is left to take away."""
    kept = switched()
    own_file.put_back(tmp_path / "nginx.conf", tmp_path / kept.backup)
    assert put_files_back(tmp_path / "notes") == []
    assert (tmp_path / "nginx.conf").read_text() == OWN
    assert not list((tmp_path / "notes").iterdir())


def test_file_of_a_boot_before_is_put_back_as_well(switched, tmp_path):
    """It is on the disk still, unlike what a kernel or a process knows."""
    switched(boot_id="another")
    assert put_files_back(tmp_path / "notes") == []
    assert (tmp_path / "nginx.conf").read_text() == OWN


def test_keeper_that_cannot_be_started_leaves_all_as_it_was(switched, tmp_path, monkeypatch):
    """No process is to be had; whoever tries it later finds no note that somebody keeps the file."""
    switched(agent=Process.of(os.getpid()))
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with pytest.raises(HostError, match="the keeper of the file cannot be started: No such file"):
        Keeper("json", tmp_path / "notes" / "1-2.file.json", SwitchedFile, "file", 1.0)
    assert (tmp_path / "nginx.conf").read_text() == OWN
    assert not list((tmp_path / "notes").iterdir())


def test_note_that_cannot_be_understood_is_told(tmp_path):
    """A person has to look at it: production may have a candidate's text."""
    note = tmp_path / "1-2.file.json"
    note.write_text("{")
    (complaint,) = put_files_back(tmp_path)
    assert complaint == f"{note} tells nothing that can be put back: look at it, and remove it"
    assert note.exists()
