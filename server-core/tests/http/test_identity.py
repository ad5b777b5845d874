"""Whoever serves is the user that the configuration names, in every architecture; the master stays root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can serve as somebody else")

USER = "nobody"
ACCOUNT = pwd.getpwnam(USER)
NO_CAPABILITY = "0" * 16


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that everybody may enter; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def rights_of(pid: int) -> dict[str, str]:
    """What the kernel says of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: " ".join(value.split()) for name, value in (line.split(":", 1) for line in lines)}


def is_sanitized(pid: int) -> bool:
    """Whether a sanitizer, which has calls of its own, is in the program."""
    program = Path(f"/proc/{pid}/exe").read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def is_bound(pid: int) -> bool:
    """Whether it cannot gain rights, and may ask the kernel for no more than it needs."""
    rights = rights_of(pid)
    return rights["NoNewPrivs"] == "1" and (rights["Seccomp"] == "2" or is_sanitized(pid))


def assert_serves_as(pid: int, uid: int, gid: int) -> None:
    """Who it is in every respect, and that it can do no more than that."""
    rights = rights_of(pid)
    assert rights["Uid"] == f"{uid} {uid} {uid} {uid}"
    assert rights["Gid"] == f"{gid} {gid} {gid} {gid}"
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert rights[name] == NO_CAPABILITY
    assert is_bound(pid)
    assert Path(f"/proc/{pid}/fd").stat().st_uid == uid  # who it serves as may look into it


def test_workers_have_no_rights_but_to_read(
    start: Callable[..., Any],
    architecture: dict[str, str],
    open_directory: Path,
    await_state: Callable[..., Any],
) -> None:
    """Every process but the master: who it is, its groups, no capability; a file of root's is forbidden."""
    if architecture["architecture"] == "shared-symped":
        pytest.skip("its processes have the descriptors of the master")
    server = start(**architecture, root=open_directory, user=USER)
    server.write("file", b"contents")
    server.write("secret", b"of root").chmod(0o600)
    connection = server.connect()
    assert connection.get("/file").body == b"contents"
    assert connection.get("/secret").status == 403
    for pid in server.worker_pids():
        # One that serves is; another may have just been forked.
        await_state(lambda: is_bound(pid))  # noqa: B023 - it is called at once
        assert_serves_as(pid, ACCOUNT.pw_uid, ACCOUNT.pw_gid)
        assert rights_of(pid)["Groups"] == str(ACCOUNT.pw_gid)
    assert rights_of(server.process.pid)["Uid"] == "0 0 0 0"


