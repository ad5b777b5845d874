"""Where CPU time goes: perf's samples of a real process, folded into categories."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.station.profiler import parse_samples, profiling, require_perf

SCRIPT = """     7fa59dcec803 __memmove_avx512_unaligned_erms (/usr/lib/x86_64-linux-gnu/libc.so.6)
 ffffffff81a2b3c0 tcp_sendmsg_locked ([kernel.kallsyms])
 ffffffff81a2b3c4 tcp_write_xmit+0x54 ([kernel.kallsyms])
     563a3b13515c [unknown] (/usr/bin/dash)
     563a3b13515c operator() (int) (/opt/app)

perf: no sample
"""


def test_perfs_lines_are_read_and_others_skipped():
    """A symbol may hold spaces and parentheses; an offset is no part of it."""
    assert list(parse_samples(SCRIPT)) == [
        ("__memmove_avx512_unaligned_erms", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("tcp_sendmsg_locked", "[kernel.kallsyms]"),
        ("tcp_write_xmit", "[kernel.kallsyms]"),
        ("[unknown]", "/usr/bin/dash"),
        ("operator() (int)", "/opt/app"),
    ]


@pytest.mark.live
@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_a_busy_process_is_sampled_and_its_time_told(tmp_path: Path):
    """A loop in Python is the application's time; perf's own files are gone afterwards."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        # perf takes a while to begin on a busy machine, and does not say when: longer windows, then.
        for window_s in (0.5, 1, 2, 4, 8):
            with profiling([busy.pid], (0,), tmp_path, "busy") as profile:
                threading.Event().wait(window_s)
            if profile.samples > 10:
                break
    finally:
        busy.kill()
        busy.wait()
    assert profile.samples > 10
    assert profile.percent is not None
    assert sum(profile.percent.values()) == pytest.approx(100, abs=0.1)
    assert profile.percent["application"] > 50
    assert not (tmp_path / "busy.perf").exists()


@pytest.mark.live
@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_no_time_gives_no_samples(tmp_path: Path):
    """Who asks perf to end before it has begun has no profile, and no failure."""
    with profiling([os.getpid()], (0,), tmp_path, "short") as profile:
        pass
    assert (profile.samples, list(tmp_path.glob("*.perf"))) == (0, [])


def test_without_perf_a_sentence_says_what_to_install(monkeypatch):
    """And not a traceback."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HostError, match="linux-perf"):
        require_perf()
