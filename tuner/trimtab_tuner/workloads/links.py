"""Links between clients and server: the loopback, or pairs of virtual Ethernet interfaces with a rate limit.

The loopback has no rate, one interface and no interrupts of a network card. A link profile puts the clients
into a network namespace of their own, behind as many virtual Ethernet pairs as there are subnets, so that one
machine shows what needs several: a server with a listener for each subnet (the seeds' four-CPU machine had
eight cards and eight subnets), receive queues that are steered to CPUs, and a network that is full before the
server is. Latency is not among it: that would take the kernel's netem.
"""

from typing import Annotated, Literal

from pydantic import Field

from trimtab_tuner.frozen import Frozen

Link = Literal["loopback", "hundred-megabit", "gigabit", "eight-gigabit"]

MOST_SUBNETS = 64


class LinkProfile(Frozen):
    """A link. `rate_mbps` limits each pair in each direction; None is as fast as the kernel copies."""

    name: Link
    help: str
    subnets: Annotated[int, Field(ge=1, le=MOST_SUBNETS)]
    clients_per_subnet: Annotated[int, Field(ge=1, le=64)]
    receive_queues: Annotated[int, Field(ge=1, le=64)]
    rate_mbps: Annotated[int, Field(ge=1)] | None

    @property
    def total_mbps(self) -> float | None:
        """What all its pairs carry together in one direction; None where nothing limits them."""
        return None if self.rate_mbps is None else float(self.rate_mbps * self.subnets)


LINKS: dict[str, LinkProfile] = {
    profile.name: profile
    for profile in (
        LinkProfile(
            name="hundred-megabit",
            help="One interface of 100 Mbit/s: the network is full long before the server is.",
            subnets=1,
            clients_per_subnet=8,
            receive_queues=1,
            rate_mbps=100,
        ),
        LinkProfile(
            name="gigabit",
            help="One interface of 1 Gbit/s with four receive queues.",
            subnets=1,
            clients_per_subnet=8,
            receive_queues=4,
            rate_mbps=1000,
        ),
        LinkProfile(
            name="eight-gigabit",
            help="Eight interfaces of 1 Gbit/s, each with a subnet of its own, as the seeds' server had.",
            subnets=8,
            clients_per_subnet=2,
            receive_queues=1,
            rate_mbps=1000,
        ),
    )
}
"""Every profile but `loopback`, which is the absence of one."""
