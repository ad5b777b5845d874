"""What a server's own log says of its failures."""

import pytest
from trimtab_agent.station.server.warnings_in_log import warning_in


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            ["2026/01/02 03:04:05 [alert] 7#7: 32 worker_connections are not enough"] * 3 + ["[notice] x"],
            "The server's log says: worker_connections are not enough (3 times).",
        ),
        (
            ["[mpm_event:error] [pid 7] AH00484: server reached MaxRequestWorkers setting, consider raising"],
            "The server's log says: server reached MaxRequestWorkers setting.",
        ),
        (
            ['7#7: *9 limiting requests, excess: 5.1 by zone "a", client: 127.0.0.1'],
            "The server's log says: limiting requests.",
        ),
        (["(server.c.9) connection limit reached"], "The server's log says: connection limit reached."),
        (["all is well"], ""),
    ],
)
def test_the_most_frequent_warning_stands_in_a_sentence(lines, sentence, tmp_path):
    """Without what differs from line to line."""
    log = tmp_path / "log"
    log.write_text("\n".join(lines))
    assert warning_in(log) == sentence
    assert warning_in(tmp_path / "none") == ""
