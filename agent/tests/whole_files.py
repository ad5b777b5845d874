"""Servers as people run them: sites to serve, what stands behind them, and probes of how they answer.

The files of the servers lie in `assets/whole/SERVER-CASE/`. Words between two @ stand for what each test has
of its own: its directory and ports. Case `default` is what the distribution installs, in `/etc`; of Apache
those of Debian's package lie here without their comments, because it serves as soon as it is installed.
"""

import hashlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parent / "assets" / "whole"
NAMES = ("a.example", "b.example")
LIMIT_S = 10.0
# Of when, and of which process; lighttpd offers parts of an upstream's reply if all of it has come in time.
_CHANGING = {"date", "age", "etag-server", "accept-ranges", "expires"}


@dataclass(frozen=True)
class Probe:
    """A request: at the port named `port`, for `host`, with TLS where the port is that for TLS."""

    port: str
    host: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def answer(self, address: str) -> dict[str, Any]:
        """What comes back: status, headers, the body's hash, and the hash of the certificate shown."""
        host, _, port = address.rpartition(":")
        certificate = None
        with socket.create_connection((host, int(port)), LIMIT_S) as plain:
            connection: socket.socket = plain
            if self.port == "TLS":
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                connection = context.wrap_socket(plain, server_hostname=self.host)
                certificate = hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()
            lines = [
                f"{'GET' if self.body is None else 'POST'} {self.path} HTTP/1.1",
                f"Host: {self.host}",
                "Connection: close",
                *(f"{name}: {value}" for name, value in self.headers),
                *([f"Content-Length: {len(self.body)}"] if self.body is not None else []),
            ]
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + (self.body or b""))
            reply = http.client.HTTPResponse(connection)
            reply.begin()
            body = reply.read()
            connection.close()
        said = sorted(
            (name.lower(), value.replace(f":{port}", ":PORT").removeprefix("W/"))
            for name, value in reply.getheaders()
        )
        return {
            "status": reply.status,
            "headers": [each for each in said if each[0] not in _CHANGING],
            "body": hashlib.sha256(re.sub(rf"(:|Port ){port}".encode(), b"PORT", body)).hexdigest(),
            "certificate": certificate,
        }


_GZIP = (("Accept-Encoding", "gzip"),)
_OF_PHP = (
    Probe("PORT", "php.example", "/"),
    Probe("PORT", "php.example", "/index.php?x=1"),
    Probe("PORT", "php.example", "/nice/address?y=2"),
    Probe("PORT", "php.example", "/style.css"),
    Probe("PORT", "php.example", "/.hidden"),
    Probe("PORT", "php.example", "/none.php"),
)
WITH_PHP = ("php", "prefork")
"""The cases with a pool of php-fpm behind the server."""
PROBES: Mapping[str, tuple[Probe, ...]] = {
    "default": (
        Probe("PORT", "any.example", "/page.html"),
        Probe("PORT", "any.example", "/style.css", _GZIP),
        Probe("PORT", "any.example", "/missing"),
        Probe("PORT", "any.example", "/private"),
        Probe("PORT", "any.example", "/page.html", (("If-Modified-Since", "Thu, 01 Jan 2037 00:00:00 GMT"),)),
    ),
    "tls": (
        Probe("PORT", "a.example", "/page.html?x=1"),
        Probe("TLS", "a.example", "/page.html"),
        Probe("TLS", "www.a.example", "/style.css", _GZIP),
        Probe("TLS", "a.example", "/missing"),
        Probe("TLS", "a.example", "/private/page.html"),
        Probe("TLS", "a.example", "/private/page.html", (("Authorization", "Basic YTpi"),)),
        Probe("TLS", "a.example", "/old.bak"),
        Probe("TLS", "b.example", "/page.html"),
        Probe("TLS", "b.example", "/style.css", _GZIP),
    ),
    "proxy": (
        Probe("PORT", "app.example", "/api/one?x=1"),
        Probe("PORT", "app.example", "/api/one?x=2"),
        Probe("PORT", "app.example", "/api/two", body=b"a=1"),
        Probe("PORT", "app.example", "/cached/x"),
        Probe("PORT", "app.example", "/static/style.css"),
        Probe("PORT", "app.example", "/static/none"),
    ),
    "php": _OF_PHP,
    "prefork": _OF_PHP,
    "worker": (
        Probe("PORT", "a.example", "/page.html"),
        Probe("PORT", "a.example", "/style.css"),
        Probe("PORT", "a.example", "/missing"),
    ),
}


