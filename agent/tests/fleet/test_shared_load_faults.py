"""What generators on other machines do wrong makes a rate void, and blames no configuration.

The generators are the test's own: they say what the test wants, and the clock is one that it moves. With real
generators on machines of a rack the same is in test_shared_load.py.
"""

import asyncio
from types import SimpleNamespace

import pytest
from distributed.comm import CommClosedError
from trimtab_agent.errors import GeneratorsLost
from trimtab_agent.fleet import shared_load
from trimtab_agent.fleet.credentials import make_authority, make_member, security_of
from trimtab_agent.fleet.engine import versions
from trimtab_agent.fleet.shared_load import SharedLoad
from trimtab_agent.fleet.work import AtGenerator
from trimtab_agent.runtime import open_station
from trimtab_agent.station import climb
from trimtab_agent.station.generator import LoadOrder, StepVoid
from trimtab_agent.station.requirements import completed
from trimtab_agent.stopping import StopSignal

from .conftest import job

A_DAY_NS = 86_400 * 10**9
WINDOW = ('{"type": "window", "edge": "begin"}', '{"type": "window", "edge": "end"}')


@pytest.fixture(autouse=True)
def namespaces():
    """None is needed here."""


class Generator:
    """A generator that answers at once; `ahead_ns` is how far its clock is from ours.

    `refusal` is what it answers to whoever engages it; at a rate it does what `drives` says: a list of lines,
    after which it is gone (None), says nothing more ("silent"), or says something else.
    """

    def __init__(self, clock, ahead_ns=0):
        self.clock = clock
        self.ahead_ns = ahead_ns
        self.answers_after_ns = 0
        self.refusal = ""
        self.drives = [{"line": WINDOW[0]}, {"line": WINDOW[1]}, {"line": '{"type": "result"}'}]
        self.engaged = 0
        self.orders = []

    def hear(self, said):
        """What it answers."""
        if said.get("op") == shared_load.ENGAGE:
            self.engaged += 1
            return [{"refused": self.refusal} if self.refusal else {"versions": dict(versions())}]
        if said["do"] == "clock":
            self.clock.now_ns += self.answers_after_ns
            return [{"clock_ns": self.clock.now_ns + self.ahead_ns}]
        if said["do"] == "drive":
            self.orders.append(said["order"])
            return self.drives
        return [{"has": True}]


class Connection:
    """A connection to one."""

    def __init__(self, generator):
        self._generator = generator
        self._said = asyncio.Queue()
        self._closed = False

    async def write(self, said):
        """Asks it."""
        for answer in self._generator.hear(said):
            self._said.put_nowait(answer)

    async def read(self):
        """What it says next."""
        answer = await self._said.get()
        if answer is None:
            raise CommClosedError("it is gone")
        return answer if answer != "silent" else await asyncio.Event().wait()

    def closed(self):
        """Whether it was hung up."""
        return self._closed

    def abort(self):
        """Hangs up."""
        self._closed = True


class Clock:
    """Our monotonic clock, which stands still unless somebody moves it."""

    def __init__(self):
        self.now_ns = 10**15

    def monotonic_ns(self):
        """The time."""
        return self.now_ns


@pytest.fixture
def clock(monkeypatch):
    """The clock of the station."""
    made = Clock()
    monkeypatch.setattr(shared_load, "time", made)
    return made


@pytest.fixture
def generators(clock, monkeypatch):
    """Two generators; the clock of the second is a day ahead."""
    made = {"load1": Generator(clock), "load2": Generator(clock, A_DAY_NS)}

    async def connect(address, **_options):
        return Connection(made[address.removeprefix("tls://127.0.0.1:")])

    monkeypatch.setattr(shared_load, "connect", connect)
    monkeypatch.setattr(shared_load, "own_address", lambda _address: "127.0.0.1")
    # What their results say together is trimtab-load's business.
    monkeypatch.setattr(shared_load, "_merged", lambda _order, results: results)
    return made


@pytest.fixture
def load(generators, tmp_path):
    """The load of both."""
    make_authority(tmp_path)
    make_member(tmp_path, "web1", tmp_path / "web1.pem")
    places = [AtGenerator(name=name, address=f"tls://127.0.0.1:{name}") for name in generators]
    with SharedLoad(places, security_of(tmp_path / "web1.pem"), "web1") as load:
        yield load


@pytest.fixture
def progress():
    """The lines of progress that were told."""
    return []


@pytest.fixture
def drive(load, tmp_path, progress):
    """Drives one rate; the results, and the edges of the window that were told."""
    sessions = tmp_path / "sessions.log"
    sessions.write_text("/index.html\n")
    order = LoadOrder(
        program=tmp_path / "trimtab-load",
        url="http://127.0.0.1:1",
        rate_rps=100.0,
        duration_s=1.0,
        warmup_s=0.1,
        timeout_s=1.0,
        sessions=sessions,
        seed=1,
        cpus=(0,),
        prioritised=False,
        log=tmp_path / "load.log",
    )

    def drive():
        edges = []
        stop = StopSignal()
        try:
            return load.drive(order, (), stop, progress.append, edges.append), edges
        finally:
            stop.close()

    return drive


