"""Values set for a while at a real trimtab-httpd, and put back whoever is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live.production import stats_socket_of
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.switchbacks import ValueTurns, carry_out_switchback, takes_turns
from trimtab_agent.live.switching import Switch, put_values_back
from trimtab_agent.station.server.stats_socket import StatsSocket
from trimtab_tuner.live.episode import Action, Rules
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Observed, Replies, Served
from waiting import until

OWN, OTHER = {"max_connections": 500, "accept_limit": "inf"}, {"max_connections": 300, "accept_limit": 16}

# An agent of its own, which is killed: it says who its keeper is once the candidate is in force.
AGENT = """
import sys
from pathlib import Path
from trimtab_agent.live.switching import Switch
pid, socket, notes = sys.argv[1:]
switch = Switch(int(pid), Path(socket), {"max_connections": 500}, Path(notes))
switch.put({"max_connections": 300})
print(switch._keeper.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def core(production):
    """A server of ours, as it is found."""
    return production("core").seen


def in_force(server, *knobs):
    """The values that it has now."""
    with StatsSocket(stats_socket_of(server)) as stats:
        config = stats.ask("show config")
    return [config[knob] for knob in knobs]


@pytest.fixture
def switch(core, tmp_path):
    """A switch on it."""
    with Switch(core.pid, stats_socket_of(core), OWN, tmp_path / "notes") as made:
        yield made


def test_values_are_in_force_when_they_have_been_put(core, switch):
    """Back and forth."""
    for values in (OTHER, OWN, OTHER):
        switch.put(values)
        assert in_force(core, *OWN) == list(values.values())


def test_closing_puts_the_incumbent_back_and_leaves_nothing(core, switch, tmp_path):
    """Twice is once."""
    switch.put(OTHER)
    assert switch.close() == []
    assert switch.close() == []
    assert in_force(core, *OWN) == list(OWN.values())
    assert list((tmp_path / "notes").iterdir()) == []
    assert psutil.Process().children() == [p for p in psutil.Process().children() if p.pid == core.pid]


def test_a_killed_keeper_is_stood_in_for(core, switch):
    """The next request says that it has ended."""
    switch.put(OTHER)
    switch._keeper.kill()
    switch._keeper.wait()
    with pytest.raises(HostError, match=r"the keeper of the values has ended"):
        switch.put(OWN)
    assert switch.close() == []
    assert in_force(core, *OWN) == list(OWN.values())


def test_what_an_administrator_has_set_meanwhile_stays(core, switch):
    """The other knob is put back."""
    switch.put(OTHER)
    with StatsSocket(stats_socket_of(core)) as stats:
        stats.ask("set max_connections 444")
    with pytest.raises(HostError, match=r"max_connections = 444 has been set by somebody else"):
        switch.put(OTHER)
    assert switch.close() == []
    assert in_force(core, *OWN) == [444, "inf"]


def test_only_the_values_set_last_are_taken_for_ours(core, switch):
    """An administrator may choose what was in force for a while, too."""
    for most in (300, 200, 100):
        switch.put({"max_connections": most, "accept_limit": 16})
    with StatsSocket(stats_socket_of(core)) as stats:
        stats.ask("set max_connections 300")
    assert switch.close() == []
    assert in_force(core, *OWN) == [300, "inf"]


def test_values_of_one_server_are_set_by_one_trimtab_at_a_time(core, switch, tmp_path):
    """The second one is told who the first is."""
    switch.put(OTHER)
    with pytest.raises(HostError, match=rf"process {os.getpid()} sets values of process {core.pid} already"):
        Switch(core.pid, stats_socket_of(core), OWN, tmp_path / "notes")
    assert in_force(core, *OWN) == list(OTHER.values())


def test_a_server_that_has_ended_is_nothing_to_put_back(core, switch):
    """Its file has what was there before."""
    switch.put(OTHER)
    os.kill(core.pid, signal.SIGKILL)
    until(lambda: psutil.Process(core.pid).status() == psutil.STATUS_ZOMBIE)
    with pytest.raises(HostError, match=r"stats socket"):
        switch.put(OWN)
    assert switch.close() == []


@pytest.mark.parametrize("keeper_too", [False, True])
def test_a_killed_agent_leaves_production_as_it_was(core, tmp_path, keeper_too):
    """By its keeper; and where that is killed as well, by the next Trimtab."""
    notes = tmp_path / "notes"
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(core.pid), str(stats_socket_of(core)), str(notes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with agent:
        keeper = Process.of(int(agent.stdout.readline()))
        assert in_force(core, "max_connections") == [300]
        assert put_values_back(notes) == []
        assert in_force(core, "max_connections") == [300], "the agent lives"
        if keeper_too:
            os.kill(keeper.pid, signal.SIGKILL)
        agent.kill()
        agent.stdin.close()
        agent.wait()
    if keeper_too:
        until(lambda: not keeper.lives())  # while it does, the next Trimtab leaves all to it
        assert [json.loads(each.read_text())["agent"]["pid"] for each in notes.iterdir()] == [agent.pid]
        assert put_values_back(notes) == []
    until(lambda: not list(notes.iterdir()))
    assert in_force(core, "max_connections") == [500]


def period(*, cpu_s, waiting=0, requests=500):
    """Half a second of production."""
    served = (Served(requests, 0.001 * requests), *[Served()] * (CLASSES - 1))
    arm = ArmPeriod(served=served, cpu_s=cpu_s, waiting=waiting)
    return Observed(seconds=0.5, arm=arm, replies=Replies(served=served))


@pytest.fixture
def by_turns(core, tmp_path):
    """Carries a switchback out, on traffic that does what `does` says of the value in force."""

    def carry_out(does):
        return carry_out_switchback(
            turns=ValueTurns(
                core, {"max_connections": 500}, {"max_connections": 300}, Path(tmp_path / "notes")
            ),
            rules=Rules(),
            guards=(),
            cpus=1,
            seed=1,
            tick=lambda: does(in_force(core, "max_connections")[0]),
            tell=lambda _: None,
        )

    return carry_out


def test_a_better_value_is_worth_promoting_and_is_not_left_in_force(core, by_turns):
    """What is promoted goes into the file, which is another step."""
    noise = iter(range(10**6))

    def does(in_force):
        return period(cpu_s=(0.10 if in_force == 500 else 0.08) * (1 + 0.01 * (next(noise) % 3)))

    end = by_turns(does)
    assert end.decision.action is Action.PROMOTE, end
    assert end.decision.reason.startswith("CPU time per request is ")
    assert end.evidence["canary"]["cpu_s_per_1000"] < end.evidence["baseline"]["cpu_s_per_1000"]
    assert in_force(core, "max_connections") == [500]


def test_a_value_with_which_nobody_is_answered_is_given_up_within_seconds(core, by_turns):
    """Two seconds of connections that wait are enough."""
    ticks = []

    def does(in_force):
        ticks.append(in_force)
        return period(cpu_s=0.1) if in_force == 500 else period(cpu_s=0.0, waiting=50, requests=0)

    end = by_turns(does)
    assert end.decision.action is Action.ROLL_BACK, end
    assert ticks.count(300) == Rules().hang_periods, "its first block is its last"
    assert in_force(core, "max_connections") == [500]


def test_an_error_in_between_puts_the_values_back(core, by_turns):
    """Whoever detaches ends a switchback that way."""

    def does(in_force):
        if in_force == 300:
            raise HostError("detached")
        return period(cpu_s=0.1)

    with pytest.raises(HostError, match=r"detached"):
        by_turns(does)
    assert in_force(core, "max_connections") == [500]


@pytest.mark.live
def test_limits_on_all_traffic_take_turns_and_others_have_arms(core, production):
    """A share of the connections would never meet such a limit."""
    assert takes_turns(core, ["max_connections"])
    assert takes_turns(core, ["max_connections", "accept_limit"])
    assert not takes_turns(core, ["max_connections", "workers"])
    assert not takes_turns(production("nginx").seen, ["worker_connections"])
