"""The files of a server that was measured as several replicas: one of each, and how systemd starts them.

Addresses, run-time directories and CPUs are those of the instance; everything else is the same. The first
instance's file is exported under the format of the server, those of the others with their number behind it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import IPv4Address

from trimtab_tuner.affinity import cpus_of_replicas, pins_workers
from trimtab_tuner.exports.order import ExportFile, ExportOrder
from trimtab_tuner.markdown import markdown_table
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.base import RenderContext, plan_of
from trimtab_tuner.targets.placement import placement_of, replicas_of


def contexts(order: ExportOrder) -> tuple[RenderContext, ...]:
    """Where each instance runs; the order's own context where there is one instance only."""
    replicas, context = replicas_of(order.configuration), order.context
    if replicas == 1:
        return (context,)
    shares = cpus_of_replicas(context.server_cpus, replicas) if context.server_cpus else ((),) * replicas
    return tuple(_of_instance(context, number, share) for number, share in enumerate(shares))


def each(order: ExportOrder, make: Callable[[ExportOrder, str], ExportFile]) -> Iterator[ExportFile]:
    """A file for each instance; `make` gets the order in the instance's place, and what is added to names."""
    places = contexts(order)
    if len(places) == 1:
        yield make(order, "")
        return
    for number, context in enumerate(places, start=1):
        file = make(replace(order, context=context), f"-{number}")
        stem, _, ending = file.file_name.rpartition(".")
        yield replace(
            file,
            format=file.format if number == 1 else f"{file.format}-{number}",
            file_name=f"{stem}-{number}.{ending}",
        )


def format_of_first(name: str) -> str:
    """The format of the first instance's file, from that of any instance."""
    return re.sub(r"-\d+$", "", name)


def units(order: ExportOrder) -> Iterator[ExportFile]:
    """A template unit of systemd, and a drop-in for each instance with its CPUs."""
    unit, demands = _unit(order), order.target.demands(order.written)
    text = say.comment(
        f"Template unit for {len(contexts(order))} replicas of {order.target.name}.",
        f"Install: cp '{unit}@.service' /etc/systemd/system/, the drop-ins as they say, then",
        _start(order),
        f"Verify live: systemctl status '{unit}@*'",
        say.measured_on(order.evidence),
    )
    stem, _, ending = order.target.file_name.rpartition(".")
    command = order.target.start_command(f"{order.context.prefix}/{stem}-\0.{ending}")
    text += (
        f"[Unit]\nDescription={order.target.name}, replica %i\nAfter=network.target\n\n"
        f"[Service]\nExecStart={' '.join(map(_argument, command))}\n"
        f"LimitNOFILE={demands.descriptors}\nRestart=on-failure\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
    yield ExportFile("systemd", f"{unit}@.service", text)
    for number, context in enumerate(contexts(order), start=1):
        yield _drop_in(order, number, context)


def readme_section(order: ExportOrder) -> str:
    """What the instances are and how they are started."""
    rows = []
    stem, _, ending = order.target.file_name.rpartition(".")
    for number, context in enumerate(contexts(order), start=1):
        queues = ", ".join(map(str, _queue_cpus(order, number)))
        steered = f"on CPU {queues}" if queues else "as they are"
        cpus = ", ".join(map(str, context.server_cpus))
        rows.append((str(number), f"`{stem}-{number}.{ending}`", context.listen[0], cpus, steered))
    return (
        markdown_table(("replica", "file", "address", "CPUs", "receive queues of its device"), rows)
        + "\n\nEvery setting above counts for each of them. Each wants addresses of its own: put yours in "
        "place of those in the files. "
        f"Start them with the template unit: `{_start(order)}`. Clients must spread over the addresses, for "
        "instance by DNS.\n"
    )


def _of_instance(context: RenderContext, number: int, share: tuple[int, ...]) -> RenderContext:
    prefix = f"{context.prefix}/replica-{number + 1}"

    def own(path: str) -> str:
        return f"{prefix}/{path.rpartition('/')[2]}"

    def address(listen: str) -> str:
        host, _, port = listen.rpartition(":")
        return f"{IPv4Address(host) + number}:{port}"

    return replace(
        context,
        listen=tuple(map(address, context.listen)),
        stats_socket=None if context.stats_socket is None else own(context.stats_socket),
        server_cpus=share,
        prefix=prefix,
        error_log=context.error_log if context.error_log == "stderr" else own(context.error_log),
        php_socket=None if context.php_socket is None else own(context.php_socket),
        upstream=None if context.upstream is None else address(context.upstream),
    )


def _unit(order: ExportOrder) -> str:
    return f"trimtab-{order.target.program.removeprefix('trimtab-')}"


def _start(order: ExportOrder) -> str:
    names = " ".join(f"{_unit(order)}@{number}" for number in range(1, len(contexts(order)) + 1))
    return f"systemctl daemon-reload && systemctl enable --now {names}"


def _argument(text: str) -> str:
    """An argument of ExecStart (systemd.service(5)); a zero byte stands for the number of the instance."""
    text = text.replace("%", "%%").replace("$", "$$").replace("\\", "\\\\").replace('"', '\\"')
    return (f'"{text}"' if " " in text or ";" in text else text).replace("\0", "%i")


def _queue_cpus(order: ExportOrder, number: int) -> tuple[int, ...]:
    """The CPUs for the receive queues of an instance's device; none where they stay as they are."""
    places, placement = contexts(order), placement_of(order.configuration)
    if placement == "none":
        return ()
    return places[(number - 1 + (placement == "indirect")) % len(places)].server_cpus


def _drop_in(order: ExportOrder, number: int, context: RenderContext) -> ExportFile:
    unit, plan = _unit(order), plan_of(order.target, order.configuration)
    directory = f"/etc/systemd/system/{unit}@{number}.service.d"
    sentences = [
        f"The CPUs of replica {number}.",
        f"Install: mkdir -p {directory} && cp '{unit}@{number}.conf' {directory}/trimtab.conf",
        say.measured_on(order.evidence),
    ]
    if queues := _queue_cpus(order, number):
        sentences.append(
            f"The receive queues of its network device belong on CPU {', '.join(map(str, queues))}: the "
            "masks are /proc/irq/N/smp_affinity, or /sys/class/net/DEVICE/queues/rx-N/rps_cpus."
        )
    pinned = pins_workers(plan) and order.target.workers_to_pin(order.configuration) is not None
    if pinned and len(context.server_cpus) > 1:
        sentences.append(
            f"The plan {plan} had put each worker on one of these CPUs (taskset -acp CPU PID), which no unit "
            "can say."
        )
    cpus = " ".join(map(str, context.server_cpus))
    text = say.comment(*sentences) + "[Service]\n" + (f"CPUAffinity={cpus}\n" if cpus else "")
    return ExportFile(f"systemd-{number}", f"{unit}@{number}.conf", text)
