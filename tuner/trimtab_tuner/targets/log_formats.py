"""How each server is told to write the access log that live tuning reads, as tried with those of Debian 12.

What the lines say is in live/reply_lines.py.
"""

from dataclasses import dataclass

TIME, ENDED = 2, 4  # columns of such a line


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFormat:
    """How a server is told to write such lines, and how they are to be read.

    `settings` is what stands in its configuration file, with PATH for the log. A line whose column
    `aborted_at` begins with the byte `aborted` is of a reply that the client did not wait for. `time_unit_s`
    is that of the service time, `resolution_s` the shortest time that the server can tell from 0. The first
    request on a connection is number `first`; None where the server does not number them.
    """

    settings: str
    aborted: bytes = b"X"
    aborted_at: int = ENDED
    time_unit_s: float = 1.0
    resolution_s: float = 1e-6
    first: int | None = 0


FORMATS = {
    # In the block http. Bytes are those of the body, as in the formats that production logs in.
    # $request_completion is OK, or empty where the reply did not get out as a whole.
    "nginx": LineFormat(
        settings=(
            "map $request_completion $trimtab_ended { OK +; default X; }\n"
            "log_format trimtab '$status $body_bytes_sent $request_time $connection_requests "
            "$trimtab_ended$is_args';\n"
            "access_log PATH trimtab;\n"
        ),
        resolution_s=1e-3,
        first=1,
    ),
    # Wants mod_accesslog. Lines for a file are kept for up to 4 seconds; a program gets each at once.
    "lighttpd": LineFormat(
        settings='accesslog.filename = "|exec cat >>PATH"\naccesslog.format = "%s %O %D %k %X%q"\n',
        time_unit_s=1e-6,
    ),
    # Wants mod_log_config and mod_logio, which Debian's has built in.
    "apache": LineFormat(
        settings='LogFormat "%>s %O %D %k %X%q" trimtab\nCustomLog PATH trimtab\n',
        time_unit_s=1e-6,
    ),
    # Bytes are those of the body. An aborted reply has no duration. The clock stands still while h2o goes
    # round its loop once, so that a reply that is sent at once takes no time.
    "h2o": LineFormat(
        settings='access-log:\n  path: PATH\n  format: "%s %b %{duration}x 1 +%q"\n',
        aborted=b"-",
        aborted_at=TIME,
        resolution_s=1e-3,
        first=None,
    ),
}
