"""Statements for a MariaDB server: the real one, and scripts that misbehave as it would."""

import shutil
import socket
import struct
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest
from trimtab_tuner.workloads import shop as book_shop
from trimtab_tuner.workloads.session_log import Request, write_session_log

from .conftest import cells

SCHEMA = """\
CREATE DATABASE plain;
CREATE USER trimtab@'%';
GRANT ALL ON plain.* TO trimtab@'%';
CREATE USER known@'%' IDENTIFIED BY 'secret';
CREATE TABLE plain.item (id INT PRIMARY KEY, title CHAR(60), stock INT) ENGINE=InnoDB;
INSERT INTO plain.item SELECT seq, LPAD(seq, 60, 'x'), 10 FROM plain_numbers;
"""
GREETING = b"\x06\0\0\0\x0a10.11"
ADMISSION = b"\x07\0\0\x02\0\0\0\2\0\0\0"
ONE_ROW = b"\1\0\0\1\1\x05\0\0\2\3def\0\2\0\0\3\x011\x07\0\0\4\xfe\0\0\2\0\0\0"
ITEMS = 10_000
TEN_SESSIONS = ("--rate", "20", "--duration", "0.5", "--timeout", "30")
ONE_STATEMENT = '/one contents="SELECT 1" size=2 rows=1\n'


def found(program):
    """The path of a program of the system; skips the test where it is not installed."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory):
    """Runs a server of its own on a private data directory; the port, and a way to ask it something."""
    folder = tmp_path_factory.mktemp("mariadb")
    data, at = folder / "data", folder / "server.sock"
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    made = subprocess.run(
        [
            found("mariadb-install-db"),
            "--no-defaults",
            "--user=root",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    log = (folder / "server.log").open("w")
    server = subprocess.Popen(
        [
            found("mariadbd"),
            "--no-defaults",
            "--user=root",
            f"--datadir={data}",
            f"--socket={at}",
            "--bind-address=127.0.0.1",
            f"--port={port}",
        ],
        stderr=log,
    )

    def ask(statements):
        """What the server's own client prints."""
        command = [found("mariadb"), "--no-defaults", f"--socket={at}", "--user=root", "--batch", "-N"]
        return subprocess.run(
            command, input=statements, capture_output=True, text=True, check=True, timeout=30
        ).stdout

    deadline_s = monotonic() + 30
    while not at.exists():
        assert server.poll() is None, Path(log.name).read_text()
        assert monotonic() < deadline_s
        sleep(0.02)
    numbers = " UNION ALL ".join(f"SELECT {number} AS seq" for number in range(1, 101))
    ask(SCHEMA.replace("plain_numbers", f"({numbers}) AS numbers"))
    yield port, ask
    server.terminate()
    server.wait(timeout=30)
    log.close()


@pytest.mark.live
def test_interactions_are_answered_and_their_rows_counted(mariadb, load, write_log):
    """Statements one after the other, sent, found and changed rows; nobody is broken off at the end."""
    port, ask = mariadb
    ask("FLUSH STATUS; UPDATE plain.item SET stock = 10;")
    log = write_log(
        '/home contents="SELECT title FROM item WHERE id=7; '
        "SELECT id, title FROM item WHERE title='x' OR id BETWEEN 10 AND 19\" size=701 rows=11 think=0.01\n"
        '/buy contents="BEGIN; UPDATE item SET stock=stock-1 WHERE id=5; COMMIT" size=0 rows=1\n'
    )
    url = f"mariadb://trimtab@127.0.0.1:{port}/plain"
    result = load(url, *TEN_SESSIONS, "--sessions", log, "--close", "reset").result
    assert cells(result) == {"replied": 10}
    assert [(each["size_bytes"], each["replied"]) for each in result["size_classes"]] == [(0, 5), (701, 5)]
    assert result["replies"]["by_status"] == {"0": 10}
    assert ask("SELECT stock FROM plain.item WHERE id=5;").split() == ["5"]
    assert ask("SHOW GLOBAL STATUS LIKE 'Aborted_clients';").split() == ["Aborted_clients", "0"]


