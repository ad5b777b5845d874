"""What is counted in the window of one rate, and when."""

from types import SimpleNamespace

import pytest
from load_results import result
from trimtab_agent.counters.source import CounterSet
from trimtab_agent.station import measuring
from trimtab_agent.station.measuring import WindowCounters, measurement_of


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

    def __init__(self, memory_bytes, clock, read_s=0.0):
        super().__init__([Processes()])
        self.left = list(memory_bytes)
        self._clock, self._read_s = clock, read_s

    def server_memory_bytes(self):
        """The next figure."""
        self._clock.now_s += self._read_s
        return self.left.pop(0)


@pytest.fixture
def clock(monkeypatch):
    """The monotonic clock of whoever counts: it stands still unless it is set."""
    standing = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(measuring, "time", SimpleNamespace(monotonic=lambda: standing.now_s))
    return standing


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


IDLE = 9e6  # before the load: not in the window


@pytest.mark.parametrize("memory_bytes", [(IDLE, 7e6, 5e6), (IDLE, 5e6, 7e6)])
def test_memory_is_its_peak_in_the_middle_and_at_the_end(clock, memory_bytes):
    """Twice, and not again in the drain."""
    counters = Counters(memory_bytes, clock)
    processes = window_of(counters).values()["server_processes"]
    assert processes["peak_memory_bytes"] == 7e6
    assert counters.left == []
    assert "resident_bytes" not in processes


def test_memory_that_takes_long_to_read_is_not_read_while_load_is_offered(clock):
    """Large processes could map no file meanwhile; at the end no load is offered any more."""
    counters = Counters((IDLE, 7e6), clock, read_s=0.02)
    assert window_of(counters).values()["server_processes"]["peak_memory_bytes"] == 7e6
    assert counters.left == []


def test_cpu_seconds_are_those_of_the_window(clock):
    """One and a half CPUs for four seconds, from one reading to the next."""
    processes = window_of(Counters((1, 1, 1), clock)).values()["server_processes"]
    assert processes["cpu_s"] == 6.0
    assert processes["readings"] == 1


def test_memory_that_cannot_be_read_is_missing(clock):
    """Neither zero nor the resident memory."""
    processes = window_of(Counters((None, None, None), clock)).values()["server_processes"]
    assert "peak_memory_bytes" not in processes
    assert "resident_bytes" not in processes


USED = {"server_processes": {"user": 60.0, "system": 40.0}}


def test_measurement_has_the_cpu_time_of_a_handshake():
    """What the server used in user mode, over the handshakes that the generator made."""
    measurement = measurement_of(1, result(replied=900, handshakes=400, resumed=300), {}, USED)
    assert measurement.counters["tls"]["handshakes_per_s"] == 400
    assert measurement.counters["tls"]["resumed_percent"] == 75
    assert measurement.counters["tls"]["cpu_us_per_handshake"] == 1500


@pytest.mark.parametrize(
    ("handshakes", "counted"),
    [(0, USED), (400, {}), (400, USED | {"backend": {"children": 4}})],
    ids=["no TLS", "CPU time not counted", "a program behind the server"],
)
def test_cpu_time_of_a_handshake_is_left_out_where_nobody_knows_it(handshakes, counted):
    """A figure that is not one would be believed."""
    measurement = measurement_of(1, result(replied=900, handshakes=handshakes), {}, counted)
    assert "cpu_us_per_handshake" not in measurement.counters.get("tls", {})
