"""What the benchmarks of live tuning make of what they have measured, and what the public asks for there."""

import json
import math
from types import SimpleNamespace

import pytest
from live_goodput import LIVE, SLICES, STATIC, goodput, replied
from live_lab import FILES, Public, arguments, with_values
from live_recovery import BEST, NOW, of_the_best
from live_replicas import session
from trimtab_tuner.targets import TARGETS


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
