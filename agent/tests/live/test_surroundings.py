"""What a program takes over from a running server, and what that server does with signals."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from trimtab_agent.live.surroundings import as_its_user, catches, like, user_of
from waiting import until

NOBODY = 65534
OTHER_GROUP = 4711
ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")


@pytest.fixture
def running():
    """Starts a process that waits for the end of its input."""
    begun = []

    def start(*command, **options):
        begun.append(subprocess.Popen(command, stdin=subprocess.PIPE, **options))
        return begun[-1]

    yield start
    for process in begun:
        process.stdin.close()
        process.wait()


@ONLY_ROOT
def test_program_is_run_as_the_user_of_the_server_with_its_environment(running):
    """Who runs the server has chosen both, and does not become root by them."""
    server = running("cat", user=NOBODY, group=NOBODY, extra_groups=[], env={"PROD_DIR": "/srv"})
    until(lambda: like(server.pid)["env"] == {"PROD_DIR": "/srv"})
    done = subprocess.run(
        ("/bin/sh", "-c", "id -u; id -g; id -G; echo $PROD_DIR"),
        capture_output=True,
        text=True,
        check=True,
        **like(server.pid),
    )
    assert done.stdout.split() == [str(NOBODY), str(NOBODY), str(NOBODY), "/srv"]


def test_own_user_is_nobody_to_become(running):
    """Whoever is not root may not even ask."""
    server = running("cat", env={"PROD_DIR": "/srv"})
    until(lambda: like(server.pid)["env"] == {"PROD_DIR": "/srv"})
    assert set(like(server.pid)) == {"env"}


def test_signal_ends_who_has_no_handler_yet():
    """A server that has just been started is not to be reloaded."""
    handler = "import signal; signal.signal(signal.SIGHUP, lambda *_: None); print(); input()"
    server = subprocess.Popen(
        (sys.executable, "-c", handler), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server:
        server.stdout.readline()
        assert catches(server.pid, signal.SIGHUP)
        assert not catches(server.pid, signal.SIGUSR1)
        server.stdin.close()
    assert not catches(server.pid, signal.SIGHUP), "it has ended"


@pytest.fixture
def kept_from_others():
    """A file of root's that its group may read, in a directory that everybody may enter."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "kept")
        file.parent.chmod(0o755)
        file.write_text("from others")
        file.chmod(0o640)
        yield file


@ONLY_ROOT
def test_file_that_the_user_of_a_server_may_not_read_is_not_read_for_that_user(running, kept_from_others):
    """By this thread; others go on as root, and so does this one afterwards."""
    server = running("cat", user=NOBODY, group=NOBODY, extra_groups=[])
    until(lambda: user_of(server.pid)[0] == NOBODY)
    groups, read, go_on = os.getgroups(), [], threading.Event()
    other = threading.Thread(target=lambda: go_on.wait() and read.append(kept_from_others.read_text()))
    other.start()
    with as_its_user(server.pid):
        with pytest.raises(PermissionError):
            kept_from_others.read_text()
        go_on.set()
        other.join()
    assert read == ["from others"]
    assert kept_from_others.read_text() == "from others"
    assert os.getgroups() == groups


@ONLY_ROOT
def test_file_that_a_further_group_of_a_server_may_read_is_read(running, kept_from_others):
    """As the kernel decides it."""
    os.chown(kept_from_others, 0, OTHER_GROUP)
    server = running("cat", user=NOBODY, group=NOBODY, extra_groups=[OTHER_GROUP])
    until(lambda: user_of(server.pid) == (NOBODY, NOBODY, [OTHER_GROUP]))
    with as_its_user(server.pid):
        assert kept_from_others.read_text() == "from others"


@ONLY_ROOT
def test_rights_of_a_setuid_program_are_not_those_of_whoever_has_started_it(running, kept_from_others):
    """Its arguments are that one's."""
    own = {"group": NOBODY, "extra_groups": []}
    server = running("cat", preexec_fn=lambda: os.setresuid(NOBODY, 0, 0), **own)
    with as_its_user(server.pid), pytest.raises(PermissionError):
        kept_from_others.read_text()


@ONLY_ROOT
def test_what_a_server_with_the_capability_may_read_is_read(running, kept_from_others):
    """As servers of trials have it, whose files lie in a directory that nobody else may enter."""
    user = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    capability = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
    server = running("setpriv", *user, *capability, "cat")
    until(lambda: Path(f"/proc/{server.pid}/comm").read_text() == "cat\n")
    with as_its_user(server.pid):
        assert kept_from_others.read_text() == "from others"
