"""Knobs that whoever starts a server carries out: how many instances of it there are, and on which CPUs.

Replicas are several instances of the server, each at addresses of its own and on its share of the CPUs. No
server's file says anything of them: every target has these knobs, and every other knob counts for each of the
instances.

trimtab-httpd and nginx pin their workers when their configuration says so. lighttpd, Apache and h2o have no
such setting: whoever starts them puts each worker on its CPU from outside (sched_setaffinity(2)). Their files
say nothing of it, so it is told apart from the server's own settings.
"""

from dataclasses import dataclass
from typing import Literal

from trimtab_trials.configuration import Configuration

from trimtab_tuner import affinity
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, OnlyWith

AFFINITY = Knob(
    name="affinity",
    role=Role.PLACEMENT,
    kind="categorical",
    choices=affinity.PLANS,
    default="none",
    help=affinity.HELP,
)

REPLICAS = "replicas"
REPLICA_PLACEMENT = "replica_placement"
REPLICA_KNOBS = (REPLICAS, REPLICA_PLACEMENT)


def replica_knobs(cpus: int) -> tuple[Knob, ...]:
    """The knobs of replicas for a server that may use so many CPUs."""
    return (
        Knob(
            name=REPLICAS,
            kind="integer",
            low=1,
            high=max(1, cpus),
            default=1,
            unit="instances",
            resource_weight=3000.0,
            help="Instances of the server at addresses of their own, each on its share of the CPUs; all "
            "other knobs count for each of them.",
        ),
        Knob(
            name=REPLICA_PLACEMENT,
            kind="categorical",
            choices=affinity.REPLICA_PLACEMENTS if cpus > 1 else affinity.REPLICA_PLACEMENTS[:1],
            default="none",
            help="Where the receive queues of an instance's network device go: direct on its own CPUs, "
            "indirect on the next instance's; only with several replicas behind a link.",
        ),
    )


def replica_constraints(plan_knob: str) -> tuple[OnlyWith, ...]:
    """A placement wants several replicas, and the queues for itself; `plan_knob` has the affinity plan."""
    plans = tuple(plan for plan in affinity.PLANS if not affinity.steers_queues(plan))
    return (
        OnlyWith(knob=REPLICA_PLACEMENT, otherwise="none", other=REPLICAS, above=1),
        OnlyWith(knob=REPLICA_PLACEMENT, otherwise="none", other=plan_knob, among=plans),
    )


def replicas_of(configuration: Configuration) -> int:
    """How many instances a configuration asks for; 1 where it says nothing of them."""
    return int(configuration.get(REPLICAS, 1))


def placement_of(configuration: Configuration) -> affinity.ReplicaPlacement:
    """The placement in a configuration; `none` where it says nothing of it."""
    for placement in affinity.REPLICA_PLACEMENTS:
        if configuration.get(REPLICA_PLACEMENT) == placement:
            return placement
    return "none"


@dataclass(frozen=True)
class Workers:
    """What serves: `count` processes or threads of the server beside what merely watches over them."""

    kind: Literal["process", "thread"]
    count: int
