"""A server's file is read with the rights of whoever has started the server."""

import os
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.live import running
from trimtab_agent.live.describing import server_document
from trimtab_agent.live.its_file import read_its_file, text_of_its_file
from trimtab_agent.live.running import running_servers
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

NOBODY = 65534
KEPT_FROM_OTHERS = "worker_processes secret;\n"


@pytest.fixture
def folder():
    """A directory that every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture
def start(folder):
    """Starts a program that is called as a server is, with that file; what is found of it."""
    program = folder / "nginx"
    program.write_text("#!/usr/bin/perl\n<STDIN>;\n")
    program.chmod(0o755)
    with ExitStack() as begun:

        def carry_out(file, **options):
            options = options or {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            process = subprocess.Popen((program, "-c", file), stdin=subprocess.PIPE, **options)
            begun.callback(process.wait)
            begun.callback(process.stdin.close)
            return until_found(process.pid)

        yield carry_out


def until_found(pid):
    """What is found of that process, once it is what it becomes."""
    found = []

    def is_found():
        found[:] = [each for each in running_servers() if each.pid == pid]
        return bool(found)

    until(is_found)
    return found[0]


def written(file, text, mode=0o644):
    """A file of root's."""
    file.write_text(text)
    file.chmod(mode)
    return file


def test_file_that_its_user_may_read_is_read(folder, start):
    """Whoever asks is root."""
    server = start(written(folder / "nginx.conf", "worker_processes 3;\nevents {}\n"))
    assert read_its_file(server).text.startswith("worker_processes 3;")
    assert server_document(server)["values"] == {"worker_processes": 3}


def test_file_that_only_root_may_read_is_not_read_for_another_user(folder, start):
    """Who names it learns nothing of it."""
    server = start(written(folder / "nginx.conf", KEPT_FROM_OTHERS, 0o600))
    with pytest.raises(SpecError, match="Permission denied"):
        read_its_file(server)
    with pytest.raises(HostError, match="Permission denied"):
        text_of_its_file(server)
    told = server_document(server)
    assert (told["values"], "secret" in told["trouble"]) == ({}, False)


def test_file_in_a_directory_that_its_user_may_not_enter_is_not_known(folder, start):
    """Nor whether there is one."""
    (folder / "own").mkdir(mode=0o700)
    assert start(written(folder / "own" / "nginx.conf", KEPT_FROM_OTHERS)).file is None


@pytest.mark.parametrize("include", ["more.conf", "sites/*.conf"])
def test_included_file_that_only_root_may_read_is_neither_read_nor_left_out(include, folder, start):
    """A server beside production would lack a part of its file."""
    (folder / "sites").mkdir(mode=0o700)
    written(folder / "more.conf", KEPT_FROM_OTHERS, 0o600)
    written(folder / "sites" / "one.conf", KEPT_FROM_OTHERS)
    server = start(written(folder / "nginx.conf", f"include {include};\n"))
    with pytest.raises(SpecError, match=f"{include.split('.')[0].rstrip('*')}.*Permission denied"):
        read_its_file(server)


def test_what_everybody_may_see_has_no_word_of_a_file_that_is_not_understood(folder, start):
    """Who may read it is told by the command line."""
    server = start(written(folder / "nginx.conf", "worker_processes 1; } secret\n"))
    assert server_document(server)["trouble"].startswith("It cannot be read: ")
    trouble = server_document(server, for_all=True)["trouble"]
    assert trouble == f"Its file could not be read: `trimtab live servers {server.pid}` says why."


def test_server_with_rights_that_whoever_has_started_it_has_not_is_not_looked_into(folder, start):
    """As any program with the bit setuid may be called nginx."""
    file = written(folder / "nginx.conf", KEPT_FROM_OTHERS, 0o600)
    server = start(file, preexec_fn=lambda: os.setresuid(NOBODY, 0, 0))
    assert (server.file, server.listeners, server.obstacles) == (None, (), (running.OTHER_RIGHTS,))


def test_unit_is_one_of_the_system():
    """A user's own manager gives its units the names that the user likes."""
    system = "0::/system.slice/nginx.service"
    own = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service"
    assert running.UNIT.findall(f"4:memory:/\n{system}\n") == ["nginx.service"]
    assert running.UNIT.findall(f"{own}\n") == []