def test_serving_gets_by_with_the_calls_that_it_is_left(
    start: Callable[..., Any], every_mode: dict[str, str], open_directory: Path, binary_as_released: Path
) -> None:
    """In the program as it is released, for one with a sanitizer is not bound."""
    if every_mode["architecture"] == "shared-symped":
        pytest.skip("its processes have the descriptors of the master")

    def launch(command: list[Any], **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([binary_as_released, *command[1:]], **options)

    server = start(
        launch, **every_mode, root=open_directory, user=USER, access_log=open_directory / "log", sndbuf=16384
    )
    contents = os.urandom(300_000)
    server.write("large", contents)
    server.write("small", b"contents")
    for _ in range(4):
        connection = server.connect(receive_buffer=4096)
        for _ in range(2):
            assert connection.get("/large").body == contents
            assert connection.get("/small").body == b"contents"
            assert connection.get("/large", "Range: bytes=5-9").body == contents[5:10]
        assert connection.get("/none", "Connection: close").status == 404
        assert connection.is_closed_by_server()
    assert [rights_of(pid)["Seccomp"] for pid in server.worker_pids()] == ["2"] * len(server.worker_pids())
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    assert "not permitted" not in server.log()


def test_reload_and_rotation_work_where_only_the_master_may_write(
    start: Callable[..., Any], open_directory: Path, tmp_path: Path, await_state: Callable[..., Any]
) -> None:
    """A new low port, a new log in root's own directory; a worker that dies is replaced by one like it."""
    log = tmp_path / "access.log"
    server = start(root=open_directory, user=USER, access_log=log)
    server.write("file", b"contents")
    assert server.connect().get("/file").status == 200
    await_state(lambda: log.exists() and log.read_text())
    log.rename(tmp_path / "moved")
    text = server.configuration.read_text()
    server.configuration.write_text(text.replace("listen = 127.0.0.1:0", "listen = 127.0.0.17:843"))
    os.kill(server.process.pid, signal.SIGHUP)
    await_state(lambda: server.log().count("ready: ") == 2)
    server.address = ("127.0.0.17", 843)
    assert server.connect().get("/file").status == 200
    await_state(lambda: log.exists() and log.read_text())
    (pid,) = server.worker_pids()
    os.kill(pid, signal.SIGKILL)
    await_state(lambda: server.worker_pids() not in ([pid], [0]))
    assert server.connect().get("/file").status == 200
    assert_serves_as(server.worker_pids()[0], ACCOUNT.pw_uid, ACCOUNT.pw_gid)


def test_group_may_be_another(start: Callable[..., Any], open_directory: Path) -> None:
    """Than that of the user."""
    server = start(root=open_directory, user=USER, group="daemon")
    server.connect().get("/")
    (pid,) = server.worker_pids()
    assert_serves_as(pid, ACCOUNT.pw_uid, 1)


def test_worker_dies_with_its_master(
    start: Callable[..., Any], open_directory: Path, await_state: Callable[..., Any]
) -> None:
    """Though it has become somebody else."""
    server = start(root=open_directory, user=USER)
    (pid,) = server.worker_pids()
    server.process.kill()
    await_state(lambda: not Path(f"/proc/{pid}").exists())


def test_right_to_bind_low_ports_stays_with_the_master(
    start: Callable[..., Any], open_directory: Path, tmp_path: Path, binary: str
) -> None:
    """As systemd gives it to a server that is not started by root."""
    program = Path(shutil.copy(binary, open_directory / "trimtab-httpd"))
    run = open_directory / "run"
    run.mkdir()
    os.chown(run, ACCOUNT.pw_uid, ACCOUNT.pw_gid)
    right = "+net_bind_service"
    become = ["setpriv", "--reuid", USER, "--clear-groups", "--inh-caps", right, "--ambient-caps", right]

    def launch(command: list[Any], **options: Any) -> subprocess.Popen[bytes]:
        file = shutil.copy(command[2], open_directory / "server.ini")
        return subprocess.Popen([*become, program, "-c", file], **options)

    site = open_directory / "site"
    server = start(launch, root=site, listen="127.0.0.17:842", stats_socket=run / "stats")
    server.connect().get("/")
    assert rights_of(server.process.pid)["CapEff"] == "0000000000000400"
    (pid,) = server.worker_pids()
    assert rights_of(pid)["CapEff"] == rights_of(pid)["CapPrm"] == NO_CAPABILITY


def test_host_whose_root_is_closed_to_the_user_is_refused(open_directory: Path, binary: str) -> None:
    """By its name, and before anything is opened, as the main root is."""
    closed = open_directory / "closed"
    closed.mkdir(mode=0o700)
    file = open_directory / "f.ini"
    settings = f"root = {open_directory}\nlisten = 127.0.0.1:0\nuser = {USER}"
    file.write_text(f"[server]\n{settings}\n[host one.example]\nroot = {closed}\n")
    checked = subprocess.run(
        [binary, "-t", "-c", file], capture_output=True, text=True, check=False, timeout=30
    )
    assert f"root = {closed}: the user that is to serve may not enter it" in checked.stderr
    assert checked.returncode == 1
    closed.chmod(0o755)
    subprocess.run([binary, "-t", "-c", file], capture_output=True, check=True, timeout=30)


def test_next_coding_is_tried_where_the_best_is_not_for_the_user_to_read(
    start: Callable[..., Any], open_directory: Path
) -> None:
    """Before the plain file is sent."""
    server = start(root=open_directory, user=USER, precompressed="on")
    server.write("file", b"plain")
    server.write("file.br", b"of root").chmod(0o600)
    server.write("file.gz", b"zipped")
    reply = server.connect().get("/file", "Accept-Encoding: br, gzip")
    assert (reply.body, reply.headers["content-encoding"]) == (b"zipped", "gzip")


@pytest.mark.parametrize(
    ("settings", "code", "sentence"),
    [
        (["user=no-such"], 1, "user = no-such: there is no such user"),
        (["user=nobody", "group=no-such"], 1, "group = no-such: there is no such group"),
        (["group=daemon"], 2, "group = daemon: expected a user beside it"),
        (["user=nobody", "architecture=shared-symped"], 2, "all descriptors of the master"),
        (
            ["user=nobody", "architecture=n-copy", "copy_of=shared-symped", "copies=2", "reuseport=on"],
            2,
            "all descriptors of the master",
        ),
        (["user=a b"], 2, "user = a b: expected a name of letters, digits and . _ + @ -"),
        (["user=nobody"], 1, "the user that is to serve may not enter it"),
    ],
)
def test_who_cannot_serve_is_refused(
    tmp_path: Path, binary: str, settings: list[str], code: int, sentence: str
) -> None:
    """Before anything is opened; pytest's directories are closed to nobody."""
    arguments = [part for setting in settings for part in ("--set", setting)]
    command = [binary, "-t", "--set", f"root={tmp_path}", "--set", "listen=127.0.0.1:0", *arguments]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert sentence in checked.stderr
    assert checked.returncode == code
