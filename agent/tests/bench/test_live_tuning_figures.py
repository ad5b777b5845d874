"""What the benchmarks of live tuning make of what they have measured, and what the public asks for there."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import live_goodput
import live_harm
import live_recovery
import live_replicas
import live_same
import live_shift
import pytest
from live_goodput import LIVE, SLICES, STATIC, goodput, replied
from live_lab import FILES, Public, arguments, with_values
from live_recovery import BEST, DEFAULT, NOW, OLD, of_the_best
from live_replicas import FILES as FILES_ALONE
from live_replicas import PAGES, session
from trimtab_tuner.targets import TARGETS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lab" / "live-tuning.md"
TURNS = (1, 2, 3, 4)
# Of each benchmark: what it has kept, and the rows that come of it.
MEASURED = {
    live_same: (
        {
            "same": [
                {"action": "give-up", "test": "gain", "requests": 1500, "failed": 0},
                {"action": "roll-back", "test": "gain", "requests": 1500, "failed": 2},
            ]
        },
        ["| episode | 2 | 0 | 1 |", "| t-test after every period | 2 | 2 | 0 |"],
    ),
    live_harm: (
        {
            "harm: a hang": [{"seconds": s, "requests": 1000, "failed": 3} for s in (4.0, 5.0, None)],
            "bluefin: a hang": [
                {"harm": True, "seconds": 30, "requests": 1000, "failed": 500},
                {"harm": False, "seconds": 30, "requests": 1000, "failed": 0},
            ],
        },
        [
            "| a hang | episode | 3 | 2 | 5.0, inf | 3.0, 3 | 0.300% |",
            "| a hang | Bluefin on production | 1 | 0 | 30.0, 30.0 | 500.0, 500 | 50.000% |",
        ],
    ),
    live_shift: (
        {
            "shift: twice the rate": [
                {"seen_s": seen_s, "alarms": alarms, "steady_s": 60.0}
                for seen_s, alarms in ((4.0, 0), (40.0, 1), (None, 0))
            ]
        },
        ["| twice the rate | 3 | 1 | 22.0 | 40.0 | 20.0 |"],
    ),
    live_recovery: (
        {
            "recovery: twice the rate, 15 min": [
                {
                    "costs": {
                        name: [turn / served for turn in TURNS]
                        for name, served in ((NOW, 8), (OLD, 4), (DEFAULT, 5), (BEST, 10))
                    },
                    "kept": 2,
                }
            ]
        },
        ["| twice the rate | 1 | 0 | 2 | 80.0% (80.0% to 80.0%) | 50.0% (50.0% to 50.0%) | 40.0%"],
    ),
    live_goodput: (
        {
            "goodput: as it was, 30 min": [
                {
                    LIVE: {
                        "replied": [995 * turn for turn in TURNS],
                        "offered": 10000,
                        "failed": 3,
                        "decisions": [["promoted", ""], ["promoted", ""], ["kept", ""]],
                    },
                    STATIC: {"replied": [1000 * turn for turn in TURNS], "offered": 10000, "failed": 0},
                }
            ]
        },
        ["| as it was | 1 | 99.50% | 99.50% | yes | 2, 1 | 3, 10,000 | 0, 10,000 |"],
    ),
    live_replicas: (
        {
            "replicas: by turns": [
                {mix: {"with": [9.0, 9.0], "without": [10.0, 10.0]} for mix in (FILES_ALONE, PAGES)}
            ],
            "replicas: policy, 6 min": [
                {"phases": [{"mix": PAGES, "on": 0.0, "said": [[9.0, "off"], [70.4, "on"]]}]}
            ],
        },
        ["| files alone | 2 | -10", "| 1, 1 | four pages in ten | after 9 s off; after 70 s on | 0% |"],
    ),
}
NAMES = [bench.__name__ for bench in MEASURED]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Where benchmarks keep what they measure; they have no time to measure more."""
    monkeypatch.setattr("live_lab.KEPT", tmp_path / "live-tuning.json")
    monkeypatch.setattr("sys.argv", ["bench", "0"])
    return tmp_path / "live-tuning.json"