@pytest.mark.live
def test_every_interaction_of_the_shop_has_its_rows_and_bytes(mariadb, load, write_log):
    """For each subject one customer who does everything: nothing fails, and the sizes tell all apart."""
    port, ask = mariadb
    ask("DROP USER trimtab@'%';" + book_shop.data(ITEMS) + "GRANT ALL ON plain.* TO trimtab@'%';")
    customers = []
    for subject in range(book_shop.SUBJECTS):
        chosen = book_shop.Chosen(
            items=tuple(book_shop.FIRST_ITEM + ITEMS - subject * 5 - number for number in range(5)),
            author=book_shop.FIRST_AUTHOR + 1 + subject,
            customer=book_shop.FIRST_CUSTOMER + ITEMS * book_shop.CUSTOMERS_FOR_ITEM - subject,
            subject=subject,
        )
        made = [(name, make(chosen)) for name, make in book_shop.INTERACTIONS.items()]
        customers.append(
            tuple(
                Request(f"/{name}", one.size_bytes, 0.0, True, one.statements, one.rows) for name, one in made
            )
        )
    log = write_log(write_session_log(customers))
    url = f"mariadb://{book_shop.USER}@127.0.0.1:{port}/{book_shop.DATABASE}"
    rate = len(customers) * len(book_shop.INTERACTIONS)
    result = load(url, "--rate", str(rate), "--duration", "1", "--timeout", "30", "--sessions", log).result
    assert cells(result) == {"replied": rate}
    assert [each["asked"] for each in result["size_classes"]] == [len(customers)] * 14


@pytest.mark.live
def test_closed_loop_asks_again_at_once(mariadb, load, write_log):
    """Connections that never pause, a session after the other."""
    url = f"mariadb://trimtab@127.0.0.1:{mariadb[0]}/plain"
    log = write_log(ONE_STATEMENT * 5)
    arguments = ("--connections", "4", "--duration", "0.5", "--sessions", log)
    result = load(url, *arguments, mode="closed").result
    assert set(cells(result)) <= {"replied", "abandoned"}
    assert result["requests"]["replied"] > 20


@pytest.mark.parametrize(
    ("line", "failures"),
    [
        ('/a contents="SELECT nothing FROM item; SELECT 1"', {"error-1054": 10}),
        ('/a contents="SELECT title FROM item WHERE id=7" size=60', {"wrong-length": 10}),
        ('/a contents="SELECT title FROM item WHERE id=7" size=61 rows=2', {"wrong-content": 10}),
    ],
)
@pytest.mark.live
def test_wrong_results_fail_and_the_session_goes_on(mariadb, load, write_log, line, failures):
    """An error, other bytes, another number of rows; the next interaction is answered."""
    url = f"mariadb://trimtab@127.0.0.1:{mariadb[0]}/plain"
    log = write_log(f"{line}\n{ONE_STATEMENT}")
    result = load(url, "--rate", "40", "--duration", "0.5", "--sessions", log).result
    assert cells(result) == {"failed": 10, "replied": 10}
    assert result["failures"] == failures


@pytest.mark.parametrize(
    ("user", "database", "failure"),
    [("nobody", "plain", "error-1045"), ("known", "plain", "error-1045"), ("trimtab", "mysql", "error-1044")],
)
@pytest.mark.live
def test_refused_clients_fail_with_the_error(mariadb, load, write_log, user, database, failure):
    """An unknown user, one with a password, a database that the user may not use."""
    url = f"mariadb://{user}@127.0.0.1:{mariadb[0]}/{database}"
    result = load(url, *TEN_SESSIONS, "--sessions", write_log(ONE_STATEMENT)).result
    assert cells(result) == {"failed": 10}
    assert result["failures"] == {failure: 10}


@pytest.mark.live
def test_full_server_refuses_with_the_error(mariadb, load, write_log):
    """Beyond max_connections the error comes in place of the greeting."""
    port, ask = mariadb
    ask("SET GLOBAL max_connections = 10;")
    log = write_log(ONE_STATEMENT.strip() + " think=0.3\n" + ONE_STATEMENT)
    url = f"mariadb://trimtab@127.0.0.1:{port}/plain"
    try:
        result = load(url, "--rate", "400", "--duration", "0.2", "--sessions", log).result
    finally:
        ask("SET GLOBAL max_connections = 151;")
    assert set(result["failures"]) == {"error-1040"}
    assert result["sessions"]["completed"] > 0
    assert result["sessions"]["failed"] > 0


