"""Asks the server once for every file, so that each trial starts with the same filled caches.

HEAD requests, many at a time on a persistent connection: the server opens every file and builds its header,
but sends no content, which the page cache holds already; under a memory limit a process in the server's
memory group reads the content first.  With several workers, the one that accepts the connection is warmed;
the others open each file once on their own, which costs microseconds.

A database reads all of its tables and indexes once, as far as its memory holds them.
"""

import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pymysql
from trimtab_tuner.workloads import shop

from trimtab_agent.station.memory_group import MemoryGroup
from trimtab_agent.station.processes.children import Child
from trimtab_agent.station.server.status_query import StatusQuery
from trimtab_agent.stopping import Stopped, StopSignal

BATCH = 64
TIMEOUT_S = 10.0
TABLES_LIMIT_S = 120.0
WAIT_S = 60.0  # for a stop or the reader's end, whichever comes first; then again
HEAD_END = b"\r\n\r\n"


class WarmingFailed(Exception):
    """The server did not answer 200 for a file but `status`, or stopped answering."""

    def __init__(self, sentence: str, status: str = "") -> None:
        super().__init__(sentence)
        self.status = status


def read_in_group(root: Path, group: MemoryGroup, cpus: Sequence[int], log: Path, stop: StopSignal) -> None:
    """Reads every file under `root` once, by a process in the group, so that their pages are charged to it.

    Raises WarmingFailed or Stopped.
    """
    command = ("sh", "-c", 'find "$0" -type f -exec cat {} + >/dev/null', str(root))
    with Child(command, cpus=cpus, log=log, prefix=group.join_command) as reader:
        while reader.exit_code is None:
            if stop.wait(WAIT_S, reader) and stop.requested:
                raise Stopped
        if reader.exit_code != 0:
            raise WarmingFailed(reader.death_sentence())


def warm(address: str, port: int, paths: Sequence[str], stop: StopSignal, *, secure: bool = False) -> None:
    """One pass over `paths` (URL paths); raises WarmingFailed at the first wrong answer, or Stopped.

    `secure`: over TLS, whatever the certificate.

    A server that closes the connection after so many requests (Apache's MaxKeepAliveRequests) gets another.
    """
    answered = 0
    while answered < len(paths):
        try:
            with _connected(address, port, secure=secure) as connection:
                before = answered
                answered += _warm_connection(connection, address, paths[answered:], stop)
        except OSError as error:
            raise WarmingFailed(f"the server stopped answering: {error}") from error
        if answered == before:
            raise WarmingFailed("the server closed the connection")


def warm_tables(server: StatusQuery) -> None:
    """Has a database read its tables; raises WarmingFailed."""
    try:
        server.carry_out(shop.WARMING, TABLES_LIMIT_S)
    except (pymysql.MySQLError, OSError) as error:
        raise WarmingFailed(f"the server did not read its tables: {error}") from error


def _connected(address: str, port: int, *, secure: bool) -> socket.socket:
    connection = socket.create_connection((address, port), TIMEOUT_S)
    if not secure:
        return connection
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return context.wrap_socket(connection)
    except OSError:
        connection.close()
        raise


def _warm_connection(connection: socket.socket, address: str, paths: Sequence[str], stop: StopSignal) -> int:
    """How many of `paths` the server answers on this connection before it closes it."""
    answered = 0
    while answered < len(paths):
        if stop.requested:
            raise Stopped
        batch = paths[answered : answered + BATCH]
        try:
            connection.sendall(b"".join(_request(address, path) for path in batch))
            statuses = _statuses(connection, len(batch))
        except ConnectionError:  # closed while requests were on their way
            break
        for path, status in zip(batch, statuses, strict=False):
            if status != "200":
                raise WarmingFailed(f"the server answered {status} for {path}", status)
        answered += len(statuses)
        if len(statuses) < len(batch):
            break
    return answered


def _request(address: str, path: str) -> bytes:
    return f"HEAD {path} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()


def _statuses(connection: socket.socket, count: int) -> list[str]:
    """The status codes of `count` replies, which have no bodies; fewer if the server closes before."""
    received = b""
    with suppress(ConnectionResetError):  # what came before the reset counts
        while received.count(HEAD_END) < count and (chunk := connection.recv(1 << 16)):
            received += chunk
    return [head.split(b" ", 2)[1].decode() for head in received.split(HEAD_END)[:-1]]