@pytest.fixture
def public(tmp_path):
    """A generator that has answered a hundred requests in each second."""
    lines = [{"type": "progress", "elapsed_s": s + 0.01, "requests_replied": 100 * s} for s in range(1, 31)]
    lines += [{"type": "window", "elapsed_s": 30.0}, {"type": "result", "requests": {"offered": 3000}}]
    (tmp_path / "output").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return Public(None, tmp_path / "output")


def test_requests_are_counted_slice_by_slice(public):
    """All of them, also where a second of the generator is a little longer."""
    slices = replied(public, 30.0)
    assert slices == [200] * (SLICES // 2)


def test_goodput_is_compared_in_pairs_of_slices():
    """Rates that differ from slice to slice are no noise."""
    static = [1000, 2000, 4000, 1000]
    rounds = [{LIVE: {"replied": [99 * each // 100 for each in static]}, STATIC: {"replied": static}}]
    gain = goodput(rounds)
    assert gain.gain == pytest.approx(-0.01)
    assert gain.low == pytest.approx(-0.01)
    assert goodput([]) is None


def test_capacity_is_the_inverse_of_what_a_request_costs():
    """A request that costs a quarter more leaves four fifths of the capacity."""
    rounds = [{"costs": {NOW: [0.5, 0.05], BEST: [0.4, 0.04]}}, {"costs": {NOW: [5.0], BEST: [4.0]}}]
    assert of_the_best(rounds, NOW).gain == pytest.approx(-0.2)
    assert of_the_best(rounds, BEST).gain == 0


@pytest.mark.parametrize("pages", [0, 4])
def test_session_has_so_many_pages_of_ten_requests(pages):
    """All on one connection."""
    lines = session(pages).splitlines()
    assert (len(lines), sum("?" in line for line in lines)) == (10, pages)
    assert all(line.endswith(" size=8192") for line in lines)


def test_file_of_the_laboratory_takes_values_but_those_of_production_alone():
    """As live tuning would write it."""
    text = FILES["nginx"].format(folder="/f", root="/r", port=8000, further="", site="")
    changed = with_values("nginx", text, {"worker_connections": 512, "backlog": 7})
    assert TARGETS["nginx"].parse(changed) == {**TARGETS["nginx"].parse(text), "worker_connections": 512}
    assert with_values("nginx", text, {}) == text


@pytest.mark.parametrize(
    ("words", "seconds", "minutes"),
    [([], math.inf, 15.0), (["60"], 60.0, 15.0), (["60", "0.5"], 60.0, 0.5)],
)
def test_command_says_how_long_it_may_measure_and_how_long_a_session_lasts(
    words, seconds, minutes, monkeypatch
):
    """Without words it is for ever, and the usual minutes."""
    monkeypatch.setattr("sys.argv", ["live_goodput.py", *words])
    monkeypatch.setattr("live_lab.time", SimpleNamespace(monotonic=lambda: 0.0))
    assert arguments(15.0) == (seconds, minutes)


@pytest.mark.parametrize("bench", MEASURED, ids=NAMES)
def test_benchmark_without_time_says_in_its_section_that_nothing_has_been_measured(bench, kept, capsys):
    """The section is that of the page, where what is measured next takes its place."""
    bench.main()
    sections = capsys.readouterr().out.split("## ")[1:]
    headings = [section.partition("\n")[0] for section in sections]
    assert headings
    assert [line for line in PAGE.read_text().splitlines() if line.removeprefix("## ") in headings] == [
        f"## {heading}" for heading in headings
    ]
    assert all("Nothing of it has been measured yet." in section for section in sections)
    assert not kept.exists()


@pytest.mark.parametrize(("bench", "measured"), MEASURED.items(), ids=NAMES)
def test_benchmark_without_time_prints_what_there_is(bench, measured, kept, capsys):
    """A row for each of what has been measured, in however many parts that was."""
    what, rows = measured
    kept.write_text(json.dumps(what))
    bench.main()
    said = capsys.readouterr().out
    assert [row for row in rows if f"\n{row}" not in said] == []
    assert "Nothing of it" not in said
