"""All statements: those that are measured, by number, and those that cannot be tried here, with why."""

from statements_accepting import OF_ACCEPTING
from statements_processes import OF_PROCESSES
from statements_scarce import OF_SCARCE_MEMORY
from statements_sizes import OF_SIZES
from statements_stages import OF_STAGES

STATEMENTS = tuple(
    sorted(
        (*OF_PROCESSES, *OF_SIZES, *OF_SCARCE_MEMORY, *OF_ACCEPTING, *OF_STAGES), key=lambda one: one.number
    )
)

ONE_SERVER_CPU = "of two CPUs one generates the load, so one is left to serve"
NOT_TRIED = (
    (
        17,
        "Affinity order: aligned, interrupt, misaligned, process, none",
        "the loopback has no interrupts, and " + ONE_SERVER_CPU,
    ),
    (18, "Unpartitioned servers show more softirq time and less throughput", ONE_SERVER_CPU),
    (
        20,
        "Hybrids come within about 4 % of N-copy's peak",
        "with one CPU there is one copy and one partition: both are the same server",
    ),
    (22, "Floating stages gain from unequal network cards", "it needs several network cards and CPUs"),
    (23, "Four CPUs give well under four times the throughput of one", ONE_SERVER_CPU),
    (
        29,
        "Replicas help static load and hurt dynamic load",
        "a replica is for a socket of its own, and there is one socket",
    ),
)
"""Number, claim, and why it cannot be tried on a machine like this one."""
