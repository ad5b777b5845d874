"""How much longer a server takes to start under the agent than by itself, and how long it takes to stop.

*Under the agent* is a whole start as a trial does it: render, the server's own check, guard, status page. *By
itself* is the same program with the same file, from its start until it answers over HTTP. The two take turns.
"""

from __future__ import annotations

import http.client
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, Target

ROUNDS = 10


def by_itself_s(target: Target, program: Path, root: Path, directory: Path) -> float:
    """Seconds from the start of the program until it answers."""
    ports = HeldPorts()
    port = ports.take()
    listen = f"{ADDRESS}:{port}"
    context = RenderContext(root=str(root), listen=(listen,), prefix=str(directory))
    file = directory / "alone.conf"
    file.write_text(target.render(target.space().default(), context))
    command = target.start_command(str(file), str(program))
    prefix = () if target.name == "core" else command_prefix((file, root))
    with (directory / "alone.log").open("w") as log:
        hand_over(Path(log.name))
        begun_s = time.monotonic()
        child = subprocess.Popen((*prefix, *command), stdout=log, stderr=log)
        try:
            while not _answers(port):
                if child.poll() is not None:
                    raise RuntimeError(f"{target.name} ended: {Path(log.name).read_text()}")
                time.sleep(0.002)
            return time.monotonic() - begun_s
        finally:
            ports.let_go()
            child.terminate()
            child.wait(10)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=5)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except OSError:
        return False
    finally:
        connection.close()
    return True


def under_the_agent_s(order: ServerOrder) -> tuple[float, float]:
    """Seconds until the server is ready, and seconds that stopping takes."""
    begun_s = time.monotonic()
    server = TargetServer(order, StopSignal())
    ready_s = time.monotonic() - begun_s
    begun_s = time.monotonic()
    server.stop()
    return ready_s, time.monotonic() - begun_s


def main() -> None:
    """Starts every server that is installed here, and prints the section."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))[:1]
    print("## Starting a server\n")
    print(f"Medians of {ROUNDS} starts each, in ms, taking turns (default configuration).\n")
    print("| server | by itself | under the agent | more | stop |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        hand_over(directory)
        root = directory / "root"
        root.mkdir()
        (root / "index.html").write_text("hello\n")
        for name, target in TARGETS.items():
            program = AgentSettings().httpd_path if name == "core" else find_installed(target.program)
            if program is None:
                continue
            order = ServerOrder(
                program=program,
                target=target,
                configuration=target.space().default(),
                root=root,
                cpus=cpus,
                directory=directory,
                name="trial-1",
                leftovers=Leftovers(directory / "leftovers.json"),
            )
            alone, started, stopped = [], [], []
            for _ in range(ROUNDS):
                alone.append(by_itself_s(target, program, root, directory))
                ready_s, stop_s = under_the_agent_s(order)
                started.append(ready_s)
                stopped.append(stop_s)
            more = statistics.median(b - a for a, b in zip(alone, started, strict=True))
            figures = (statistics.median(alone), statistics.median(started), more, statistics.median(stopped))
            print(f"| {name} | {' | '.join(f'{1000 * seconds:.0f}' for seconds in figures)} |")


if __name__ == "__main__":
    main()
