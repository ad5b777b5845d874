"""The knob that says which CPU serves which worker, and the workers of servers that cannot place them.

trimtab-httpd and nginx pin their workers when their configuration says so. lighttpd, Apache and h2o have no
such setting: whoever starts them puts each worker on its CPU from outside (sched_setaffinity(2)). Their files
say nothing of it, so it is told apart from the server's own settings.
"""

from dataclasses import dataclass
from typing import Literal

from trimtab_tuner import affinity
from trimtab_tuner.space import Knob

AFFINITY = Knob(
    name="affinity",
    kind="categorical",
    choices=affinity.PLANS,
    default="none",
    help=affinity.HELP,
)


@dataclass(frozen=True)
class Workers:
    """What serves: `count` processes or threads of the server beside what merely watches over them."""

    kind: Literal["process", "thread"]
    count: int
