"""The privileged helper does what it is for, for whom it is for, and nothing else."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trimtab_agent.helper import client
from trimtab_agent.helper.client import HelperAccess
from trimtab_agent.helper.server import answer, listen, serve_one
from trimtab_agent.os_settings.access import DirectAccess, SettingGone, SettingRefused

STEERING = "/sys/class/net/lo/queues/rx-0/rps_cpus"
# The helper as it is, but for its patience: on a machine that stalls a second is over before a line is sent.
PATIENT = "from trimtab_agent.helper import server; server.PATIENCE_S = 60.0; server.main()"


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The real helper, for this user; its socket."""
    monkeypatch.setattr(client, "TIMEOUT_S", 60.0)
    path = tmp_path / "helper.sock"
    command = [sys.executable, "-c", PATIENT, str(path), "--uid", str(os.geteuid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"ready" in process.stdout.readline()
        yield path
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert not path.exists()


@pytest.mark.kernel
@pytest.mark.skipif(not os.access(STEERING, os.W_OK), reason=f"{STEERING} cannot be written here")
def test_a_mask_is_read_and_written_through_the_helper(helper):
    """And is what the kernel then has."""
    access = HelperAccess(helper)
    before = access.read(STEERING)
    try:
        access.write(STEERING, "00000001")
        assert int(Path(STEERING).read_text(), 16) == 1
    finally:
        access.write(STEERING, before)
    assert access.read(STEERING) == before


def test_the_helper_tells_its_network_namespace(helper):
    """Which is that of whoever has started it."""
    assert HelperAccess(helper).namespace() == DirectAccess().namespace()


def test_every_other_file_and_every_missing_device_is_refused(helper):
    """With the reason; the socket is the user's alone."""
    access = HelperAccess(helper)
    with pytest.raises(SettingRefused, match="none of the settings"):
        access.read("/etc/shadow")
    with pytest.raises(SettingRefused, match="no CPU mask"):
        access.write(STEERING, "1; reboot")
    with pytest.raises(SettingGone):
        access.read("/sys/class/net/nosuch0/queues/rx-0/rps_cpus")
    assert helper.stat().st_mode & 0o777 == 0o600


def test_a_helper_that_is_not_there_is_a_reason(tmp_path):
    """And no traceback."""
    with pytest.raises(SettingRefused, match="does not answer"):
        HelperAccess(tmp_path / "nobody.sock").read(STEERING)


@pytest.mark.parametrize("sent", [b"", b"\n", b"x" * 10_000, b"{\n", b"[1]\n", b"\xff\xfe\n"])
def test_garbage_gets_a_refusal_and_the_next_request_is_served(helper, sent):
    """Whatever is sent, one line comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(helper))
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        except BrokenPipeError:
            pass
        try:
            reply = connection.makefile("rb").readline()
        except ConnectionResetError:  # the helper did not read all of an overlong request
            reply = b""
    assert not reply or json.loads(reply)["ok"] is False
    with pytest.raises(SettingRefused, match="none of the settings"):
        HelperAccess(helper).read("/etc/shadow")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_link_in_place_of_the_socket_gives_no_file_away(tmp_path, monkeypatch):
    """Whoever replaces the socket before it is handed over gets the link, not what it points to."""
    path, victim = tmp_path / "helper.sock", tmp_path / "shadow"
    victim.touch()

    class Overtaken(socket.socket):
        def bind(self, address):
            super().bind(address)
            path.unlink()
            path.symlink_to(victim)

    monkeypatch.setattr("trimtab_agent.helper.server.socket.socket", Overtaken)
    listen(path, 4711).close()
    assert (victim.stat().st_uid, path.lstat().st_uid) == (0, 4711)


def test_a_stranger_is_refused_before_anything_is_read():
    """The kernel says who is asking."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        serve_one(ours, os.geteuid() + 1, DirectAccess())
        reply = json.loads(theirs.recv(4096))
    assert reply["ok"] is False
    assert "may not ask" in reply["reason"]


def test_a_silent_peer_is_hung_up_on():
    """After a second: nobody can keep the helper busy."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        failed = []

        def serve() -> None:
            try:
                serve_one(ours, os.geteuid(), DirectAccess())
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=serve)
        thread.start()
        thread.join(60)
    assert [type(error) for error in failed] == [TimeoutError]


def test_a_peer_that_drips_is_hung_up_on(monkeypatch):
    """The second is for the whole request, however often a byte of it comes."""
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr("trimtab_agent.helper.server.time", SimpleNamespace(monotonic=lambda: clock.now_s))
    monkeypatch.setattr("trimtab_agent.helper.server.PATIENCE_S", 60.0)
    ours, theirs = socket.socketpair()
    served = threading.Event()
    failed = []

    def serve() -> None:
        try:
            serve_one(ours, os.geteuid(), DirectAccess())
        except OSError as error:
            failed.append(error)
        served.set()

    with ours, theirs:
        thread = threading.Thread(target=serve)
        thread.start()
        sent = 0
        while not served.wait(0.02) and sent < 3000:  # fewer than would end the request by its length
            theirs.sendall(b"{")
            sent += 1
            clock.now_s += 5.0
        thread.join(60)
    assert [type(error) for error in failed] == [TimeoutError]
    assert sent > 1


def test_a_second_helper_does_not_take_over(helper):
    """It says so and ends; the first one goes on answering on its socket."""
    second = subprocess.run(
        [sys.executable, "-m", "trimtab_agent.helper.server", str(helper), "--uid", "0"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert second.returncode == 1
    assert second.stderr.startswith(f"trimtab-helper: another helper answers on {helper}")
    with pytest.raises(SettingRefused, match="none of the settings"):
        HelperAccess(helper).read("/etc/shadow")


def test_a_socket_that_nobody_answers_on_is_replaced(tmp_path):
    """As a helper that was killed leaves one."""
    path = tmp_path / "helper.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with listen(path, os.geteuid()), socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))


def test_what_is_no_socket_is_left_alone(tmp_path):
    """A mistyped path costs nobody a file, and neither does a link."""
    file, link = tmp_path / "notes.txt", tmp_path / "link"
    file.write_text("mine")
    link.symlink_to(tmp_path / "nowhere")
    for path in (file, link):
        with pytest.raises(SystemExit, match="no socket"):
            listen(path, os.geteuid())
    assert file.read_text() == "mine"
    assert link.is_symlink()


KNOB = "/proc/sys/net/ipv4/tcp_rmem"
POSSIBLE = (STEERING, "/proc/irq/5/smp_affinity", KNOB)
WORDS = st.sampled_from(
    ["read", "probe", "write", "namespace", *POSSIBLE, "/etc/passwd", "../..", "3", "4 5 6", "reno"]
)


@settings(max_examples=300)
@given(
    st.binary(max_size=200)
    | st.dictionaries(st.sampled_from(["operation", "path", "value", "more"]), WORDS).map(
        lambda words: json.dumps(words).encode()
    )
)
@example(b"[" * 100_000)
@example(b'{"operation": "read", "path": 5}')
@example(b"1e999")
def test_no_request_reaches_another_file(tmp_path_factory, line):
    """Fuzzed: a reply always comes, and only listed settings are ever opened."""
    root = tmp_path_factory.mktemp("root")
    reply = answer(line, DirectAccess(root))
    if reply["ok"]:  # the one request that names no file
        assert json.loads(line) == {"operation": "namespace"}
        return
    # In an empty root nothing else can succeed: what got past the rules ends as "not there".
    assert reply["ok"] is False
    if reply["gone"]:
        path = json.loads(line)["path"]
        assert path in POSSIBLE
