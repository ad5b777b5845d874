"""One real run with its server and its generator on two hosts, beside the same run on one machine.

    python agent/bench/fleet_two_hosts.py [MINUTES]

The two hosts are network namespaces of this machine, joined by a bridge; each has the CPUs that its program
has in the run on one machine: the server those of the server, the generator those of the generator. So what
differs is that the agent, too, lives beside the server, and the way between the two:

    loopback   one machine as it is without being told
    link       one machine, the generator in a namespace behind a pair of virtual Ethernet interfaces of
               1 Gbit/s (--link gigabit), which what is asked for here does not fill
    two hosts  `trimtab tune --generator load1` on the host web1

Compared is what the server can do at most, so the server must give out first, in each of the three. With a
CPU for each, files do not show that: the generator takes about as much time for a request as the server. All
that is asked for are pages of PHP, which cost the server some tenths of a millisecond and the generator some
hundredths. The loop is closed: with each of two numbers of connections the server is asked for more as soon
as it has replied, so a peak is what it can do, whatever that is on the arm's way, and no rate has to be
chosen.

Each run measures the default, and then its exported file. It is short, and the arms take turns until the
time (half an hour without being told) is over, three rounds at least: a virtual machine is faster in one
minute than in the next, and only what was measured in the same one compares. A trial whose peak says nothing
is told apart and left out: one that was disturbed, failed, or found the generator at its limit, and one in
which the server's CPUs had time left, or the hypervisor took some. So is a run that ended without trials.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import psutil
from pydantic import TypeAdapter
from rack_lab import DIES_WITH_US, minutes_asked, rack_with_scheduler
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.statistics import Gain, paired_gain

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet_rack import Rack, RackHost

LEAST_ROUNDS = 3
LIMIT_S = 600.0  # of one run
WITHIN = 0.03
MOST_IDLE_PERCENT = 10.0  # of the server's CPUs at its limit
MOST_STOLEN_PERCENT = 2.0
PAGES = """
name = "pages"
help = "Pages of PHP and nothing else, over connections that never pause."
source = "chosen so that the server gives out long before the generator"

[files]
kind = "listed"
list = [{ size_bytes = 1024 }]

[sessions]
kind = "plain"
requests = 20

[dynamic]
by = "php"
share = 1.0
size_bytes = 8192

[clients]
loop = "closed"
connections = [8, 16]
"""
RUN = (
    *("--target", "nginx", "--objective", "peak", "--strategy", "random", "--budget", "1"),
    *("--set", "confirmation_repeats=0", "--set", "elimination_trials=0", "--set", "learn=false"),
    *("--set", "expert_baseline=false", "--set", "early_stopping=false"),
    *("--set", "rate_duration_s=3", "--set", "warmup_s=0.5", "--json"),
)


class Arm(NamedTuple):
    """One way to run: on which host, with which CPUs and which further options."""

    name: str
    host: RackHost
    cpus: tuple[int, ...]
    options: tuple[str, ...] = ()


@dataclass
class Found:
    """What an arm has found: the peaks of each round (Mbps, by what the trial was for), how often what was
    void and why, how idle the server's CPUs were at most (percent), and how busy the generator's at most.
    """

    rounds: list[dict[TrialPurpose, float]] = field(default_factory=list)
    void: Counter[str] = field(default_factory=Counter)
    idle_percent: float = 0.0
    generator_share: float = 0.0

    def take(self, trials: Sequence[Trial], server: Sequence[int]) -> None:
        """Takes in the trials of a round."""
        peaks: dict[TrialPurpose, float] = {}
        for trial in trials:
            if trial.verdict is not Verdict.VERIFIED or trial.score is None:
                self.void[trial.verdict.value] += 1
                continue
            best = max(trial.measurements, key=lambda measurement: measurement.goodput_mbps)
            idle, stolen = (percent(best, server, state) for state in ("idle", "steal"))
            if idle > MOST_IDLE_PERCENT:
                self.void["with time left on the server's CPUs"] += 1
                continue
            if stolen > MOST_STOLEN_PERCENT:
                self.void["with time that the hypervisor took"] += 1
                continue
            self.idle_percent = max(self.idle_percent, idle)
            self.generator_share = max(self.generator_share, best.generator_cpu_share or 0.0)
            peaks.setdefault(trial.purpose, trial.score)
        self.rounds.append(peaks)


def percent(measurement: Measurement, server: Sequence[int], state: str) -> float:
    """How much of the time of the server's CPUs was in that state."""
    return fmean(cpu.get(state, 0.0) for cpu in measurement.cpus(server))


