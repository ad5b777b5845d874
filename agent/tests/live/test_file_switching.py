"""Production's file with other values for a while, by reloads, and as it was whoever is killed."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live.arms import changed_file
from trimtab_agent.live.file_switching import FileSwitch, put_files_back
from trimtab_agent.live.restoring import Process
from waiting import until

pytestmark = pytest.mark.live

KNOB = {"nginx": "worker_processes", "h2o": "num-threads"}
SERVERS = pytest.mark.parametrize("name", KNOB)

# An agent of its own, which is killed: it says who its keeper is once the candidate is in force.
AGENT = """
import sys
from pathlib import Path
from trimtab_agent.base_file import read_base
from trimtab_agent.live.file_switching import FileSwitch
from trimtab_agent.live.running import running_servers
pid, notes = sys.argv[1:]
server = next(each for each in running_servers() if each.pid == int(pid))
base = read_base(server.target, server.file)
switch = FileSwitch(server, base, Path(notes))
switch.put(base.text.replace("worker_processes 1", "worker_processes 3"))
print(switch._keeper.pid, flush=True)
sys.stdin.read()
"""


def workers(server):
    """How many workers, or threads, have taken up its file; None while one of them is just ending."""
    try:
        children = [each for each in psutil.Process(server.process.pid).children() if each.name() in KNOB]
        if children and children[0].name() == "h2o":
            return children[0].num_threads() - 1 if len(children) == 1 else None
    except psutil.NoSuchProcess:
        return None
    return len(children)


def candidate_of(server, name, value=3):
    """Its file with three workers."""
    values = {**server.seen.target.space().default(), KNOB[name]: value}
    return changed_file(server.seen, server.base.text, values, [KNOB[name]])


def is_as_before(server, before, tmp_path):
    """Every byte and the time, with nothing beside it and no note."""
    now = (server.file.read_bytes(), server.file.stat().st_mtime_ns)
    beside = list(server.file.parent.glob("*before-trimtab*"))
    return (now, beside, list((tmp_path / "notes").glob("*"))) == (before, [], [])


@SERVERS
def test_each_text_is_taken_up_and_the_own_one_at_the_end(name, production, tmp_path):
    """Its time is that from before."""
    server = production(name)
    before = (server.file.read_bytes(), server.file.stat().st_mtime_ns)
    with FileSwitch(server.seen, server.base, tmp_path / "notes") as switch:
        for text, expected in (
            (candidate_of(server, name), 3),
            (server.base.text, 1),
            (candidate_of(server, name), 3),
        ):
            switch.put(text)
            assert server.file.read_text() == text
            until(lambda expected=expected: workers(server) == expected)
        assert switch.backup.read_bytes() == before[0]
        assert switch.close() == []
    until(lambda: workers(server) == 1)
    assert is_as_before(server, before, tmp_path)


def test_text_that_the_server_refuses_is_not_taken_up_and_its_own_is_there_again(production, tmp_path):
    """With the server's own sentence."""
    server = production("nginx")
    text = server.file.read_text()
    with FileSwitch(server.seen, server.base, tmp_path / "notes") as switch:
        with pytest.raises(HostError, match=r"the server does not accept .* unexpected end of file"):
            switch.put(text[:40])
        assert server.file.read_text() == text
    until(lambda: workers(server) == 1)


def test_text_that_cannot_be_handed_over_is_not_taken_up(production, full_disk, tmp_path):
    """Where the disk of temporary files is full; not even a part of it is."""
    server = production("nginx")
    before = server.file.read_bytes()
    with FileSwitch(server.seen, server.base, tmp_path / "notes") as switch:
        with full_disk(), pytest.raises(HostError, match="cannot be written to: File too large"):
            switch.put(candidate_of(server, "nginx"))
        assert server.file.read_bytes() == before


def test_file_that_an_administrator_has_changed_meanwhile_stays(production, tmp_path):
    """Neither the next text nor the end writes over it; the one from before lies beside it."""
    server = production("nginx")
    before = server.file.read_text()
    switch = FileSwitch(server.seen, server.base, tmp_path / "notes")
    switch.put(candidate_of(server, "nginx"))
    edited = server.file.read_text() + "# a word\n"
    server.file.write_text(edited)
    with pytest.raises(HostError, match="changed by somebody else meanwhile, and stays"):
        switch.put(before)
    (complaint,) = switch.close()
    assert f"{switch.backup} is the file from before" in complaint
    assert server.file.read_text() == edited
    assert switch.backup.read_text() == before


def test_file_is_written_by_one_trimtab_at_a_time(production, tmp_path):
    """Another one would take ours for production's own."""
    server = production("nginx")
    with (
        FileSwitch(server.seen, server.base, tmp_path / "notes"),
        pytest.raises(HostError, match=r"writes .* already"),
    ):
        FileSwitch(server.seen, server.base, tmp_path / "notes")


@pytest.mark.parametrize("killed", ["keeper", "agent", "both"])
def test_whoever_is_killed_production_has_its_own_file_again(killed, production, tmp_path):
    """By the keeper when the agent is killed, by the agent when the keeper is, by the next Trimtab after
    both.
    """
    server, notes = production("nginx"), tmp_path / "notes"
    before = (server.file.read_bytes(), server.file.stat().st_mtime_ns)
    if killed == "keeper":
        switch = FileSwitch(server.seen, server.base, notes)
        switch.put(candidate_of(server, "nginx"))
        switch._keeper.kill()
        assert switch.close() == []
    else:
        agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, str(server.process.pid), str(notes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with agent:
            keeper = Process.of(int(agent.stdout.readline()))
            assert workers_are_three(server)
            assert put_files_back(notes) == []
            assert server.file.read_bytes() != before[0], "the agent lives"
            if killed == "both":
                os.kill(keeper.pid, signal.SIGKILL)
            agent.kill()
            agent.stdin.close()
            agent.wait()
        if killed == "both":
            until(lambda: not keeper.lives())  # while it does, the next Trimtab leaves all to it
            assert [json.loads(each.read_text())["agent"]["pid"] for each in notes.iterdir()] == [agent.pid]
            assert put_files_back(notes) == []
    until(lambda: is_as_before(server, before, tmp_path))
    until(lambda: workers(server) == 1)


def workers_are_three(server):
    """The candidate is in force."""
    until(lambda: workers(server) == 3)
    return True


def test_server_that_was_restarted_with_a_candidate_has_its_own_file_in_force_at_the_end(
    production, tmp_path
):
    """An administrator restarts it meanwhile: it has read what was there."""
    server = production("nginx")
    switch = FileSwitch(server.seen, server.base, tmp_path / "notes")
    switch.put(candidate_of(server, "nginx"))
    server.restart()
    server.until_listening()
    assert workers_are_three(server)
    assert switch.close() == []
    until(lambda: workers(server) == 1)
