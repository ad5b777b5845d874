"""What a program takes over from a running server, and what that server does with signals."""

import os
import signal
import subprocess
import sys

import pytest
from trimtab_agent.live.surroundings import catches, like
from waiting import until

NOBODY = 65534


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
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
