"""HTTP over TLS: replies, resumed sessions, and what fails in a handshake and after it.

The server is the real nginx, or a script that sends records as it likes.
"""

import contextlib
import socket
import ssl
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from trimtab_tuner.workloads.content import file_content

BOTH_VERSIONS = "ssl_protocols TLSv1.2 TLSv1.3;"  # nginx itself knows 1.3 only from 1.23.4 on
CIPHER = "ECDHE-ECDSA-AES128-GCM-SHA256"
SIZES = (1, 16_384, 100_001, 1_000_000)
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + bytes(50_000)
NAME = "trimtab.test"
KEYS = {"rsa": ("rsa:2048",), "ecdsa": ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")}


@dataclass(frozen=True)
class Certificate:
    """A certificate that signs itself, and its key; both PEM."""

    file: Path
    key: Path


def make_certificate(directory: Path, name: str, key: str = "ecdsa") -> Certificate:
    """A certificate for NAME and 127.0.0.1, valid for a day, called `name` in the directory."""
    made = Certificate(directory / f"{name}.pem", directory / f"{name}.key")
    subject = ("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1")
    files = ("-keyout", str(made.key), "-out", str(made.file))
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", *KEYS[key], "-days", "1"]
    subprocess.run([*command, *subject, *files], check=True, capture_output=True)
    return made


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Certificate]:
    """By name: `rsa`, `ecdsa`, `other` (of nobody that is trusted) and `expired`."""
    directory = tmp_path_factory.mktemp("certificates")
    made = {key: make_certificate(directory, key, key) for key in KEYS}
    made["other"] = make_certificate(directory, "other")
    made["expired"] = make_certificate(directory, "expired")
    old = ("-in", made["expired"].file, "-signkey", made["expired"].key, "-days", "-1")
    subprocess.run(["openssl", "x509", *old, "-out", made["expired"].file], check=True, capture_output=True)
    return made


@pytest.fixture
def serve_tls(start_nginx: Callable[..., int]) -> Callable[..., str]:
    """Starts an nginx that serves tmp_path with a certificate and further settings; returns its URL."""

    def start(certificate: Certificate, settings: str = BOTH_VERSIONS) -> str:
        own = f'ssl_certificate "{certificate.file}"; ssl_certificate_key "{certificate.key}";'
        return f"https://127.0.0.1:{start_nginx('ssl', own + settings)}"

    return start


