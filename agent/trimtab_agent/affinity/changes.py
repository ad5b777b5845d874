"""From an affinity plan to the masks that put it into force on this host.

A queue with an interrupt is steered by the interrupt's mask. One without (veth, loopback, virtual devices) is
steered by RPS: the CPU that the packet arrives on hands it to the CPU in the queue's mask.
"""

from collections.abc import Sequence

from trimtab_tuner.affinity import QueuePlacement, ReceiveQueue, format_mask

from trimtab_agent.host.topology import Topology
from trimtab_agent.os_settings.journal import Change


def changes_of(placements: Sequence[QueuePlacement], topology: Topology) -> tuple[Change, ...]:
    """The masks that put queues where a plan wants them."""
    width = max((cpu.cpu for cpu in topology.cpus), default=0) + 1
    changes = []
    for placement in placements:
        queue, mask = placement.queue, format_mask((placement.cpu,), width)
        path = (
            f"/proc/irq/{queue.irq}/smp_affinity"
            if queue.irq is not None
            else f"/sys/class/net/{queue.device}/queues/rx-{queue.index}/rps_cpus"
        )
        changes.append(
            Change(path=path, value=mask, why=f"{queue.device} queue {queue.index} to CPU {placement.cpu}")
        )
    return tuple(changes)


def queues_of(topology: Topology, devices: Sequence[str]) -> tuple[ReceiveQueue, ...]:
    """The receive queues of the devices, in their order.

    Raises ValueError, with the devices that there are, for one that is not here, and for one named twice.
    """
    known = [device.name for device in topology.devices]
    for device in devices:
        if device not in known:
            raise ValueError(f"device {device!r} is not here: expected one of {', '.join(known)}")
        if devices.count(device) > 1:
            raise ValueError(f"device {device!r} is named {devices.count(device)} times: expected once")
    return tuple(queue for device in devices for queue in topology.receive_queues(device))
