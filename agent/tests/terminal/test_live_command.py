"""`trimtab live`: servers that carry real traffic."""

import json

import pytest
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import StopSignal


@pytest.fixture
def nginx(server_order):
    """A server that runs."""
    with TargetServer(server_order("nginx", worker_processes=2), StopSignal()) as server:
        yield server


@pytest.mark.live
def test_server_that_runs_is_listed_with_what_its_file_sets(trimtab, nginx):
    """As a document for machines."""
    code, output = trimtab("live", "servers", str(nginx.port), "--json").finish()
    (found,) = json.loads(output)
    assert (code, found["target"], found["processes"]) == (0, "nginx", 3)
    assert f"127.0.0.1:{nginx.port}" in found["addresses"]
    assert found["values"]["worker_processes"] == 2
    assert (found["obstacles"], found["trouble"]) == ([], None)


@pytest.mark.live
def test_server_that_runs_is_shown_to_people(trimtab, nginx):
    """By itself with its knobs; the list leaves out a server that Trimtab itself has started."""
    code, output = trimtab("live", "servers", "--json").finish()
    assert (code, [each for each in json.loads(output) if each["pid"] in nginx.pids]) == (0, [])
    code, output = trimtab("live", "servers", str(nginx.port)).finish()
    assert code == 0
    assert "Connections can be shared: yes." in output
    assert "worker_connections" in output


def test_server_that_does_not_run_is_bad_input(trimtab):
    """The sentence says how to find those that do."""
    code, output = trimtab("live", "servers", "no-such-server").finish()
    assert code == 2
    assert "none of that name, unit, pid or port runs here" in " ".join(output.split())


@pytest.mark.live
def test_file_that_makes_no_sense_is_told_and_the_server_still_shown(trimtab, nginx, tmp_path):
    """Its administrator may be about to change it."""
    (file,) = tmp_path.rglob("*.conf")
    file.write_text("worker_processes {")
    code, output = trimtab("live", "servers", str(nginx.port), "--json").finish()
    (found,) = json.loads(output)
    assert (code, found["values"]) == (0, {})
    assert "It cannot be read" in found["trouble"]