def test_all_begin_at_one_moment_by_their_own_clocks(drive, generators):
    """Of clocks that are a day apart; wall clocks are not asked, so it does not matter if one is set."""
    results, edges = drive()
    assert len(results) == 2
    assert edges == ["begin", "end"]
    first, second = (generator.orders[0] for generator in generators.values())
    assert second["start_at_ns"] - first["start_at_ns"] == A_DAY_NS
    assert (first["machine"], second["machine"], first["machines"]) == (0, 1, 2)


def test_progress_is_told_when_all_have_told_it_as_that_of_one_load(drive, generators, progress):
    """Counts are sums; of percentiles the largest is told, which no average of theirs would be."""
    line = '{{"type": "progress", "elapsed_s": {}, "requests_replied": {}, "reply_p99_us": {}}}'
    begin, *rest = generators["load1"].drives
    generators["load1"].drives = [begin, {"line": line.format(1.0, 200, 40)}, *rest]
    drive()
    assert progress == []
    generators["load2"].drives = [begin, {"line": line.format(1.1, 190, 90)}, *rest]
    drive()
    assert progress == [{"type": "progress", "elapsed_s": 1.1, "requests_replied": 390, "reply_p99_us": 90}]


def test_clock_that_is_set_between_two_rates_is_found_anew(drive, generators):
    """The next start is by the clock as it is then."""
    drive()
    generators["load2"].ahead_ns = -A_DAY_NS
    drive()
    first, second = (generator.orders[1] for generator in generators.values())
    assert second["start_at_ns"] - first["start_at_ns"] == -A_DAY_NS


def test_last_lines_are_told_even_if_they_come_with_the_end(drive, monkeypatch):
    """They may come after we have looked for lines, and before we look whether that was all."""

    class Late(shared_load._Lines):
        """Whatever comes, comes just after the first look."""

        def __init__(self):
            super().__init__()
            self.kept, self.looked = [], False

        def put(self, machine, line):
            self.kept.append((machine, line))

        def end(self):
            self._wake()

        def taken(self):
            first, self.looked = not self.looked, True
            found = super().taken()
            if first:
                for each in self.kept:
                    super().put(*each)
                super().end()
            return found

    monkeypatch.setattr(shared_load, "_Lines", Late)
    assert drive()[1] == ["begin", "end"]


@pytest.mark.parametrize(
    ("drives", "said"),
    [
        pytest.param([{"line": WINDOW[0]}, None], "the generator load1 was lost", id="killed"),
        pytest.param([None], "the generator load1 was lost", id="killed before it began"),
        pytest.param([{"line": WINDOW[0]}, "silent"], "the generator load1 was lost", id="silent"),
        pytest.param(
            [{"failed": "--start-at: expected a moment to come"}], "the generator load1 gave up", id="late"
        ),
    ],
)
def test_generator_that_fails_makes_the_rate_void_and_is_engaged_anew(
    drive, generators, monkeypatch, drives, said
):
    """The other one is let go as well; the next rate has both again."""
    monkeypatch.setattr(shared_load, "SILENT_S", 0.05 if "silent" in drives else 60.0)
    whole, generators["load1"].drives = generators["load1"].drives, drives
    with pytest.raises(StepVoid, match=said):
        drive()
    monkeypatch.setattr(shared_load, "SILENT_S", 60.0)
    generators["load1"].drives = whole
    assert drive()[1] == ["begin", "end"]
    assert [generator.engaged for generator in generators.values()] == [2, 2]


def test_generator_that_works_for_another_makes_the_rate_void(drive, generators):
    """It says for whom."""
    generators["load2"].refusal = "it works for web2"
    with pytest.raises(StepVoid, match="the generator load2 refused: it works for web2"):
        drive()


def test_clock_that_answers_too_slowly_to_be_told_makes_the_rate_void(drive, generators):
    """Of nine answers none was quick enough."""
    generators["load2"].answers_after_ns = 50_000_000
    with pytest.raises(
        StepVoid, match=r"the clock of the generator load\d could not be told to within 20 ms"
    ):
        drive()


def test_void_rates_blame_no_configuration(settings, monkeypatch):
    """A trial whose rates stay void has no verdict: its station gives it back."""
    driven = []

    def void(*_told):
        driven.append(1)
        raise StepVoid("the generator load1 was lost")

    monkeypatch.setattr(climb, "VOID_PAUSE_S", 0.0)
    load = SimpleNamespace(server_address="127.0.0.1", drive=void)
    whole = completed(job(), 1, lambda: SimpleNamespace(here=(), lacking=()))
    with open_station(settings) as station, pytest.raises(GeneratorsLost, match="6 times in a row"):
        station.carry_out(whole, load=load)
    assert len(driven) == climb.VOID_TRIES
