"""CPU time of a process with its threads and children."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimtab_agent.live import cpu_time
from trimtab_agent.live.cpu_time import CpuTime
from waiting import until

# Burns so much CPU time in a thread, tells of it, and waits.
BURNING = (
    "import sys, time, threading\n"
    "def burn():\n"
    "    until_s = time.thread_time() + 0.1\n"
    "    while time.thread_time() < until_s: pass\n"
    "    print(flush=True)\n"
    "    sys.stdin.read()\n"
)
IN_A_THREAD = BURNING + "sys.stdin.readline(); threading.Thread(target=burn).start()"
IN_A_CHILD = (
    "import os, sys, time\nsys.stdin.readline()\nchild = os.fork()\n"
    "if child: os.waitpid(child, 0)\nelse:\n    exec(sys.argv[1])\n    burn()\n"
)


@pytest.fixture
def burner():
    """Starts a program that begins when it is told to."""
    started = []

    def start(program):
        command = (sys.executable, "-c", program, BURNING)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.communicate()


@pytest.mark.parametrize("program", [IN_A_THREAD, IN_A_CHILD])
def test_time_of_processes_and_children_counts_once(program, burner):
    """Those that came after the first reading too; and what is told once is not told again."""
    process = burner(program)
    used = CpuTime(process.pid)
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()
    assert 0.1 <= used.read_s() < 10
    assert used.read_s() < 0.1


def test_child_that_has_ended_takes_nothing_back():
    """Its time was told, and what comes is never negative."""
    used = CpuTime(os.getpid())
    child = subprocess.Popen((sys.executable, "-c", "import sys; sys.stdin.read()"), stdin=subprocess.PIPE)
    used.read_s()
    child.communicate()
    assert used.read_s() >= 0


def test_what_writes_a_log_for_us_is_left_out(monkeypatch):
    """It serves nobody."""
    with subprocess.Popen(("cat",), stdin=subprocess.PIPE) as child:
        name = Path(f"/proc/{child.pid}/comm")
        until(lambda: name.read_text() == "cat\n")  # a new program gets its name a moment after it has begun
        processes = dict(cpu_time._processes(os.getpid()))
        monkeypatch.setattr(cpu_time, "NOT_SERVING", frozenset())
        assert child.pid not in processes
        assert child.pid in dict(cpu_time._processes(os.getpid()))


def test_number_that_another_process_got_counts_from_zero(monkeypatch):
    """A process that used less than before is another one."""
    readings = iter([{1: 5_000_000_000}, {1: 1_000_000_000}])
    monkeypatch.setattr(cpu_time, "_processes", lambda _: next(readings).items())
    assert CpuTime(1).read_s() == 1.0


def test_process_that_has_gone_is_an_error():
    """Nothing is known of it."""
    with subprocess.Popen(("true",)) as child:
        child.wait()
        with pytest.raises(OSError, match="Invalid argument"):
            CpuTime(child.pid)