def trials_of(arm: Arm, workload: Path) -> tuple[Trial, ...]:
    """The trials of a run; none, and why on stderr, if it did not come to its end."""
    try:
        done = subprocess.run(
            arm.host.command(
                *("tune", "--workload", str(workload), *RUN, *arm.options),
                ahead=(*DIES_WITH_US, *_only_on(arm.cpus)),
            ),
            env=arm.host.environ(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        document = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        print(f"{arm.name}: no end within {LIMIT_S:.0f} s", file=sys.stderr, flush=True)
        return ()
    except ValueError:
        print(f"{arm.name}: {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr, flush=True)
        return ()
    return TypeAdapter(tuple[Trial, ...]).validate_python(document["trials"])


def measured(rack: Rack, minutes: float, server: tuple[int, ...], generator: tuple[int, ...]) -> list[Found]:
    """What the arms have found: loopback, link, and two hosts."""
    workload = rack.folder / "pages.toml"
    workload.write_text(PAGES)
    alone = rack.own("alone")
    web1, load1 = rack.host("web1"), rack.host("load1")
    load1.join("generator", ahead=(*DIES_WITH_US, *_only_on(generator)))
    both = tuple(sorted({*server, *generator}))
    arms = (
        Arm("loopback", alone, both),
        Arm("link", alone, both, ("--link", "gigabit")),
        Arm("two hosts", web1, server, ("--generator", "load1")),
    )
    found = [Found() for _ in arms]
    until = time.monotonic() + 60 * minutes
    rounds = 0
    while rounds < LEAST_ROUNDS or time.monotonic() < until:
        turns = list(zip(arms, found, strict=True))
        for arm, own in turns if rounds % 2 == 0 else reversed(turns):
            trials = trials_of(arm, workload)
            own.take(trials, server)
            if not trials:
                own.void["a run without trials"] += 1
            told = f"{[round(peak, 1) for peak in own.rounds[-1].values()]} Mbps, void {dict(own.void)}"
            print(f"round {rounds + 1}, {arm.name}: {told}", file=sys.stderr, flush=True)
        rounds += 1
    return found


def compared(one: Found, other: Found) -> Gain | None:
    """What the other gives beside the one, over the same trials of the same rounds."""
    rounds = zip(one.rounds, other.rounds, strict=True)
    pairs = [(a[key], b[key]) for a, b in rounds for key in a.keys() & b.keys()]
    return paired_gain([a for a, _ in pairs], [b for _, b in pairs])


def near(gain: Gain) -> str:
    """Whether it is within `WITHIN`, as far as its interval shows that."""
    if gain.low is None or gain.high is None:
        return "not shown"
    if gain.low >= -WITHIN and gain.high <= WITHIN:
        return "yes"
    return "no" if gain.low > WITHIN or gain.high < -WITHIN else "not shown"


def _only_on(cpus: tuple[int, ...]) -> tuple[str, ...]:
    return ("taskset", "--cpu-list", ",".join(map(str, cpus)))


def main() -> None:
    """Prints the section."""
    minutes = minutes_asked(30)
    layout = process_layout()
    psutil.Process().cpu_affinity(list(layout.generator))  # and the scheduler's: nothing is beside the server
    with rack_with_scheduler() as rack:
        loopback, link, two_hosts = measured(rack, minutes, layout.server, layout.generator)
    print("## Two hosts beside one machine\n")
    print(
        "The same runs with server and generator on two hosts, network namespaces of this machine, and on "
        f"one machine (`agent/bench/fleet_two_hosts.py`): peaks of nginx with pages of PHP in "
        f"{len(two_hosts.rounds)} rounds, each of the default and of its exported file.\n"
    )
    print(f"| two hosts beside one machine with | peak | pairs | within {WITHIN:.0%} |")
    print("| --- | --- | ---: | --- |")
    for name, one in (("loopback", loopback), ("link", link)):
        gain = compared(one, two_hosts)
        if gain is None:
            print(f"| {name} | nothing to compare | 0 | no |")
            continue
        print(f"| {name} | {gain} | {gain.blocks} | {near(gain)} |")
    print("\n| arm | server's CPUs idle, most | generator's busiest process, most | void |")
    print("| --- | ---: | ---: | --- |")
    for name, arm in (("loopback", loopback), ("link", link), ("two hosts", two_hosts)):
        void = ", ".join(f"{count} {why}" for why, count in sorted(arm.void.items())) or "none"
        print(f"| {name} | {arm.idle_percent:.1f} % | {arm.generator_share:.0%} of a CPU | {void} |")


if __name__ == "__main__":
    main()