_PLACES = {
    "/etc/nginx": "@DIR@",
    "/etc/lighttpd": "@DIR@",
    "/var/www/html": "@DIR@/www/a.example",
    "/var/www": "@DIR@/www/a.example",
    "/var/log/\\w+": "@DIR@/run",
    "/var/cache/lighttpd/uploads": "@DIR@/run",
    r"/run/(?=\w+\.pid)": "@DIR@/run/",
    r"\$\{APACHE_(RUN|LOG|LOCK)_DIR\}": "@DIR@/run",
    r"\$\{APACHE_PID_FILE\}": "@DIR@/run/apache2.pid",
    r"\$\{APACHE_RUN_(USER|GROUP)\}": "nobody",
    "Group nobody": "Group nogroup",
    "DefaultRuntimeDir": 'ServerRoot "@DIR@"\nDefaultRuntimeDir',
    'debian-h2o|www-data(?=")': "nobody",
    "load_module modules/": "load_module /usr/share/nginx/modules/",
    "user www-data;": "user nobody nogroup;",
    'groupname( +)= "nobody"': 'groupname\\1= "nogroup"',
    r"server\.port( +)= 80": 'server.port\\1= @PORT@\nserver.bind = "127.0.0.1"',
    r"listen 80": "listen 127.0.0.1:@PORT@",
    r"listen \[::\]:80": "listen [::1]:@PORT@",
    r"port: 80": "{host: 127.0.0.1, port: @PORT@}",
    r"Listen 80": "Listen 127.0.0.1:@PORT@",
    r"\*:80": "*:@PORT@",
    "/etc/mime.types": "/dev/null",
}
"""What the test has of its own in place of what production has."""


def _defaults(directory: Path, server: str) -> Iterator[tuple[Path, str]]:
    """The distribution's files of a server, by where they are to lie; raises FileNotFoundError."""
    source = ASSETS / "apache-default" if server == "apache" else Path("/etc") / server
    for file in sorted(source.rglob("*")):
        if file.is_file() and not file.is_relative_to(source / "sites-available"):
            text = file.read_text(errors="replace")
            for production, own in _PLACES.items():
                text = re.sub(production, own, text)
            yield directory / file.relative_to(source), text
    if not source.is_dir():
        raise FileNotFoundError(source)


def written(directory: Path, server: str, case: str, words: Mapping[str, object]) -> None:
    """Puts the files of a server there, with their words filled in, sites to serve and certificates."""
    source = ASSETS / f"{server}-{case}"
    files = (
        (directory / each.relative_to(source), each.read_text())
        for each in source.rglob("*")
        if each.is_file()
    )
    for own, said in _defaults(directory, server) if case == "default" else files:
        text = said
        for word, value in words.items():
            text = text.replace(f"@{word}@", str(value))
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(text)
    for name in NAMES:
        site = directory / "www" / name
        (site / "private").mkdir(parents=True)
        for page in ("page.html", "missing.html", "old.bak", "private/page.html"):
            (site / page).write_text(f"<p>{page} of {name}</p>\n")
        (site / "style.css").write_text("p { color: black }\n" * 40)
        if case == "tls":
            _certificate(directory, name)
    (directory / "users").write_text("a:{SHA}6dRL/pByYpEKrfS8hbMSqmF4G/Y=\n")  # password b
    php = directory / "www" / "php.example"
    php.mkdir()
    (php / "index.php").write_text(
        "<?php header('X-App: php'); echo json_encode($_GET), $_SERVER['REQUEST_URI'];"
    )
    shutil.copy(directory / "www" / "a.example" / "style.css", php)
    (php / ".hidden").write_text("hidden\n")


def _certificate(directory: Path, name: str) -> None:
    """A certificate of its own for a name; its key is for its owner alone."""
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-subj /CN={name} -keyout {directory}/{name}.key -out {directory}/{name}.crt"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    (directory / f"{name}.key").chmod(0o600)
    key, certificate = ((directory / f"{name}{ending}").read_text() for ending in (".key", ".crt"))
    both = directory / f"{name}.pem"
    both.touch(mode=0o600)
    both.write_text(key + certificate)


class _App(BaseHTTPRequestHandler):
    """An application behind a proxy, which tells what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The request as JSON; without what differs from one instance of the proxy to another."""
        length = int(self.headers.get("Content-Length", 0))
        asked = {
            "line": self.requestline,
            "host": self.headers["Host"].partition(":")[0],
            "proto": self.headers.get("X-Forwarded-Proto"),
            "body": self.rfile.read(length).decode(),
        }
        body = json.dumps(asked).encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the names are those of the base class

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def application() -> Iterator[int]:
    """The application, at the port that is given."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _App) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