def is_asked(connection):
    """Greets, admits the client, and reads one statement."""
    connection.send(GREETING)
    length, _ = struct.unpack("<HH", connection.read_bytes(4))
    connection.read_bytes(length)
    connection.send(ADMISSION)
    length, _ = struct.unpack("<HH", connection.read_bytes(4))
    assert connection.read_bytes(length) == b"\x03SELECT 1"


def never_greets(connection):
    """Accepts and says nothing."""
    connection.stall()


def never_answers(connection):
    """Stalls after the first statement."""
    is_asked(connection)
    connection.stall()


def answers_twice(connection):
    """Sends a second result that nobody asked for."""
    is_asked(connection)
    connection.send(2 * ONE_ROW)


def leaves_within_a_row(connection):
    """Closes before the result is complete."""
    is_asked(connection)
    connection.send(ONE_ROW[:-9])


@pytest.mark.parametrize(
    ("script", "timeout_s", "cell", "failures"),
    [
        (never_greets, 1, "timed_out_before_read", {}),
        (never_answers, 5, "timed_out_after_read", {}),
        (answers_twice, 30, "failed", {"unexpected-data": 10}),
        (leaves_within_a_row, 30, "failed", {"closed-early": 10}),
    ],
)
def test_misbehaviour_is_counted_in_its_cell(load, serve, write_log, script, timeout_s, cell, failures):
    """As with HTTP: what the server has not said, and what nobody asked for."""
    url = serve(script).url.replace("http://", "mariadb://trimtab@") + "/plain"
    sessions = ("--timeout", str(timeout_s), "--sessions", write_log(ONE_STATEMENT))
    result = load(url, *TEN_SESSIONS[:-2], *sessions).result
    assert cells(result) == {cell: 10}
    assert result["failures"] == failures


def test_result_in_single_bytes_is_read(load, serve, write_log):
    """However the server's packets are cut up."""

    def dribbles(connection):
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_asked(connection)
        for byte in ONE_ROW:
            connection.send(bytes([byte]))
        assert connection.read_bytes(5) == b"\x01\0\0\0\x01"

    url = serve(dribbles).url.replace("http://", "mariadb://trimtab@") + "/plain"
    result = load(url, *TEN_SESSIONS, "--sessions", write_log(ONE_STATEMENT)).result
    assert cells(result) == {"replied": 10}


@pytest.mark.parametrize(
    ("url", "arguments", "log", "sentence"),
    [
        ("mariadb://127.0.0.1:1/plain", (), ONE_STATEMENT, "expected mariadb://USER@HOST[:PORT]/DATABASE"),
        ("mariadb://a@127.0.0.1:1/", (), ONE_STATEMENT, "expected mariadb://USER@HOST[:PORT]/DATABASE"),
        ("mariadb://a@127.0.0.1:1/b?c", (), ONE_STATEMENT, "expected mariadb://USER@HOST[:PORT]/DATABASE"),
        (
            "mariadb://a@127.0.0.1:1/b",
            ("--verify", "all"),
            ONE_STATEMENT,
            "--verify: means nothing",
        ),
        ("mariadb://a@127.0.0.1:1/b", (), None, "--sessions is missing"),
        ("mariadb://a@127.0.0.1:1/b", (), "/a\n", 'expected statements, contents="..."'),
        ("mariadb://a@127.0.0.1:1/b", (), "/a contents=' ; '\n", "expected statements"),
        ("mariadb://a@127.0.0.1:1/b", (), "/a contents='x' rows=-1\n", "rows=-1: expected a number of rows"),
        ("mariadb://a@127.0.0.1:1/b", (), "/a contents='x' method=GET\n", "expected rows="),
    ],
)
def test_bad_input_is_refused_with_a_sentence(load, write_log, url, arguments, log, sentence):
    """Before anything is driven."""
    sessions = () if log is None else ("--sessions", write_log(log))
    outcome = load(url, *TEN_SESSIONS, *sessions, *arguments, expect_status=2)
    assert sentence in outcome.stderr
