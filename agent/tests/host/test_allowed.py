"""What a machine allows a server, read from the kernel's files and from those that set its variables."""

import os
import resource
from pathlib import Path

import pytest
from trimtab_agent.host.allowed import (
    descriptors_of,
    file_systems,
    machine_for,
    open_files_of,
    sysctl_lines,
    unreadable,
)
from trimtab_tuner.checking.machine import UNSEEN

LIMITS = "Limit                     Soft Limit           Hard Limit\nMax open files            {}\n"
MOUNTS = """21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:30 / {here}/on\\040memory rw,nosuid shared:2 - tmpfs none rw
23 21 0:31 / {here}/shared rw shared:3 - fuse.sshfs server: rw
24 21 0:32 / {here}/shared rw - nfs4 server: rw
"""


def written(root, files):
    """These files below the root."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("limits", "capabilities", "expected"),
    [
        (
            "1024                 524288               files",
            "0000000000000000",
            (1024, 524288, False, 524288),
        ),
        ("1024                 4096                 files", "0000000001000000", (1024, 4096, True, 1048576)),
        ("unlimited            unlimited            files", "0000000000000000", (2048, 2048, False, 2048)),
    ],
)
def test_limits_are_those_of_a_process_with_what_it_may_raise(tmp_path, limits, capabilities, expected):
    """CAP_SYS_RESOURCE lets a server go beyond its hard limit, up to what the kernel has for any process."""
    most = "2048" if limits.startswith("unlimited") else "1048576"
    root = written(
        tmp_path,
        {
            "proc/self/limits": LIMITS.format(limits),
            "proc/self/status": f"Name:\tx\nCapEff:\t{capabilities}\n",
            "proc/sys/fs/nr_open": f"{most}\n",
        },
    )
    found = descriptors_of("no-such-server", root)
    assert (found.soft, found.hard, found.may_raise, found.ceiling) == expected
    assert found.of == "this process, as no no-such-server runs"


def test_file_system_is_that_of_the_innermost_mount(tmp_path):
    """Where two are mounted at one point, the later one; names may have spaces."""
    for name in ("on memory", "shared/site", "plain"):
        (tmp_path / name).mkdir(parents=True)
    written(tmp_path, {"proc/self/mountinfo": MOUNTS.format(here=os.path.realpath(tmp_path))})
    (tmp_path / "link").symlink_to(tmp_path / "shared/site")
    names = ("on memory", "shared/site", "link", "plain", "missing")
    kinds = file_systems({str(tmp_path / name) for name in names}, tmp_path)
    assert {str(Path(path).relative_to(tmp_path)): kind for path, kind in kinds.items()} == {
        "on memory": "tmpfs",
        "shared/site": "nfs4",
        "link": "nfs4",
        "plain": "ext4",
        "missing": None,
    }


def test_mounts_are_read_once_for_all_paths(tmp_path, monkeypatch):
    """There may be thousands of either."""
    written(tmp_path, {"proc/self/mountinfo": MOUNTS.format(here=os.path.realpath(tmp_path))})
    read, reads = Path.read_text, []
    monkeypatch.setattr(Path, "read_text", lambda path, **how: reads.append(path) or read(path, **how))
    file_systems({str(tmp_path), str(tmp_path / "proc"), "/none"}, tmp_path)
    assert reads == [tmp_path / "proc/self/mountinfo"]


def test_files_of_sysctl_are_read_in_their_order(tmp_path):
    """By name over all directories, one of the administrator's in place of the distribution's, sysctl.conf
    last.
    """
    root = written(
        tmp_path,
        {
            "etc/sysctl.d/50-web.conf": "# comment = 1\n\nnet.core.somaxconn=8192\n",
            "usr/lib/sysctl.d/10-default.conf": "net.core.somaxconn = 128\n-net/ipv4/tcp_tw_reuse = 1\n",
            "usr/lib/sysctl.d/50-web.conf": "net.core.somaxconn = 1\n",
            "etc/sysctl.conf": "; comment\nvm.swappiness = 1 \n",
            "etc/sysctl.d/README": "net.core.somaxconn = 3\n",
        },
    )
    found = [(line.file.rpartition("/")[2], line.line, line.key, line.value) for line in sysctl_lines(root)]
    assert found == [
        ("10-default.conf", 1, "net.core.somaxconn", "128"),
        ("10-default.conf", 2, "net.ipv4.tcp_tw_reuse", "1"),
        ("50-web.conf", 3, "net.core.somaxconn", "8192"),
        ("sysctl.conf", 2, "vm.swappiness", "1"),
    ]


def test_link_to_sysctl_conf_is_one_file(tmp_path):
    """As on Debian; its lines do not contradict themselves."""
    root = written(tmp_path, {"etc/sysctl.conf": "vm.swappiness = 1\n"})
    (root / "etc/sysctl.d").mkdir()
    (root / "etc/sysctl.d/99-sysctl.conf").symlink_to("../sysctl.conf")
    assert len(list(sysctl_lines(root))) == 1


def test_this_machine_can_be_asked(tmp_path):
    """With its CPUs, its limits, and the file system of what exists."""
    machine = machine_for("no-such-server", {str(tmp_path), str(tmp_path / "missing")})
    assert set(machine.allowed) == os.sched_getaffinity(0)
    assert machine.descriptors.soft == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert machine.somaxconn
    over_tcp = Path("/proc/sys/net/ipv4/tcp_available_ulp")
    expected = frozenset(over_tcp.read_text().split()) if over_tcp.exists() else None
    assert machine.protocols_over_tcp == expected
    assert machine.paths[str(tmp_path / "missing")] is None
    assert machine.paths[str(tmp_path)]


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ("Max open files            4096                 524288               files", 4096),
        ("Max open files            unlimited            unlimited            files", None),
        ("", None),
    ],
)
def test_open_files_of_a_process_are_its_soft_limit(tmp_path, line, limit):
    """Of one that has ended nothing is known."""
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/limits").write_text(f"Limit Soft Hard Units\n{line}\n")
    assert open_files_of(7, tmp_path) == limit
    assert open_files_of(8, tmp_path) is None


def test_a_file_that_cannot_be_read_is_told_with_why(tmp_path, monkeypatch):
    """What is there is left out, and nobody waits for a pipe; a folder that is closed says nothing of it."""
    there, empty, pipe, loop = (tmp_path / name for name in ("there.pem", "empty.pem", "pipe", "loop"))
    there.write_text("-----BEGIN")
    empty.touch()
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    gone = tmp_path / "none.pem"
    assert unreadable([str(path) for path in (there, empty, pipe, loop, gone, tmp_path)]) == {
        str(empty): "it is empty",
        str(pipe): "it is no file",
        str(loop): "it cannot be read: Too many levels of symbolic links",
        str(gone): "there is no such file",
        str(tmp_path): "it is no file but a directory",
    }
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert unreadable([str(there)]) == {str(there): "it may not be read"}

    def closed(_):
        raise PermissionError

    monkeypatch.setattr(os, "stat", closed)
    assert unreadable([str(there)]) == {str(there): UNSEEN}
