"""The access log of a server of ours, read as it grows."""

import os
from pathlib import Path

import pytest
from trimtab_agent.live.access_log import BLOCK_BYTES, AccessLog
from trimtab_agent.live.observation import ObservationLost
from trimtab_tuner.targets.log_formats import FORMATS

LINE = b"200 1000 0.003 1 +\n"


@pytest.fixture
def path(tmp_path):
    """An empty log in memory, which is where the real one is."""
    found = Path("/dev/shm") / f"trimtab-test-{os.getpid()}-{tmp_path.name}.log"  # noqa: S108 - a tmpfs
    found.touch(mode=0o600)
    yield found
    found.unlink(missing_ok=True)


@pytest.fixture
def log(path):
    """It, being read."""
    opened = AccessLog(path, FORMATS["nginx"])
    yield opened
    opened.close()


def append(path, lines):
    """As a server does."""
    with path.open("ab") as file:
        file.write(lines)


def requests(log):
    """How many requests the log tells of since the last reading."""
    return sum(served.requests for served in log.read().served)


def test_lines_are_told_once(log, path):
    """Those that were appended since."""
    append(path, 3 * LINE)
    assert requests(log) == 3
    assert requests(log) == 0
    append(path, LINE)
    assert requests(log) == 1


def test_line_that_is_not_complete_waits(log, path):
    """Until its rest comes."""
    append(path, LINE + LINE[:7])
    assert requests(log) == 1
    append(path, LINE[7:])
    assert requests(log) == 1


def test_what_was_there_before_does_not_count(path):
    """Another one has read it, and given it back; a line that is being written does."""
    for _ in range(2):
        log = AccessLog(path, FORMATS["nginx"])
        append(path, 1000 * LINE + LINE[:7])
        assert requests(log) == 1000
        log.close()
        log = AccessLog(path, FORMATS["nginx"])
        append(path, LINE[7:])
        assert requests(log) == 1
        log.close()


def test_memory_of_what_was_read_is_given_back_and_no_line_is_lost(log, path):
    """However much goes through it; what is not read yet stays."""
    for _ in range(50):
        append(path, 1000 * LINE)
        assert requests(log) == 1000
    assert path.stat().st_size == 50_000 * len(LINE)
    assert path.stat().st_blocks * 512 <= 2 * BLOCK_BYTES


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Path.unlink, "No such file"),
        (lambda path: path.replace(path.with_suffix(".1")) and path.touch(), "another file than before"),
        (lambda path: os.truncate(path, 5), "has become shorter"),
        (lambda path: append(path, b"GET / HTTP/1.1\n"), "is no line of ours"),
    ],
)
def test_log_that_is_not_what_it_was_is_lost(log, path, change, sentence):
    """And says in which way."""
    append(path, LINE)
    log.read()
    try:
        change(path)
        with pytest.raises(ObservationLost, match=sentence):
            log.read()
    finally:
        path.with_suffix(".1").unlink(missing_ok=True)


def test_log_that_there_is_not_cannot_be_observed(tmp_path):
    """Its name is in the sentence."""
    with pytest.raises(ObservationLost, match="there-is-none cannot be read: No such file"):
        AccessLog(tmp_path / "there-is-none", FORMATS["nginx"])
