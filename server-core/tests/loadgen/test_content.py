"""Verification of contents, conditional requests and bodies of requests."""

import pytest
from trimtab_tuner.workloads.content import file_content

SIZES = (1, 7, 8, 9, 1000, 16384, 100_001, 1_000_000)


def target_of(size):
    """A path from which the scripted servers can tell the size."""
    return f"/some dir/{size}".replace(" ", "%20")


def serves_generated_files(connection):
    """Every file of target_of, with the contents that the tuner would have written."""
    while True:
        target = connection.read_request().target
        body = file_content(target.partition("?")[0], int(target.partition("?")[0].rpartition("/")[2]))
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def run(load, server, log, *arguments, sessions=3):
    """So many sessions of eight requests."""
    return load(
        server.url,
        *("--sessions", log, "--rate", "160", "--duration", str((sessions - 0.5) / 20), "--timeout", "30"),
        *arguments,
    ).result


def test_contents_agree_with_the_definition_of_the_workloads(load, serve, write_log):
    """What content.py makes is what the generator expects, whatever the size; a query is no part of it."""
    log = write_log("".join(f"{target_of(size)}?q={size} size={size}\n" for size in SIZES))
    result = run(load, serve(serves_generated_files), log, "--verify", "all")
    assert result["requests"]["replied"] == result["replies"]["verified"] == 3 * len(SIZES)


@pytest.mark.parametrize("wrong_byte", [0, 8, 500, 99_999])
def test_single_wrong_byte_is_found(load, serve, write_log, wrong_byte):
    """Anywhere in a body; the reply was complete, so the session goes on."""

    def script(connection):
        for _ in range(2):
            body = bytearray(file_content(connection.read_request().target, 100_000))
            body[wrong_byte] ^= 1
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            connection.send(bytes(body))

    log = write_log("/x size=100000\n/y size=100000\n")
    result = load(
        serve(script).url, "--sessions", log, "--rate", "40", "--duration", "0.1", "--verify", "all"
    ).result
    assert result["failures"] == {"wrong-content": 4}
    assert result["requests"]["failed"] == 4
    assert result["replies"]["verified"] == 0
    assert result["replies"]["by_status"] == {"200": 4}


def test_sample_verifies_one_reply_in_sixteen(load, serve, write_log):
    """The first, the 17th and so on, of each process."""
    log = write_log("".join(f"{target_of(size)} size={size}\n" for size in SIZES))
    result = run(load, serve(serves_generated_files), log, "--verify", "sample", sessions=6)
    assert result["requests"]["replied"] == 48
    assert result["replies"]["verified"] == 3


def test_without_verification_contents_do_not_matter(load, serve, write_log):
    """The default: bodies are counted and thrown away."""

    def script(connection):
        connection.read_request()
        connection.reply(1000)

    result = load(serve(script).url, "--rate", "40", "--duration", "0.1").result
    assert result["requests"]["replied"] == 4
    assert result["replies"]["verified"] == 0


@pytest.mark.parametrize(
    ("validator", "expected"),
    [
        ('ETag: "v1"\r\nLast-Modified: Tue, 15 Nov 1994 12:45:26 GMT\r\n', ("If-None-Match", '"v1"')),
        (
            "Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT\r\n",
            ("If-Modified-Since", "Tue, 15 Nov 1994 12:45:26 GMT"),
        ),
    ],
)
def test_conditional_requests_name_what_a_reply_has_told(load, serve, validator, expected):
    """The first request must be plain; with a share of 1 all others are conditional, and 304 is good."""
    name, value = expected

    def script(connection):
        while True:
            request = connection.read_request()
            if name in request.fields:
                connection.send(f"HTTP/1.1 304 Not Modified\r\n{validator}\r\n".encode())
            else:
                connection.reply(500, extra=validator)

    server = serve(script)
    result = load(
        server.url,
        *("--rate", "200", "--duration", "0.045", "--session-requests", "10", "--conditional-share", "1"),
    ).result
    assert [request.fields.get(name) for request in server.requests] == [None, *[value] * 9]
    assert result["replies"]["by_status"] == {"200": 1, "304": 9}
    assert result["requests"]["replied"] == 10
    assert result["size_classes"][0]["size_bytes"] == 500
    assert result["size_classes"][0]["replied"] == 10


def test_conditional_share_is_kept(load, serve):
    """With a share of one in four, 400 requests have some 100 conditional ones: within five deviations."""

    def script(connection):
        while True:
            if "If-None-Match" in connection.read_request().fields:
                connection.send(b"HTTP/1.1 304 Not Modified\r\n\r\n")
            else:
                connection.reply(extra='ETag: "v1"\r\n')

    result = load(
        serve(script).url,
        *("--rate", "400", "--duration", "0.95", "--session-requests", "40", "--conditional-share", "0.25"),
        *("--timeout", "30"),
    ).result
    assert result["requests"]["replied"] == 400
    assert abs(result["replies"]["by_status"]["304"] - 100) < 5 * (400 * 0.25 * 0.75) ** 0.5


def test_unasked_304_is_a_failure(load, serve):
    """Nobody asked whether the file had changed."""

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 304 Not Modified\r\n\r\n")

    result = load(serve(script).url, "--rate", "20", "--duration", "0.09").result
    assert result["failures"] == {"status-304": 2}


def test_post_larger_than_the_send_buffer_is_sent_to_its_end(load, serve, write_log):
    """What the socket does not take at once goes out as the server reads."""
    sizes = []

    def script(connection):
        request = connection.read_request()
        sizes.append(len(connection.read_bytes(int(request.fields["Content-Length"]))))
        connection.reply()

    log = write_log(f"/form method=POST contents='{'x' * 8_000_000}'\n")
    result = load(serve(script).url, "--sessions", log, "--rate", "20", "--duration", "0.05").result
    assert sizes == [8_000_000]
    assert result["requests"]["replied"] == 1


def test_post_sends_its_body(load, serve, write_log):
    """The method and contents of the log, with their length."""
    bodies = []

    def script(connection):
        for _ in range(2):
            request = connection.read_request()
            bodies.append((request.method, connection.read_bytes(int(request.fields["Content-Length"]))))
            connection.reply()

    log = write_log("/form method=POST contents='name=a b'\n/form method=POST\n")
    result = load(serve(script).url, "--sessions", log, "--rate", "20", "--duration", "0.05").result
    assert bodies == [("POST", b"name=a b"), ("POST", b"")]
    assert result["requests"]["replied"] == 2
