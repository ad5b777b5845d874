"""The five affinity plans on two virtual Ethernet pairs, side by side: requests a second at saturation.

The layout is that of N-copy by address: two workers, two subnets, a receive queue each; clients are in a
network namespace. On a machine with two CPUs the generator shares them with the server, which is said with
the result: the order of the plans is that of this machine under that load, and not of a server of its own.
Rounds are interleaved in random order; each plan is applied under the journal and taken back.

    affinity_plans.py [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from trimtab_agent.affinity.steering import Steering
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.link import MadeLink, made_link
from trimtab_agent.station.server.replicas import Replicas
from trimtab_agent.station.server.target_server import ServerOrder
from trimtab_agent.stopping import StopSignal
from trimtab_db import open_database, sqlite_url
from trimtab_tuner.affinity import PLANS, PlanName
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads.content import file_content
from trimtab_tuner.workloads.links import LINKS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server-core" / "bench"))
import report

CPUS = tuple(sorted(os.sched_getaffinity(0))[:2])
CONNECTIONS = 64
FILE = "/8k.bin"
PROFILE = LINKS["eight-gigabit"].model_copy(update={"subnets": 2, "clients_per_subnet": 4, "rate_mbps": None})


def measure(
    plan: PlanName,
    link: MadeLink,
    steering: Steering,
    settings: AgentSettings,
    root: Path,
    seconds: float,
) -> float:
    """Replies a second under one plan."""
    target = TARGETS["core"]
    space = target.space()
    configuration = {**space.default(), "workers": 2, "affinity": plan}
    order = ServerOrder(
        program=settings.httpd_path,
        target=target,
        configuration=configuration,
        root=root,
        cpus=CPUS,
        directory=settings.var,
        name=f"plan-{plan}",
        leftovers=Leftovers(settings.var / "leftovers.json"),
        addresses=link.server_addresses,
    )
    with steering.for_plan(plan, CPUS, link.receiving_devices), Replicas(order, StopSignal()) as server:
        command = [*link.join_command, str(settings.load_path), "closed"]
        command += [
            "--url",
            server.url + FILE,
            "--connections",
            str(CONNECTIONS),
            "--duration",
            f"{seconds:g}",
        ]
        command += ["--destination", ",".join(server.destinations)]
        command += ["--source", ",".join(link.client_addresses), "--processes", "2", "--close", "reset"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    if result["failures"] or set(result["replies"]["by_status"]) != {"200"}:
        raise RuntimeError(f"plan {plan}: {result['failures']}, {result['replies']}")
    return float(result["reply_rate_rps"])


def main() -> None:
    """Measures the plans in rounds and prints the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    rates: dict[PlanName, list[float]] = {plan: [] for plan in PLANS}
    with tempfile.TemporaryDirectory() as temporary:
        settings = AgentSettings(var=Path(temporary))
        root = settings.var / "root"
        root.mkdir()
        (root / FILE[1:]).write_bytes(file_content(FILE, 8192))
        repository = open_database(sqlite_url(settings.var / "trimtab.db"))
        lines = repository.os_changes(repository.register_host(describe_host(settings.var)))
        steering = Steering(SettingsJournal(lines, DirectAccess()))
        with made_link(PROFILE, Leftovers(settings.var / "leftovers.json")) as link:
            for _ in range(options.rounds):
                for plan in random.sample(PLANS, len(PLANS)):
                    rates[plan].append(measure(plan, link, steering, settings, root, options.seconds))
        repository.close()
    print("## Affinity plans\n")
    print(
        f"Two workers, two virtual Ethernet pairs, {CONNECTIONS} connections asking for 8 KB, server and "
        f"generator on the same {len(CPUS)} CPUs; {options.rounds} rounds of {options.seconds:g} s, "
        "interleaved. Median (range) of replies a second, and the ratio to `none` within a round.\n"
    )
    order = sorted(PLANS, key=lambda plan: -statistics.median(rates[plan]))
    rows = [
        [
            plan,
            report.spread(rates[plan], 0),
            report.spread([a / b for a, b in zip(rates[plan], rates["none"], strict=True)]),
        ]
        for plan in order
    ]
    print(report.table(["plan", "replies/s", "ratio to none"], rows))
    print(f"\nOrder here: {' > '.join(order)}. The thesis' on four CPUs with four network cards: aligned > ")
    print("interrupt > misaligned > process > none.")


if __name__ == "__main__":
    main()
