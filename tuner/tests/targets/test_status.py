"""Status pages as the servers of Debian 12 write them."""

import pytest
from trimtab_tuner.targets import TARGETS

NGINX = """Active connections: 3
server accepts handled requests
 11 11 38
Reading: 0 Writing: 1 Waiting: 2
"""
LIGHTTPD = """Total Accesses: 1002
Total kBytes: 79340
Uptime: 3
BusyServers: 2
IdleServers: 1363
Scoreboard: hC______
"""
APACHE = """localhost
ServerVersion: Apache/2.4.71 (Debian)
CurrentTime: Sunday, 22-Nov-2026 07:56:39 UTC
Total Accesses: 37
Total kBytes: 10
BusyWorkers: 1
GracefulWorkers: 0
IdleWorkers: 63
ConnsTotal: 4
Scoreboard: W____
"""
H2O = """{
 "server-version": "2.2.5",
 "connections": 2,
 "max-connections": 1024,
 "num-sessions": 7
}"""


@pytest.mark.parametrize(
    ("name", "page", "expected"),
    [
        (
            "nginx",
            NGINX,
            {
                "connections_open": 3,
                "connections_accepted": 11,
                "connections_handled": 11,
                "requests": 38,
                "connections_reading": 0,
                "connections_writing": 1,
                "connections_waiting": 2,
            },
        ),
        ("lighttpd", LIGHTTPD, {"requests": 1002, "connections_open": 2}),
        (
            "apache",
            APACHE,
            {
                "requests": 37,
                "bytes_sent": 10_240,
                "connections_open": 4,
                "workers_busy": 1,
                "workers_idle": 63,
            },
        ),
        ("h2o", H2O, {"connections_open": 2, "connections_accepted": 7}),
    ],
)
def test_page_is_read_under_our_names(name, page, expected):
    """Those of the stats socket where they exist."""
    assert TARGETS[name].parse_status(page) == expected


@pytest.mark.parametrize("name", ["nginx", "lighttpd", "apache", "h2o"])
@pytest.mark.parametrize("page", ["", "<html>502</html>", "Total Accesses: many\n", "{}", "[1]", "1 2 3"])
def test_page_that_says_something_else_is_no_reading(name, page):
    """Missing, and never zero."""
    assert TARGETS[name].parse_status(page) == {}
