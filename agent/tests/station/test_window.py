"""What is counted in the window of one rate, and when."""

import pytest
from trimtab_agent.counters.source import CounterSet
from trimtab_agent.station.measuring import WindowCounters


class Processes:
    """A source that tells how often it was read between two readings."""

    name = "server_processes"

    def __init__(self):
        self.reads = 0

    def read(self):
        """The number of the reading."""
        self.reads += 1
        return self.reads

    def values(self, earlier, later, interval_s):
        """As of processes that use one and a half CPUs."""
        return {"user": 100.0, "system": 50.0, "resident_bytes": 9e9, "readings": later - earlier}


class Counters(CounterSet):
    """Processes whose memory is what was prepared, one figure after the other."""

    def __init__(self, memory_bytes):
        super().__init__([Processes()])
        self.left = list(memory_bytes)

    def server_memory_bytes(self):
        """The next figure."""
        return self.left.pop(0)


def window_of(counters):
    """A window from 1 s to 5 s that has been driven to its end."""
    window = WindowCounters(counters, warmup_s=1.0, duration_s=5.0)
    window.at_edge("begin")
    for second in (1, 2, 3, 4):
        window.progressed({"elapsed_s": second + 0.01})
    window.at_edge("end")
    for second in (5, 6):
        window.progressed({"elapsed_s": second + 0.01})
    return window


@pytest.mark.parametrize("memory_bytes", [(7e6, 5e6), (5e6, 7e6)])
def test_memory_is_its_peak_in_the_middle_and_at_the_end(memory_bytes):
    """Twice, and not again in the drain."""
    counters = Counters(memory_bytes)
    processes = window_of(counters).values()["server_processes"]
    assert processes["peak_memory_bytes"] == 7e6
    assert counters.left == []
    assert "resident_bytes" not in processes


def test_cpu_seconds_are_those_of_the_window():
    """One and a half CPUs for four seconds, from one reading to the next."""
    processes = window_of(Counters((1, 1))).values()["server_processes"]
    assert processes["cpu_s"] == 6.0
    assert processes["readings"] == 1


def test_memory_that_cannot_be_read_is_missing():
    """Neither zero nor the resident memory."""
    processes = window_of(Counters((None, None))).values()["server_processes"]
    assert "peak_memory_bytes" not in processes
    assert "resident_bytes" not in processes
