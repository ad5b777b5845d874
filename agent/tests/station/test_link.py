"""Links between namespaces: with the kernel's own, skipped with the reason where they cannot be made."""

import errno
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from live_support import tiny_options, tiny_spec, wait_until_gone
from trimtab_agent.errors import HostError
from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.runtime import open_runtime
from trimtab_agent.station import link
from trimtab_agent.station.leftovers import Leftover, Leftovers
from trimtab_agent.station.link import KIND, made_link, remove, require_links
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_tuner.workloads.links import LINKS


@pytest.fixture
def journal(tmp_path):
    """A journal of the test's own."""
    return Leftovers(tmp_path / "leftovers.json")


def namespaces():
    """Our namespaces that exist."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if f"trimtab-{os.getpid()}" in line}


def test_what_fails_while_a_link_is_there_is_not_called_its_refusal(monkeypatch, journal):
    """A full disk in the middle of a run is told as a full disk."""
    monkeypatch.setattr(link, "_ip", lambda *_: "[]")
    monkeypatch.setattr(link, "_make", lambda _, name: link.MadeLink(name, (), ()))
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space left") as failure, made_link(LINKS["gigabit"], journal):
        raise full
    assert failure.value is full
    assert journal.entries() == []


@pytest.mark.kernel
@pytest.mark.parametrize("name", LINKS)
def test_every_client_reaches_the_server_of_its_subnet(links, journal, name):
    """And nothing is left when the link goes."""
    profile = LINKS[name]
    with made_link(profile, journal) as made:
        assert len(made.server_addresses) == profile.subnets
        assert len(made.client_addresses) == profile.subnets * profile.clients_per_subnet
        assert journal.entries() == [Leftover(KIND, made.name)]
        with socket.create_server(("", 0), backlog=64) as server:
            port = server.getsockname()[1]
            code = "import socket, sys\n"
            for number, client in enumerate(made.client_addresses):
                address = made.server_addresses[number % profile.subnets]
                pair = f"('{address}', {port}), 60, source_address=('{client}', 0)"
                code += f"socket.create_connection({pair}).close()\n"
            done = subprocess.run([*made.join_command, "python3", "-c", code], check=False)
        assert done.returncode == 0
        queues = Path(f"/sys/class/net/t{os.getpid()}s0/queues").glob("rx-*")
        assert len(list(queues)) == profile.receive_queues
    assert namespaces() == set()
    assert not list(Path("/sys/class/net").glob(f"t{os.getpid()}s*"))
    assert journal.entries() == []


@pytest.mark.kernel
def test_rate_limit_is_on_both_ends(links, journal):
    """A token bucket of the profile's rate."""
    with made_link(LINKS["hundred-megabit"], journal) as made:
        for where in ((), ("-n", made.name)):
            shown = subprocess.run(
                ["tc", "-j", *where, "qdisc", "show"], capture_output=True, text=True, check=True
            ).stdout
            rates = [q["options"]["rate"] for q in json.loads(shown) if q["kind"] == "tbf"]
            assert rates == [100_000_000 // 8]


@pytest.mark.kernel
def test_subnets_in_use_are_passed_over(links, journal, tmp_path):
    """Two links of one host have different addresses."""
    with made_link(LINKS["gigabit"], journal) as made:
        used = made.server_addresses[0].rsplit(".", 1)[0]
        assert used not in {str(net.network_address).rsplit(".", 1)[0] for net in link._free_subnets(8)}


@pytest.mark.kernel
def test_removing_what_is_not_there_does_nothing(links):
    """So that a journal can be cleared twice."""
    remove(f"trimtab-{os.getpid()}")


def test_machine_without_iproute2_is_refused_with_the_reason(monkeypatch):
    """Never silently on the loopback."""
    monkeypatch.setattr(link, "find_installed", lambda name: None)
    with pytest.raises(HostError, match=r"program ip is not installed \(package iproute2\).*link = loopback"):
        require_links()


@pytest.mark.live
@pytest.mark.kernel
def test_run_over_a_link_is_limited_by_its_rate(links, runtime, listener):
    """At 100 Mbit/s no rate has more goodput than the wire carries; namespaces are gone afterwards."""
    spec = tiny_spec(calibration_start_rps=4000.0).model_copy(update={"link": "hundred-megabit"})
    run_id = runtime.service.start(spec)
    listener.wait_for("measurement")
    runtime.service.stop(run_id)
    runtime.service.wait()
    measurement = runtime.repository.trial(run_id, 1).measurements[0]
    assert 0 < measurement.goodput_mbps <= 100
    assert namespaces() == set()


@pytest.mark.live
@pytest.mark.kernel
def test_full_link_is_diagnosed_from_what_was_recorded(links, runtime):
    """Four times what 100 Mbit/s carry: the rule finds the link, also where nothing could be verified."""
    # Near what the link carries, and far beyond it. A trial that the host spoils ends before the link is
    # full.
    ladder = (850.0, 900.0, 950.0, 4000.0)
    spec = tiny_spec(
        ladder=ladder, rate_duration_s=1.5, warmup_s=0.5, budget_trials=1, confirmation_repeats=0
    )
    spec = spec.model_copy(update={"link": "hundred-megabit", "knobs": {"workers": KnobSpec(low=1, high=4)}})
    for _ in range(5):
        run_id = runtime.service.start(spec)
        runtime.service.wait()
        if all(len(t.measurements) == len(ladder) for t in runtime.repository.whole_trials(run_id)):
            break
    findings = {found.rule: found for found in analyse_run(runtime.repository, run_id).findings}
    found = findings["link-is-the-bottleneck"]
    assert {fact.name: fact.value for fact in found.facts}["link"] == 100
    assert namespaces() == set()


@pytest.mark.live
@pytest.mark.kernel
def test_killed_run_leaves_a_namespace_that_the_next_start_removes(links, settings, trimtab):
    """kill -9 in the middle of a trial."""
    command = trimtab("tune", "--link=gigabit", *tiny_options())
    command.wait_for_line("requests/s")
    ((_, name),) = json.loads((Path(settings.var) / "leftovers.json").read_text())
    children = command.descendants()
    command.process.kill()
    command.process.wait()
    wait_until_gone(children)
    assert Path("/run/netns", name).exists()
    with open_runtime(settings):
        assert not Path("/run/netns", name).exists()
    assert not (Path(settings.var) / "leftovers.json").exists()
