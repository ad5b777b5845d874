"""What the client and the server together know of requests that timed out."""

import json
import os
import signal
import subprocess
import time

import pytest
from load_results import result
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.generator import LoadResult
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.measuring import timed_out_reads
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets.servers.core import CoreTarget


@pytest.mark.parametrize(
    ("counts", "requests_read", "expected"),
    [
        # The server read just what it answered: no timed-out request was read, though the client cannot tell.
        ({"replied": 100, "before": 10, "after": 5}, 100, (0, 0)),
        # It read seven more.
        ({"replied": 100, "before": 10, "after": 5}, 107, (7, 7)),
        # Error replies were read as well.
        ({"replied": 100, "before": 10, "failures": {"status-404": 3, "wrong-length": 1}}, 106, (2, 2)),
        ({"replied": 100, "before": 10, "failures": {"error-1213": 4}}, 106, (2, 2)),
        # Whether the reset ones were read nobody knows: between none and four of the timed-out ones.
        ({"replied": 100, "before": 10, "failures": {"reset": 4}}, 104, (0, 4)),
        ({"replied": 100, "before": 10, "failures": {"reset": 4}}, 109, (5, 9)),
        # What timed out while it connected had not been sent.
        ({"replied": 100, "before": 10, "timed_out_connect": 8}, 105, (2, 2)),
        # Requests of others make the server count more than can have timed out.
        ({"replied": 100, "before": 3}, 150, (3, 3)),
        # A counter that was read a moment too early.
        ({"replied": 100, "before": 3}, 99, (0, 0)),
    ],
)
def test_bounds_follow_from_both_counts(counts, requests_read, expected):
    """Each side alone knows less."""
    assert timed_out_reads(result(**counts), requests_read) == expected


@pytest.mark.live
def test_requests_that_are_read_too_late_are_told(tmp_path):
    """A server that is stopped finds the requests in the kernel when it goes on, all clients gone."""
    settings = AgentSettings()
    target = CoreTarget()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "file").write_bytes(bytes(10))
    order = ServerOrder(
        program=settings.httpd_path,
        target=target,
        configuration={**target.space().default(), "workers": 1},
        root=tmp_path / "root",
        cpus=(0,),
        directory=tmp_path,
        name="server",
        leftovers=Leftovers(tmp_path / "leftovers.json"),
    )
    with TargetServer(order, StopSignal()) as server:
        before = server.stats()
        command = [settings.load_path, "open", f"--url={server.url}/file", "--rate=20", "--duration=0.48"]
        for pid in server.pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            output = subprocess.run(
                [*command, "--timeout=1", "--close=reset"],
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
            ).stdout
        finally:
            for pid in server.pids:
                os.kill(pid, signal.SIGCONT)
        deadline_s = time.monotonic() + 20
        while server.stats()["requests"] < before["requests"] + 10 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        after = server.stats()
    driven = LoadResult.model_validate(json.loads(output.splitlines()[-1]))
    assert driven.requests.timed_out_before_read == 10
    assert timed_out_reads(driven, after["requests"] - before["requests"]) == (10, 10)
