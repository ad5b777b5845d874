"""HTTP/2: streams of a session, what fails on a stream and on a connection, and real servers.

The server is the real nginx, or a script that speaks through the library h2, which checks what the generator
sends.
"""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, RequestReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes
from trimtab_tuner.workloads.content import file_content

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
ONE = ("--rate", "10", "--duration", "0.1", "--timeout", "30")
"""One session."""
SIZES = (0, 1, 16_384, 100_001, 8_000_000)
"""The last one is more than the window of a stream, and twice that more than that of a connection."""


@dataclass(frozen=True)
class Asked:
    """A request as the server read it, and its stream."""

    stream: int
    method: str
    path: str
    fields: dict[str, str]


@dataclass
class Peer:
    """The server's end of a connection, for scripts."""

    connection: Any
    limit: int = 100
    asked: list[Asked] = field(default_factory=list)
    """Whose END_STREAM has come."""
    reset: list[int] = field(default_factory=list)
    left: bool = False
    """The client has sent GOAWAY."""

    def __post_init__(self) -> None:
        self._begun: dict[int, Asked] = {}
        self.h2 = H2Connection(H2Configuration(client_side=False))
        self.h2.local_settings = self.h2.local_settings.__class__(
            client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: self.limit}
        )
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        """Sends what is to be sent."""
        self.connection.send(self.h2.data_to_send())

    def read(self) -> bool:
        """Takes what comes next. Returns False at the end of the stream."""
        data = self.connection.socket.recv(65536)
        for event in self.h2.receive_data(data) if data else ():
            if isinstance(event, RequestReceived):
                fields = {_text(name): _text(value) for name, value in event.headers}
                self._begun[event.stream_id] = Asked(
                    event.stream_id, fields[":method"], fields[":path"], fields
                )
            elif isinstance(event, StreamEnded):
                self.asked.append(self._begun[event.stream_id])
            elif isinstance(event, StreamReset):
                self.reset.append(event.stream_id)
            elif isinstance(event, ConnectionTerminated):
                self.left = True
        self.flush()
        return bool(data)

    def await_asked(self, count: int) -> list[Asked]:
        """The first requests, when so many have been asked; what there is at the end of the stream."""
        while len(self.asked) < count and self.read():
            pass
        return self.asked

    def until_end(self) -> None:
        """Reads until the client closes."""
        while self.read():
            pass

    def reply(
        self, asked: Asked, body: bytes = b"1234567890", announced: int | None = None, **fields: str
    ) -> None:
        """A whole reply that announces so many bytes, those of the body if nothing is said."""
        head = {":status": "200", "content-length": str(len(body) if announced is None else announced)}
        head |= {name.replace("_", "-"): value for name, value in fields.items()}
        self.h2.send_headers(asked.stream, list(head.items()), end_stream=not body)
        if body:
            self.h2.send_data(asked.stream, body, end_stream=True)
        self.flush()


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def answering(peer: Peer) -> None:
    """Answers one request after the other."""
    done = 0
    while len(peer.await_asked(done + 1)) > done:
        peer.reply(peer.asked[done])
        done += 1


@pytest.fixture
def serve_h2(serve: Callable[..., Any]) -> Callable[..., Any]:
    """Starts a scripted server; a script gets the Peer of each connection."""

    def start(script: Callable[[Peer], None], **options: Any) -> Any:
        return serve(lambda connection: script(Peer(connection, **options)))

    return start


