"""Requests of our own reach the server that they are meant for, whatever the weights are."""

import http.server
import os
import socket
import ssl
import subprocess
import threading
from contextlib import ExitStack, closing

import pytest
from trimtab_agent.live.direct import Line, NoAnswer
from trimtab_agent.live.listening import listeners_of
from trimtab_agent.live.steering import SharedPort


class Numbered(http.server.ThreadingHTTPServer):
    """Answers every request with its number, on a socket that was opened for it."""

    def __init__(self, number, listener):
        super().__init__(listener.getsockname()[:2], None, bind_and_activate=False)
        self.socket.close()
        self.socket, self.number = listener, number
        listener.setblocking(True)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self.thread.start()

    def finish_request(self, request, client_address):
        """Keeps the connection, as servers do."""
        number = self.number

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(503 if self.path == "/bad" else 200)
                self.send_header("Content-Length", "1")
                self.end_headers()
                self.wfile.write(str(number).encode())

            def log_message(self, *_):
                pass

        Handler(request, client_address, self)

    def end(self):
        """Ends it."""
        self.shutdown()
        self.thread.join()
        self.server_close()


@pytest.fixture
def three(migrating):
    """Three servers on one port; the public is sent to production alone. Where they listen, and its port."""
    with ExitStack() as opened:

        def start(host):
            production = socket.create_server(
                (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=64
            )
            listener = next(
                each for each in listeners_of(os.getpid()) if each.descriptor == production.fileno()
            )
            shared = SharedPort(os.getpid(), listener)
            for number, each in enumerate([production, shared.open(), shared.open()]):
                opened.callback(Numbered(number, each).end)
            return listener, shared

        yield start


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "::"])  # noqa: S104 - for a moment
@pytest.mark.kernel
def test_line_reaches_the_server_of_its_index_and_the_public_the_one_that_has_the_weight(host, three):
    """In both families, and where it listens everywhere; on one connection after the other."""
    listener, shared = three(host)
    for weights in ((), (0.0, 1.0), (0.5, 0.5)):
        shared.weigh(weights)
        for index in (2, 0, 1, 2):
            with closing(Line(listener, index)) as line:
                assert [line.get("/") for _ in range(3)] == [(200, str(index).encode())] * 3
    shared.weigh((1.0,))
    address = f"[{host}]" if ":" in host else host
    said = subprocess.run(
        ["curl", "-s", f"http://{address}:{listener.port}/"], capture_output=True, check=True
    )
    assert said.stdout == b"1"


def test_line_to_a_port_where_nobody_listens_says_so():
    """And to no server that there cannot be."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        (listener,) = (each for each in listeners_of_self() if each.descriptor == gone.fileno())
    with pytest.raises(NoAnswer, match=r"127\.0\.0\.1:\d+ /x: "):
        Line(listener).get("/x")
    with pytest.raises(ValueError, match="expected one of 4"):
        Line(listener, 4)


def listeners_of_self():
    """Of this process."""
    return listeners_of(os.getpid())


def test_line_finds_out_that_a_server_speaks_tls(tmp_path):
    """Whoever its certificate is for."""
    names = ("-subj", "/CN=x", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        (listener,) = (each for each in listeners_of_self() if each.descriptor == listening.fileno())
        server = Numbered(7, context.wrap_socket(listening, server_side=True))
        try:
            with closing(Line(listener)) as line:
                assert line.get("/") == (200, b"7")
                assert line.get("/bad") == (503, b"7")
        finally:
            server.end()