class Records:
    """The server's end of a TLS connection, whose records a script sends as it likes."""

    def __init__(self, connected: socket.socket, certificate: Certificate) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key)
        context.sni_callback = self._note_name
        self.asked_name: str | None = None
        self._socket = connected
        self._from_client = ssl.MemoryBIO()
        self._to_client = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._from_client, self._to_client, server_side=True)
        self._until_done(self._tls.do_handshake)

    def _note_name(self, _tls: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        self.asked_name = name

    def _until_done(self, step: Callable[[], Any]) -> Any:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._socket.sendall(self._to_client.read())
                self._from_client.write(self._socket.recv(1 << 16))
            else:
                self._socket.sendall(self._to_client.read())
                return done

    def read_request(self) -> bytes:
        """What the client sends first."""
        return self._until_done(lambda: self._tls.read(1 << 16))

    def records(self, data: bytes) -> bytes:
        """The records that `data` becomes; the script is to send them."""
        self._tls.write(data)
        return self._to_client.read()

    def farewell(self) -> bytes:
        """TLS's word that nothing more comes, likewise."""
        with contextlib.suppress(ssl.SSLWantReadError):  # the client's
            self._tls.unwrap()
        return self._to_client.read()


@pytest.fixture
def files(tmp_path, write_log):
    """A session log that asks for files of all SIZES, which lie in tmp_path."""
    for size in SIZES:
        (tmp_path / str(size)).write_bytes(file_content(f"/{size}", size))
    return write_log("".join(f"/{size} size={size}\n" for size in SIZES))


def ask_once(load, url, *arguments):
    """Four sessions of one request."""
    return load(url + "/1", "--rate", "40", "--duration", "0.1", "--timeout", "20", *arguments).result


@pytest.mark.parametrize("key", ["rsa", "ecdsa"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("how", [("--verify", "all"), ("--close", "reset"), ("--connection", "close")])
@pytest.mark.live
def test_replies_arrive_whole(load, files, serve_tls, certificates, key, version, how):
    """With either kind of key and both versions; a connection has one handshake."""
    url = serve_tls(certificates[key])
    result = load(
        *(url, "--sessions", files, "--rate", "80", "--duration", "0.2", "--timeout", "30"),
        *("--tls-version", version, "--tls-ca", str(certificates[key].file), *how),
    ).result
    assert result["failures"] == {}
    assert result["requests"]["replied"] == 4 * len(SIZES)
    assert result["replies"]["verified"] == (4 * len(SIZES) if "--verify" in how else 0)
    connections = 4 + result["sessions"]["reopened"]
    assert result["tls"] == {"handshakes": connections, "offered": 0, "resumed": 0, "failed": 0}
    assert result["latency_us"]["handshake"]["count"] == connections


@pytest.mark.live
def test_slow_clients_and_closed_loop_read_through_tls(load, files, serve_tls, certificates):
    """A pace and a loop are the same over any transport."""
    url = serve_tls(certificates["ecdsa"])
    slow = ("--slow-share", "1", "--slow-pace", "5000000")
    result = load(url, "--sessions", files, "--connections", "2", "--duration", "0.3", *slow, mode="closed")
    assert result.result["failures"] == {}
    assert result.result["requests"]["replied"] > 0


@pytest.mark.parametrize("close", ["fin", "reset"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.live
def test_asked_share_of_handshakes_is_resumed(
    load,
    files,
    serve_tls,
    certificates,
    close,
    version,
    share,
):
    """Within chance (four standard deviations). One connection follows the other: all but the first may."""
    url = serve_tls(certificates["ecdsa"])
    tls = load(
        *(url + "/1", "--connections", "1", "--duration", "1", "--connection", "close"),
        *("--tls-version", version, "--tls-resumed", str(share), "--close", close),
        mode="closed",
    ).result["tls"]
    handshakes = tls["handshakes"]
    assert handshakes >= 5
    assert tls["failed"] == 0
    assert handshakes - tls["resumed"] >= 1
    # The last connection may be cut off before its handshake has ended.
    assert 0 <= tls["offered"] - tls["resumed"] <= 1
    deviation = 4 * (share * (1 - share) * handshakes) ** 0.5
    assert tls["resumed"] == pytest.approx(share * handshakes, abs=deviation + 2)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.live
def test_server_that_keeps_no_sessions_resumes_none(load, files, serve_tls, certificates, version):
    """With 1.2 it hands none out, so none can be offered; with 1.3 OpenSSL does, and knows none later."""
    url = serve_tls(certificates["ecdsa"], BOTH_VERSIONS + "ssl_session_cache off; ssl_session_tickets off;")
    tls = ask_once(load, url, "--tls-version", version, "--tls-resumed", "1")["tls"]
    assert (tls["handshakes"], tls["resumed"], tls["failed"]) == (4, 0, 0)
    assert version == "1.3" or tls["offered"] == 0


@pytest.mark.parametrize(
    ("served", "trusted", "name"),
    [("expired", "expired", NAME), ("ecdsa", "ecdsa", "elsewhere.test"), ("ecdsa", "other", NAME)],
)
@pytest.mark.live
def test_wrong_certificate_is_told_when_it_is_checked(
    load,
    files,
    serve_tls,
    certificates,
    served,
    trusted,
    name,
):
    """Out of date, of another server, of no trusted authority; without --tls-ca nobody looks."""
    url = serve_tls(certificates[served])
    checked = ask_once(load, url, "--tls-ca", str(certificates[trusted].file), "--tls-name", name)
    assert checked["failures"] == {"tls-certificate": 4}
    assert checked["tls"]["failed"] == 4
    assert ask_once(load, url, "--tls-name", name)["requests"]["replied"] == 4


@pytest.mark.live
def test_version_or_cipher_that_the_server_has_not_fails_the_handshake(
    load,
    files,
    serve_tls,
    certificates,
):
    """And one that it has does not."""
    url = serve_tls(certificates["ecdsa"], f"ssl_protocols TLSv1.2; ssl_ciphers {CIPHER};")
    other = ("--tls-version", "1.2", "--tls-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384")
    same = ("--tls-version", "1.2", "--tls-ciphers", CIPHER)
    assert ask_once(load, url, "--tls-version", "1.3")["failures"] == {"tls-handshake": 4}
    assert ask_once(load, url, *other)["failures"] == {"tls-handshake": 4}
    assert ask_once(load, url, *same)["requests"]["replied"] == 4


def test_server_without_tls_fails_the_handshake(load, serve):
    """What it answers is no record."""

    def script(connection):
        connection.send(REPLY)
        connection.stall()

    url = serve(script).url.replace("http", "https")
    assert ask_once(load, url)["failures"] == {"tls-handshake": 4}


def test_handshakes_that_end_or_stall_are_counted(load, serve):
    """Closed by the server, or never answered: then the timeout strikes before anything was read."""
    closing = serve(lambda connection: connection.read_bytes(5)).url.replace("http", "https")
    result = ask_once(load, closing)
    assert sum(result["failures"].values()) == result["tls"]["failed"] == 4
    assert set(result["failures"]) <= {"closed-early", "reset"}
    stalling = serve(lambda connection: connection.stall()).url.replace("http", "https")
    result = load(stalling, "--rate", "40", "--duration", "0.1", "--timeout", "0.2").result
    assert result["requests"]["timed_out_before_read"] == 4
    assert result["tls"]["failed"] == 0


@pytest.mark.parametrize(
    ("mangle", "failure"),
    [
        (lambda records: records[:-1], "closed-early"),
        (lambda records: records[:20_000], "closed-early"),
        (lambda records: records[:100] + bytes([records[100] ^ 1]) + records[101:], "tls-record"),
    ],
)
def test_truncated_or_damaged_records_fail_the_request(load, serve, certificates, mangle, failure):
    """Nothing that could not be decrypted counts as a reply."""

    def script(connection):
        tls = Records(connection.socket, certificates["ecdsa"])
        tls.read_request()
        connection.send(mangle(tls.records(REPLY)))

    result = ask_once(load, serve(script).url.replace("http", "https"))
    assert result["failures"] == {failure: 4}
    assert result["tls"]["handshakes"] == 4


@pytest.mark.parametrize("farewell", [True, False])
@pytest.mark.parametrize(
    ("field", "body", "alone"),
    [
        (b"Content-Length: 5\r\n", b"hello", True),
        (b"Transfer-Encoding: chunked\r\n", b"3;x\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", True),
        (b"", b"hello", False),
    ],
    ids=["length", "chunks", "close"],
)
def test_reply_that_says_its_end_needs_no_farewell_of_tls(
    load, serve, certificates, field, body, alone, farewell
):
    """One that ends with the connection does: it may have been cut off (RFC 9112, section 9.8)."""

    def script(connection):
        tls = Records(connection.socket, certificates["ecdsa"])
        tls.read_request()
        connection.send(tls.records(b"HTTP/1.1 200 OK\r\n" + field + b"\r\n" + body))
        connection.send(tls.farewell() if farewell else b"")

    url = serve(script).url.replace("http", "https")
    result = load(url, "--rate", "40", "--duration", "0.1").result
    if alone or farewell:
        assert result["requests"]["replied"] == 4
        assert [each["size_bytes"] for each in result["size_classes"]] == [5]
    else:
        assert result["failures"] == {"closed-early": 4}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((), None), (("--tls-name", "shop.test"), "shop.test")],
)
def test_server_name_is_asked_for_unless_it_is_an_address(load, serve, certificates, arguments, expected):
    """RFC 6066: an address is no server name."""
    asked = []

    def script(connection):
        tls = Records(connection.socket, certificates["ecdsa"])
        asked.append(tls.asked_name)
        tls.read_request()
        connection.send(tls.records(REPLY))

    ask_once(load, serve(script).url.replace("http", "https"), *arguments)
    assert asked == [expected] * 4


@pytest.mark.live
def test_merged_results_add_their_handshakes_up(load, merge, files, tmp_path, serve_tls, certificates):
    """Counts and histograms, also of two processes."""
    url = serve_tls(certificates["ecdsa"])
    arguments = ("--rate", "100", "--duration", "0.2", "--processes", "2", "--tls-resumed", "1")
    one = load(url + "/1", *arguments)
    file = tmp_path / "one.jsonl"
    file.write_text(one.stdout)
    merged = merge(file, file).result
    assert merged["tls"] == {name: 2 * count for name, count in one.result["tls"].items()}
    assert merged["latency_us"]["handshake"]["count"] == 2 * one.result["tls"]["handshakes"]
    assert merged["window"]["handshakes"] == 2 * one.result["window"]["handshakes"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--tls-ciphers", "x"), "--tls-ciphers: goes with --tls-version 1.2 or 1.3"),
        (
            ("--tls-version", "1.2", "--tls-ciphers", "x"),
            "--tls-ciphers x: expected names that OpenSSL",
        ),
        (("--tls-version", "1.3", "--tls-ciphers", "x"), "knows for TLS 1.3"),
        (("--tls-version", "1.1"), "--tls-version 1.1: expected any or 1.2 or 1.3"),
        (("--tls-resumed", "2"), "--tls-resumed 2: expected a share from 0 to 1"),
        (("--tls-ca", "/none"), "--tls-ca /none: expected a file of certificates in PEM form"),
    ],
)
def test_bad_option_is_refused_with_a_sentence(load, arguments, complaint):
    """Before anything is sent."""
    outcome = load("https://127.0.0.1:1/", "--rate", "1", "--duration", "1", *arguments, expect_status=2)
    assert complaint in outcome.stderr


def test_options_of_tls_want_https(load):
    """With http they would do nothing."""
    arguments = ("--rate", "1", "--duration", "1", "--tls-resumed", "1")
    assert "expected a --url that begins with https" in load("http://a/", *arguments, expect_status=2).stderr
