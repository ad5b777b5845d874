"""One real run with its server and its generator on two hosts, beside the same run on one machine.

    python agent/bench/fleet_two_hosts.py [MINUTES]

The two hosts are network namespaces of this machine, joined by a bridge; each has the CPUs that its program
has in the run on one machine: the server those of the server, the generator those of the generator. So what
differs is that the agent, too, lives beside the server, and the way between the two:

    loopback   one machine as it is without being told
    link       one machine, the generator in a namespace behind a pair of virtual Ethernet interfaces of
               1 Gbit/s (--link gigabit), which what is asked for here does not fill
    two hosts  `trimtab tune --generator load1` on the host web1

All three drive the same configurations up the same ladder, which a first run on one machine finds, and take
turns until the time (half an hour without being told) is over, three rounds at least. What is compared are
scores of the same configuration in the same round.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rack_lab import DIES_WITH_US, minutes_asked, rack_with_scheduler
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_tuner.certainty.statistics import Gain, paired_gain

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet_rack import Rack, RackHost

LEAST_ROUNDS = 3
BUDGET = 2  # the default and another one
FIRST_LIMIT_S, LIMIT_S = 1200.0, 900.0  # of one run
WITHIN = 0.03
RUN = (
    *("--workload", "tcp-1k", "--objective", "peak", "--strategy", "random", "--seed", "1"),
    *("--budget", str(BUDGET), "--set", "confirmation_repeats=0", "--set", "elimination_trials=0"),
    *("--set", "early_stopping=false", "--set", "learn=false", "--set", "ladder_points=5"),
    *("--set", "rate_duration_s=3", "--set", "expert_baseline=false", "--json"),
)


class Arm(NamedTuple):
    """One way to run: on which host, with which CPUs and which further options."""

    name: str
    host: RackHost
    cpus: tuple[int, ...]
    options: tuple[str, ...] = ()


def run_on(arm: Arm, *options: str, limit_s: float = LIMIT_S) -> dict[str, Any]:
    """The document of a run; raises RuntimeError for one without trials."""
    done = subprocess.run(
        arm.host.command("tune", *RUN, *arm.options, *options, ahead=(*DIES_WITH_US, *_only_on(arm.cpus))),
        env=arm.host.environ(),
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"{arm.name}: {done.returncode}\n{done.stdout}{done.stderr}") from None
    return document


def scores(document: dict[str, Any]) -> dict[str, float]:
    """The first score of each configuration that has one, by its hash."""
    found: dict[str, float] = {}
    for trial in document["trials"]:
        if trial["score"] is not None:
            found.setdefault(trial["configuration_hash"], trial["score"])
    return found


def measured(rack: Rack, minutes: float) -> dict[str, list[dict[str, float]]]:
    """The scores of each arm, round by round."""
    layout = process_layout()
    alone = rack.own("alone")
    web1, load1 = rack.host("web1"), rack.host("load1")
    load1.join("generator", ahead=(*DIES_WITH_US, *_only_on(layout.generator)))
    both = tuple(sorted({*layout.server, *layout.generator}))
    arms = (
        Arm("loopback", alone, both),
        Arm("link", alone, both, ("--link", "gigabit")),
        Arm("two hosts", web1, layout.server, ("--generator", "load1")),
    )
    until = time.monotonic() + 60 * minutes
    first = run_on(arms[0], limit_s=FIRST_LIMIT_S)
    ladder = ",".join(f"{rate:g}" for rate in first["run"]["ladder"])
    if not ladder:
        raise RuntimeError(f"the first run has found no ladder: {first['run']['error']}")
    found: dict[str, list[dict[str, float]]] = {arm.name: [] for arm in arms}
    rounds = 0
    while rounds < LEAST_ROUNDS or time.monotonic() < until:
        for arm in arms if rounds % 2 == 0 else reversed(arms):
            found[arm.name].append(scores(run_on(arm, "--ladder", ladder)))
            print(f"round {rounds + 1}, {arm.name}: {found[arm.name][-1]}", file=sys.stderr, flush=True)
        rounds += 1
    return found


def compared(one: Sequence[dict[str, float]], other: Sequence[dict[str, float]]) -> Gain | None:
    """What the other gives beside the one, over the same configurations of the same rounds."""
    pairs = [(a[key], b[key]) for a, b in zip(one, other, strict=True) for key in a.keys() & b.keys()]
    return paired_gain([a for a, _ in pairs], [b for _, b in pairs])


def _only_on(cpus: tuple[int, ...]) -> tuple[str, ...]:
    return ("taskset", "--cpu-list", ",".join(map(str, cpus)))


def main() -> None:
    """Prints the section."""
    minutes = minutes_asked(30)
    with rack_with_scheduler() as rack:
        found = measured(rack, minutes)
    print("## Two hosts beside one machine\n")
    print(
        "The same runs with server and generator on two hosts, network namespaces of this machine, and on "
        f"one machine (`agent/bench/fleet_two_hosts.py`): peaks of {BUDGET} configurations in "
        f"{len(found['two hosts'])} rounds.\n"
    )
    print(f"| two hosts beside one machine with | peak | pairs | within {WITHIN:.0%} |")
    print("| --- | --- | ---: | --- |")
    for name in ("loopback", "link"):
        gain = compared(found[name], found["two hosts"])
        if gain is None:
            print(f"| {name} | nothing to compare | 0 | no |")
            continue
        near = "yes" if abs(gain.gain) <= WITHIN else "no"
        print(f"| {name} | {gain} | {gain.blocks} | {near} |", flush=True)


if __name__ == "__main__":
    main()