@pytest.fixture
def ask(load: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Runs trimtab-load over HTTP/2 and returns its result."""

    def run(url: str, *arguments: str, mode: str = "open") -> dict[str, Any]:
        return dict(load(url, "--http=2", *arguments, mode=mode).result)

    return run


def cells(result: dict[str, Any]) -> dict[str, int]:
    """The cells of the requests that are not zero."""
    return {name: n for name, n in result["requests"].items() if n and name != "offered"}


# --- streams ---------------------------------------------------------------------------------


BURSTS = "/page size=10\n /a size=10\n /b size=10\n /c size=10\n/next size=10\n"


def test_burst_runs_at_once_behind_its_first_request(ask, serve_h2, write_log):
    """The first request of a burst goes alone, the others at once, and the next burst after all replies."""
    seen: list[list[str]] = []

    def script(peer: Peer) -> None:
        done = 0
        for count in (1, 3, 1):
            peer.await_asked(done + count)
            seen.append([asked.path for asked in peer.asked[done:]])
            for asked in reversed(peer.asked[done:]):  # replies need not keep the order of the requests
                peer.reply(asked)
            done += count
        peer.until_end()

    result = ask(serve_h2(script).url, *ONE, "--sessions", write_log(BURSTS))
    assert seen == [["/page"], ["/a", "/b", "/c"], ["/next"]]
    assert cells(result) == {"replied": 5}
    assert result["http2"] == {"streams": 5, "most_streams": 3, "reset": 0, "goaways": 0, "asked_again": 0}
    assert result["sessions"]["completed"] == 1


def test_no_more_streams_than_asked_for_are_under_way(ask, serve_h2, write_log):
    """With --streams=2 the third request of a burst waits for the reply to one of two."""
    seen: list[int] = []

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(3)
        seen.append(len(peer.asked))
        peer.reply(peer.asked[1])
        peer.await_asked(4)
        seen.append(len(peer.asked))
        for asked in peer.asked[2:]:
            peer.reply(asked)
        peer.reply(peer.await_asked(5)[4])
        peer.until_end()

    result = ask(serve_h2(script).url, *ONE, "--streams=2", "--sessions", write_log(BURSTS))
    assert seen == [3, 4]
    assert cells(result) == {"replied": 5}
    assert result["http2"]["most_streams"] == 2


def test_pauses_lie_between_requests_of_a_burst(ask, serve_h2, write_log):
    """A request follows the one before after its pause, not after its reply."""
    log = write_log("/page think=0.2\n /a think=0.2\n /b\n")
    result = ask(serve_h2(answering).url, *ONE, "--sessions", log)
    assert cells(result) == {"replied": 3}
    assert result["elapsed_s"] >= 0.4


def test_server_limits_streams(ask, serve_h2):
    """A server that allows three streams gets no more at once, and all requests in the end."""

    def script(peer: Peer) -> None:
        answering(peer)

    result = ask(serve_h2(script, limit=3).url, *ONE, "--session-requests=40")
    assert cells(result) == {"replied": 40}


@pytest.mark.live
def test_closed_loop_keeps_streams_busy(ask, serve_h2):
    """An endless session has as many requests under way as it is told, and ends with their replies."""
    result = ask(
        serve_h2(answering).url,
        *("--connections=2", "--streams=7", "--duration=0.3", "--timeout=5"),
        mode="closed",
    )
    assert result["http2"]["most_streams"] == 7
    assert cells(result) == {"replied": result["requests"]["offered"]}
    assert result["requests"]["offered"] > 14
    assert result["sessions"]["completed"] == 2


def test_methods_and_conditions(ask, serve_h2, write_log):
    """HEAD has no body, POST sends one, and a tag that was learnt is sent along."""
    asked: list[Asked] = []

    def script(peer: Peer) -> None:
        for number in range(4):
            request = peer.await_asked(number + 1)[number]
            asked.append(request)
            if "if-none-match" in request.fields:
                peer.h2.send_headers(request.stream, [(":status", "304")], end_stream=True)
                peer.flush()
            elif request.method == "HEAD":
                peer.h2.send_headers(
                    request.stream, [(":status", "200"), ("content-length", "10")], end_stream=True
                )
                peer.flush()
            else:
                peer.reply(request, etag='"tag"')
        peer.until_end()

    log = write_log("/a size=10\n/a size=10\n/h method=HEAD size=10\n/p method=POST contents='name=value'\n")
    result = ask(serve_h2(script).url, *ONE, "--sessions", log, "--conditional-share=1")
    assert [(request.method, request.path) for request in asked] == [
        ("GET", "/a"),
        ("GET", "/a"),
        ("HEAD", "/h"),
        ("POST", "/p"),
    ]
    assert asked[1].fields["if-none-match"] == '"tag"'
    assert cells(result) == {"replied": 4}
    assert result["replies"]["by_status"] == {"200": 3, "304": 1}


def test_client_takes_leave(ask, serve_h2):
    """Where connections end with FIN, the server is told before."""
    left = threading.Event()

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.until_end()
        if peer.left:
            left.set()

    ask(serve_h2(script).url, *ONE)
    assert left.wait(30)


# --- what goes wrong on a stream --------------------------------------------------------------


def resets(peer: Peer, asked: Asked) -> None:
    """Breaks the stream off within the body."""
    peer.h2.send_headers(asked.stream, [(":status", "200"), ("content-length", "10")])
    peer.h2.send_data(asked.stream, b"123")
    peer.h2.reset_stream(asked.stream, ErrorCodes.INTERNAL_ERROR)
    peer.flush()


def refuses(peer: Peer, asked: Asked) -> None:
    """Takes no stream."""
    peer.h2.reset_stream(asked.stream, ErrorCodes.REFUSED_STREAM)
    peer.flush()


def ends_early(peer: Peer, asked: Asked) -> None:
    """Ends the stream three bytes too soon."""
    peer.reply(asked, b"1234567", announced=10)


def sends_too_much(peer: Peer, asked: Asked) -> None:
    """Sends more than it announces."""
    peer.reply(asked, b"1234567890123", announced=10)


def another_length(peer: Peer, asked: Asked) -> None:
    """Announces and sends another length than the log expects."""
    peer.reply(asked, b"123456")


def an_error(peer: Peer, asked: Asked) -> None:
    """Answers with an error."""
    peer.h2.send_headers(asked.stream, [(":status", "503"), ("content-length", "0")], end_stream=True)
    peer.flush()


def no_status(peer: Peer, asked: Asked) -> None:
    """Sends a head that is none."""
    peer.h2.send_headers(asked.stream, [("content-length", "10")], end_stream=True)
    peer.flush()


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        (resets, "rst-stream-INTERNAL_ERROR"),
        (refuses, "rst-stream-REFUSED_STREAM"),
        (ends_early, "closed-early"),
        (sends_too_much, "unexpected-data"),
        (another_length, "wrong-length"),
        (an_error, "status-503"),
        (no_status, "malformed-head"),
    ],
)
def test_failure_of_a_stream_is_its_own(ask, serve, write_log, misbehave, reason):
    """The request fails for that reason, and the session goes on over the same connection."""

    def script(connection: Any) -> None:
        peer = Peer(connection)
        peer.h2.config.validate_outbound_headers = False
        for number in range(3):
            asked = peer.await_asked(number + 1)[number]
            (misbehave if number == 1 else Peer.reply)(peer, asked)
        peer.until_end()

    log = write_log("/a size=10\n/b size=10\n/c size=10\n")
    result = ask(serve(script).url, *ONE, "--sessions", log)
    assert cells(result) == {"replied": 2, "failed": 1}
    assert result["failures"] == {reason: 1}
    assert result["sessions"]["failed"] == 1
    assert result["sessions"]["reopened"] == 0


def test_wrong_contents_are_found_on_their_stream(ask, serve_h2, write_log):
    """Of two replies at once, cut into frames that alternate, the one with a wrong byte is found."""
    contents = {path: file_content(path, 5000) for path in ("/a", "/b")}
    contents["/b"] = contents["/b"][:4321] + b"!" + contents["/b"][4322:]

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(3)
        for asked in peer.asked[1:]:
            peer.h2.send_headers(asked.stream, [(":status", "200"), ("content-length", "5000")])
        for begin in range(0, 5000, 1000):
            for asked in peer.asked[1:]:
                part = contents[asked.path][begin : begin + 1000]
                peer.h2.send_data(asked.stream, part, end_stream=begin == 4000)
        peer.flush()
        peer.until_end()

    log = write_log("/page method=HEAD\n /a size=5000\n /b size=5000\n")
    result = ask(serve_h2(script).url, *ONE, "--sessions", log, "--verify=all")
    assert result["failures"] == {"unexpected-data": 1, "wrong-content": 1}  # a body after HEAD is one, too
    assert cells(result) == {"replied": 1, "failed": 2}


def test_session_timeout_takes_every_stream(ask, serve_h2, write_log):
    """Each request under way is counted as timed out, and the next burst as abandoned."""

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(4)
        peer.reply(peer.asked[1])
        peer.connection.stall()

    log = write_log(BURSTS)
    result = ask(serve_h2(script).url, *ONE[:-1], "5", "--sessions", log)
    assert cells(result) == {"replied": 2, "timed_out_after_read": 2, "abandoned": 1}
    assert result["sessions"]["timed_out"] == 1


def test_server_that_answers_nobody_has_read_nothing(ask, serve_h2):
    """Its settings alone, which it sends without having read, do not count as an answer."""
    result = ask(serve_h2(lambda peer: peer.connection.stall()).url, *ONE[:-1], "0.3")
    assert cells(result) == {"timed_out_before_read": 1}


@pytest.mark.live
def test_closed_loop_gives_up_a_stream_alone(ask, serve_h2):
    """A request that is never answered times out and is cancelled; others of the connection go on."""
    cancelled: list[int] = []
    ended = threading.Event()

    def script(peer: Peer) -> None:
        done = 1  # the second request stays without a reply
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(2)
        while len(peer.await_asked(done + 2)) > done + 1:
            peer.reply(peer.asked[done + 1])
            done += 1
        cancelled.extend(peer.reset)
        ended.set()

    result = ask(
        serve_h2(script).url,
        *("--connections=1", "--streams=3", "--duration=2", "--timeout=1.5"),
        mode="closed",
    )
    assert result["requests"]["timed_out_after_read"] == 1
    assert result["requests"]["replied"] == result["requests"]["offered"] - 1 > 10
    assert ended.wait(30)
    assert len(cancelled) == 1
    assert result["sessions"]["timed_out"] == 1  # a session with a request that did


# --- what goes wrong on a connection ----------------------------------------------------------


def test_leaving_server_loses_no_request(ask, serve_h2, write_log):
    """After GOAWAY what the server takes ends there, and the rest is asked on a new connection."""
    served: list[list[str]] = []

    def script(peer: Peer) -> None:
        first = len(served) == 0
        served.append([])
        peer.reply(peer.await_asked(1)[0])
        served[-1].append(peer.asked[0].path)
        if first:
            peer.await_asked(4)
            peer.h2.close_connection(last_stream_id=peer.asked[1].stream)
            peer.flush()
            head = [(":status", "200"), ("content-length", "10")]
            # The library sends nothing after GOAWAY; the frames are written by hand.
            encoded = peer.h2.encoder.encode(head)
            stream = peer.asked[1].stream.to_bytes(4, "big")
            peer.connection.send(len(encoded).to_bytes(3, "big") + b"\1\4" + stream + encoded)
            peer.connection.send((10).to_bytes(3, "big") + b"\0\1" + stream + bytes(10))
            served[-1].append(peer.asked[1].path)
            while peer.connection.socket.recv(65536):
                pass
            return
        done = 1
        while len(peer.await_asked(done + 1)) > done:
            peer.reply(peer.asked[done])
            served[-1].append(peer.asked[done].path)
            done += 1

    result = ask(serve_h2(script).url, *ONE, "--sessions", write_log(BURSTS))
    assert served[0] == ["/page", "/a"]
    assert sorted(served[1][:2]) == ["/b", "/c"]
    assert served[1][2:] == ["/next"]
    assert cells(result) == {"replied": 5}
    assert result["http2"]["goaways"] == 1
    assert result["http2"]["asked_again"] == 2
    assert result["sessions"]["reopened"] == 1
    assert result["sessions"]["completed"] == 1


def leaves_in_anger(peer: Peer) -> None:
    """GOAWAY with an error."""
    peer.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
    peer.flush()
    peer.connection.stall()


def closes(_peer: Peer) -> None:
    """Closes without a word."""


def breaks_the_protocol(peer: Peer) -> None:
    """A frame of data on the stream of the connection."""
    peer.connection.send(b"\0\0\1\0\0\0\0\0\0!")
    peer.connection.stall()


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        (leaves_in_anger, "goaway-ENHANCE_YOUR_CALM"),
        (closes, "closed-early"),
        (breaks_the_protocol, "http2-protocol"),
    ],
)
def test_failure_of_a_connection_takes_every_stream(ask, serve_h2, write_log, misbehave, reason):
    """The requests under way fail for that reason, and the rest of the session is abandoned."""

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(4)
        misbehave(peer)

    result = ask(serve_h2(script).url, *ONE, "--sessions", write_log(BURSTS))
    assert cells(result) == {"replied": 1, "failed": 3, "abandoned": 1}
    assert result["failures"] == {reason: 3}
    assert result["sessions"]["failed"] == 1


def test_server_of_http_1_is_told_apart(ask, serve):
    """What comes is no HTTP/2: a reply of HTTP/1."""

    def script(connection: Any) -> None:
        connection.socket.recv(1)
        connection.reply()
        connection.stall()

    assert ask(serve(script).url, *ONE)["failures"] == {"http2-protocol": 1}


def test_server_that_does_not_choose_http2_is_told_apart(ask, serve, tmp_path):
    """Over TLS, a server without ALPN."""
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "own.pem"))
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    subprocess.run([*command, "-subj", "/CN=x", "-days", "1", *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", tmp_path / "key.pem")

    def script(connection: Any) -> None:
        with context.wrap_socket(connection.socket, server_side=True) as secured:
            secured.recv(1)

    result = ask(serve(script).url.replace("http:", "https:"), *ONE)
    assert result["failures"] == {"no-http2": 1}
    assert result["tls"]["failed"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--http=2", "--connection=close"),
        ("--http=2", "--slow-share=0.5"),
        ("--streams=4",),
        ("--http=2", "--streams=0"),
    ],
)
def test_what_means_nothing_over_http2_is_refused(load, arguments):
    """A sentence names the option."""
    outcome = load("http://127.0.0.1:1", *ONE, *arguments, expect_status=2)
    assert arguments[-1].partition("=")[0] in outcome.stderr


# --- a real server ---------------------------------------------------------------------------

CONFIGURATION = """
daemon off; user {user}; pid "{home}/nginx.pid"; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path "{home}/body"; proxy_temp_path "{home}/proxy"; fastcgi_temp_path "{home}/fastcgi";
    uwsgi_temp_path "{home}/uwsgi"; scgi_temp_path "{home}/scgi";
    server {{ listen 127.0.0.1:{port} http2{secured}; {settings} root "{home}"; }}
}}
"""


@pytest.fixture
def serve_nginx(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts an nginx that serves tmp_path over HTTP/2, with TLS if asked for; returns its URL."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    running: list[subprocess.Popen[bytes]] = []

    def start(*, secured: bool, settings: str = "") -> str:
        if secured:
            files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "own.pem"))
            kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
            command = ["openssl", "req", "-x509", "-nodes", *kind, "-subj", "/CN=x", "-days", "1", *files]
            subprocess.run(command, check=True, capture_output=True)
            settings += f'ssl_certificate "{tmp_path}/own.pem"; ssl_certificate_key "{tmp_path}/key.pem";'
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            file = tmp_path / f"nginx{port}.conf"
            file.write_text(
                CONFIGURATION.format(
                    home=tmp_path,
                    user=getuser(),
                    port=port,
                    secured=" ssl" if secured else "",
                    settings=settings,
                )
            )
            running.append(
                subprocess.Popen(
                    [NGINX, "-e", "stderr", "-p", tmp_path, "-c", file],
                    pass_fds=[listener.fileno()],
                    env={"NGINX": f"{listener.fileno()};"},
                )
            )
        return f"http{'s' if secured else ''}://127.0.0.1:{port}"

    yield start
    for server in running:
        server.terminate()
    for server in running:
        server.wait()


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.live
def test_nginx_serves_every_byte(ask, serve_nginx, tmp_path, write_log, secured):
    """Files of any size, several at once, larger ones than the windows: every byte is what it should be."""
    for size in SIZES:
        (tmp_path / f"{size}.bin").write_bytes(file_content(f"/{size}.bin", size))
    log = write_log("/1.bin size=1\n" + "".join(f" /{size}.bin size={size}\n" for size in SIZES) * 2)
    result = ask(
        serve_nginx(secured=secured),
        *("--rate=220", "--duration=0.1", "--timeout=30", "--sessions", log, "--verify=all"),
    )
    assert cells(result) == {"replied": 22}
    assert result["replies"]["verified"] == 18  # the empty ones have no content
    assert result["http2"]["most_streams"] >= 5
    assert result["tls"]["handshakes"] == (2 if secured else 0)


@pytest.mark.live
def test_nginx_that_leaves_often_loses_nothing(ask, serve_nginx, tmp_path):
    """With 20 requests a connection and three streams at once every request is answered in the end."""
    (tmp_path / "a.bin").write_bytes(bytes(100))
    url = serve_nginx(secured=False, settings="keepalive_requests 20; http2_max_concurrent_streams 3;")
    result = ask(
        url + "/a.bin",
        *("--connections=4", "--streams=10", "--duration=0.5", "--timeout=10"),
        mode="closed",
    )
    assert cells(result) == {"replied": result["requests"]["offered"]}
    # A session may end just as the server leaves.
    assert (
        4 < result["sessions"]["reopened"] <= result["http2"]["goaways"] <= result["sessions"]["reopened"] + 4
    )
    assert result["http2"]["asked_again"] > 0
