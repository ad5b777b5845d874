"""`trimtab host show | kernel | watch`: the machine, the knobs of its kernel, its counters live."""

from dataclasses import asdict

import typer
from trimtab_tuner.targets.kernel import Needs
from trimtab_tuner.wording import counted

from trimtab_agent.affinity.balancers import balancers
from trimtab_agent.host.cpu_layout import format_cpus, process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.host.topology import NetworkDevice, read_topology
from trimtab_agent.runtime import kernel_of
from trimtab_agent.terminal.commands.options import Commands, Json, console_for, settings_of
from trimtab_agent.terminal.host_watch import watch_host
from trimtab_agent.terminal.output import print_json

FREED: dict[Needs, str] = {
    "nothing": "with --kernel",
    "longer-accept-queue": "with --kernel where the server asks for a longer queue or for none",
    "device-that-polls": "with --kernel",
    "memory-limit": "with --kernel where memory is limited or caches begin cold",
    "to-be-named": "with --knob only",
}
app = Commands(name="host", help="This machine.", no_args_is_help=True)


@app.command()
def show(as_json: Json = False) -> None:
    """Describe this machine, its topology, and how its CPUs would be divided."""
    machine, layout, topology = (
        describe_host(settings_of().var, keep_id=False),
        process_layout(),
        read_topology(settings_of().sysfs),
    )
    others = balancers()
    if as_json:
        print_json(
            {
                **vars(machine),
                "topology": asdict(topology),
                "balancers": [asdict(balancer) for balancer in others],
                "layout": asdict(layout),
                "layout_sentence": layout.sentence(),
            }
        )
        return
    print(f"{machine.name}: {machine.cpu_model}, {counted(machine.cpus, 'CPU')}, Linux {machine.kernel}")
    print(f"Memory: {machine.memory_bytes / 2**30:.1f} GiB")
    for cpu in topology.cpus:
        siblings = [other for other in cpu.siblings if other != cpu.cpu]
        shared = f", shares its core with CPU {format_cpus(tuple(siblings))}" if siblings else ""
        print(f"CPU {cpu.cpu}: core {cpu.core}, socket {cpu.socket}, NUMA node {cpu.node}{shared}")
    for cache in topology.caches:
        kind = "" if cache.kind == "Unified" else f" {cache.kind.lower()}"
        print(f"L{cache.level}{kind} cache of CPU {format_cpus(cache.cpus)}: {_size(cache.size_bytes)}")
    for device in topology.devices:
        print(_device_line(device))
    for balancer in others:
        print(f"{balancer.name} runs (process {balancer.pid}): it {balancer.would_undo}")
    print(f"Layout: {layout.sentence()}\nCPUs: {layout.reason}")


@app.command()
def kernel(as_json: Json = False) -> None:
    """Show which knobs of the kernel can be tuned here, what they are set to, and which are lacking."""
    found = kernel_of(settings_of())
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    for each in found.here:
        knob = each.knob
        unit = f" {knob.unit}" if knob.unit else ""
        where = "namespace" if knob.scope == "namespace" else "whole machine"
        print(f"{knob.name} = {knob.default}{unit}, {knob.allowed} ({where}): {knob.help}")
        print(f"    Tuned {FREED[each.needs]}.")
    for lacking in found.lacking:
        print(f"{lacking.name}: cannot be set here, {lacking.reason}")
    print(f"TLS by the kernel: {f'no, {found.no_tls}' if found.no_tls else 'yes'}")
    for tuner in found.tuners:
        print(f"{tuner}. A trial under which a value moves does not count.")


@app.command()
def watch(
    interval: float = typer.Option(1.0, min=0.1, max=60, help="Seconds between two samples."),
    count: int | None = typer.Option(None, min=1, help="End after so many samples."),
    as_json: Json = False,
) -> None:
    """Show the counters of this machine live; Ctrl-C ends it. With --json one line a sample."""
    watch_host(console_for(), interval_s=interval, count=count, as_json=as_json)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:g} MiB" if size_bytes >= 2**20 else f"{size_bytes // 2**10} KiB"


def _device_line(device: NetworkDevice) -> str:
    receiving = [queue for queue in device.queues if queue.direction == "rx"]
    speed = f", {device.speed_mbps} Mbps" if device.speed_mbps else ""
    irqs = [str(queue.irq) for queue in receiving if queue.irq is not None]
    interrupts = f", interrupts {', '.join(irqs)}" if irqs else ", no interrupts of its own"
    state = "" if device.up else " (down)"
    queues = f"{len(receiving)} receive queue{'s' * (len(receiving) != 1)}"
    return f"{device.name}{state}: {device.driver or 'virtual'}{speed}, {queues}{interrupts}"
