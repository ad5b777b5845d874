"""Comparing generators: the arithmetic, and the real programs against a real server."""

import json

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.generator_peers import Agreement, _rounds
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.terminal.main import main


def test_ratio_is_the_median_of_the_rounds():
    """One disturbed round does not decide."""
    one = Agreement("closed", "wrk", 0.03, (100.0, 100.0, 50.0), (99.0, 101.0, 100.0))
    assert one.ratios == (100 / 99, 100 / 101, 0.5)
    assert one.ratio == 100 / 101
    assert one.agrees
    assert not Agreement("closed", "wrk", 0.03, (100.0,), (96.0,)).agrees


def test_who_is_first_alternates():
    """A drift of the machine favours nobody."""
    said = []
    rates = _rounds(3, lambda: 2.0, lambda: 1.0, lambda number, name: said.append((number, name)), "wrk")
    assert rates == ((2.0, 2.0, 2.0), (1.0, 1.0, 1.0))
    names = [name for _, name in said]
    assert names == ["trimtab-load", "wrk", "wrk", "trimtab-load", "trimtab-load", "wrk"]


def test_generator_without_replies_is_an_error():
    """A ratio to nothing says nothing."""
    with pytest.raises(HostError, match="wrk got no reply"):
        _rounds(1, lambda: 1.0, lambda: 0.0, lambda _number, _name: None, "wrk")


def run(monkeypatch, capfd, *arguments):
    """Runs the command line here; exit code, standard output and standard error."""
    monkeypatch.setattr("sys.argv", ["trimtab", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return (ended.value.code or 0, *capfd.readouterr())


@pytest.mark.live
@pytest.mark.skipif(
    find_installed("wrk") is None or find_installed("httperf") is None,
    reason="wrk or httperf is not installed",
)
def test_comparison_drives_one_server_with_all_generators(monkeypatch, capfd):
    """Short, so only that the figures are there and the open loops offered what was asked for."""
    code, output, progress = run(
        monkeypatch, capfd, "load", "compare", "--duration", "1", "--rounds", "1", "--rate", "500", "--json"
    )
    assert code == 0
    closed, opened = json.loads(output)["comparisons"]
    assert (closed["peer"], opened["peer"]) == ("wrk", "httperf")
    assert min(closed["ours_rps"] + closed["peer_rps"]) > 0
    for rate_rps in opened["ours_rps"] + opened["peer_rps"]:
        assert 0 < rate_rps <= 550
    assert progress.count("round 1 of 1") == 4


def test_url_that_is_none_is_refused(monkeypatch, capfd):
    """Bad input: exit code 2 and the option's name."""
    code, _, complaint = run(monkeypatch, capfd, "load", "compare", "--url", "ftp://x/")
    assert code == 2
    assert "url ftp://x/: expected http://" in complaint


def test_missing_peer_is_named_with_its_package(monkeypatch, capfd):
    """Nothing is driven before everything is there."""
    monkeypatch.setattr("trimtab_agent.station.generator_peers.find_installed", lambda _name: None)
    code, _, complaint = run(monkeypatch, capfd, "load", "compare", "--url", "http://127.0.0.1:1/")
    assert code == 1
    assert "wrk is not installed here; `apt-get install --no-install-recommends wrk` installs it" in complaint


def test_comparison_waits_for_no_run(monkeypatch, capfd, tmp_path):
    """It drives the machine as a run does."""
    with MachineLock(AgentSettings().machine_lock, tmp_path):
        code, _, complaint = run(monkeypatch, capfd, "load", "compare")
    assert code == 3
    assert "is running on this machine" in complaint
