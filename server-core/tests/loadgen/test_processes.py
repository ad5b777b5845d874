"""The worker processes: they end with the one that was started, and their death is told."""

import os
import resource
import signal
from pathlib import Path
from time import monotonic, sleep

import pytest

from .conftest import read_until_progress

RUN = ("--rate", "50", "--duration", "60", "--processes", "3")


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


def children_of(pid):
    """The processes that `pid` has forked."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until_gone(pids):
    """Waits until none of the processes is there any more, for a minute at most."""
    deadline_s = monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert monotonic() < deadline_s, f"of {pids} some are still there"
        sleep(0.01)


@pytest.fixture
def begun(begin, serve):
    """A run of three workers that has written its first progress line, and their process numbers."""
    child = begin(serve(always_replies).url, *RUN)
    read_until_progress(child)
    workers = children_of(child.pid)
    assert len(workers) == 3
    return child, workers


def test_workers_die_with_a_killed_parent(begun):
    """kill -9 leaves nobody who offers load without being watched."""
    child, workers = begun
    child.kill()
    child.wait(timeout=60)
    wait_until_gone(workers)


def test_killed_worker_ends_the_run_with_a_sentence(begun):
    """A result without a worker's share would be wrong; the others are ended."""
    child, workers = begun
    os.kill(workers[1], signal.SIGKILL)
    stdout, stderr = child.communicate(timeout=60)
    assert child.returncode == 1
    assert stderr == "trimtab-load: a worker process was killed by signal 9 (Killed)\n"
    assert '"result"' not in stdout
    wait_until_gone(workers)


def caught_signals(pid):
    """The signals that a process has handlers for (proc(5), SigCgt)."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), 16)
    return {number for number in signal.valid_signals() if mask >> (number - 1) & 1}


def test_second_signal_ends_at_once(begun):
    """The first asks for a result, the second does not wait for it."""
    child, workers = begun
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)  # so that they do not end in time
    child.send_signal(signal.SIGTERM)
    deadline_s = monotonic() + 60
    while signal.SIGTERM in caught_signals(child.pid):
        assert monotonic() < deadline_s
        sleep(0.01)
    child.send_signal(signal.SIGTERM)
    child.wait(timeout=60)
    assert child.returncode == -signal.SIGTERM
    wait_until_gone(workers)


def test_signals_to_the_whole_group_give_one_result(begun):
    """Ctrl-C in a terminal reaches all processes; the result is that of all of them."""
    child, workers = begun
    for pid in (child.pid, *workers):
        os.kill(pid, signal.SIGINT)
    stdout, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert stdout.count('"type":"result"') == 1
    wait_until_gone(workers)


def test_process_that_cannot_be_watched_is_not_begun(load):
    """With too few descriptors for so many processes there is a sentence, and no load."""

    def limit_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))

    outcome = load(
        "http://127.0.0.1:1/", *RUN[:4], "--processes", "20", expect_status=1, preexec_fn=limit_descriptors
    )
    # A worker that had begun may have said first that it is short of descriptors itself.
    said = outcome.stderr.splitlines()
    assert "trimtab-load: a worker process could not be started: Too many open files" in said
    assert outcome.stdout == ""


@pytest.mark.live
def test_share_of_the_cpu_is_that_of_the_busiest_worker(load, serve, write_log):
    """Of two that take sessions in turn one has all the work: its share is most of what the run took.

    The mean of the two processes would be half of that at most. What the program takes to start, which is a
    lot with sanitizers and on a busy machine, is taken off: a run with hardly a request shows it.
    """

    def run(rate_rps, duration_s):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rate = ("--rate", str(rate_rps), "--duration", str(duration_s))
        outcome = load(server.url, *rate, "--sessions", log, "--processes", "2")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return outcome.result["health"]["cpu_share"] * duration_s, used_s

    log = write_log("/a\n" * 40 + "\n/b\n")
    server = serve(always_replies)
    _, start_s = run(10, 0.5)
    busiest_s, used_s = run(2050, 6)
    assert busiest_s > 0.6 * (used_s - start_s)


def test_cpus_are_pinned_in_turn(begin, serve):
    """Each worker runs on the next CPU of the list."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("only one CPU may be used here")
    child = begin(serve(always_replies).url, *RUN, "--cpus", f"{cpus[0]},{cpus[1]}")
    read_until_progress(child)

    def pinned():
        return [os.sched_getaffinity(worker) for worker in children_of(child.pid)]

    deadline_s = monotonic() + 60
    while pinned() != [{cpus[0]}, {cpus[1]}, {cpus[0]}] and monotonic() < deadline_s:
        sleep(0.01)  # until the last of them has begun
    assert pinned() == [{cpus[0]}, {cpus[1]}, {cpus[0]}]
