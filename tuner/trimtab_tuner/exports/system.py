"""What surrounds the server: systemd, kernel settings, CPUs, TuneD."""

from trimtab_tuner.affinity import pins_workers, steers_queues
from trimtab_tuner.exports import kernel
from trimtab_tuner.exports.order import Check, ExportFile, ExportOrder
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.base import plan_of
from trimtab_tuner.targets.placement import Workers

SOMAXCONN = 4096  # the kernel's own default since 5.4 (Documentation/networking/ip-sysctl.rst)


def systemd(order: ExportOrder) -> ExportFile:
    """A drop-in with the descriptors the server needs; the CPUs it was measured on are a comment."""
    unit = order.target.unit
    demands = order.target.demands(order.written)
    lines = [
        say.comment(
            f"Drop-in for the systemd unit {unit}.",
            f"Install: mkdir -p /etc/systemd/system/{unit}.service.d && cp systemd-trimtab.conf "
            f"/etc/systemd/system/{unit}.service.d/trimtab.conf && systemctl daemon-reload && "
            f"systemctl restart {unit}",
            f"Verify live: systemctl show {unit} -p LimitNOFILE -p CPUAffinity",
            say.measured_on(order.evidence),
        ),
        "[Service]\n",
        say.comment("Descriptors for each process of the server (systemd.exec(5))."),
        f"LimitNOFILE={demands.descriptors}\n",
    ]
    if order.context.server_cpus:
        cpus = " ".join(map(str, order.context.server_cpus))
        lines.append(
            say.comment(
                "The CPUs that the server had while it was measured; the load generator had the others. "
                "Remove the sign of comment only if yours shall keep to them as well."
            )
        )
        lines.append(f"# CPUAffinity={cpus}\n")
    return ExportFile("systemd", "systemd-trimtab.conf", "".join(lines))


def sysctl(order: ExportOrder) -> ExportFile:
    """Kernel settings without which the server's own would be cut down."""
    demands = order.target.demands(order.written)
    tuned = kernel.sysctl_settings(order)
    lines = [
        say.comment(
            "Kernel settings for the measured configuration.",
            "Install: cp 90-trimtab.conf /etc/sysctl.d/ && sysctl --system",
            f"Verify live: sysctl {' '.join(tuned or ('net.core.somaxconn',))}",
            say.measured_on(order.evidence),
        ),
        "\n",
    ]
    for key, (value, about) in tuned.items():
        lines.append(f"{about}{key} = {value}\n\n")
    backlog = demands.backlog
    if "net.core.somaxconn" in tuned:
        lines.append(say.comment("The server's accept queue is as long as was measured with it."))
    elif backlog is None:
        lines.append(say.comment("The server's queue is no setting; the kernel's limit holds."))
        lines.append(f"# net.core.somaxconn = {SOMAXCONN}\n")
    elif backlog > SOMAXCONN:
        lines.append(say.comment(f"The accept queue of {backlog:,}, which the kernel would shorten."))
        lines.append(f"net.core.somaxconn = {backlog}\nnet.ipv4.tcp_max_syn_backlog = {backlog}\n")
    else:
        lines.append(
            say.comment(
                f"The accept queue of {backlog:,} fits the kernel's default of {SOMAXCONN:,}. Only where "
                "somebody has lowered it must it be raised again:"
            )
        )
        lines.append(f"# net.core.somaxconn = {SOMAXCONN}\n")
    return ExportFile("sysctl", "90-trimtab.conf", "".join(lines))


def affinity(order: ExportOrder) -> ExportFile:
    """A script that puts the running server's workers on CPUs, as they were measured; it is told which.

    To be called only where it is known on which they were.
    """
    program, plan = order.target.program, plan_of(order.target, order.configuration)
    workers = order.target.workers_to_pin(order.configuration) if pins_workers(plan) else None
    what = f"every process of {program}" if workers is None else f"the workers of {program}, one by one,"
    cpus = " ".join(map(str, order.context.server_cpus))
    sentences = [
        f"Puts {what} on the CPUs that it is given. It was measured as by: sh affinity.sh {cpus}",
        "What was before is printed first. Processes that start later are where the unit says.",
        say.measured_on(order.evidence),
    ]
    if steers_queues(plan):
        sentences.append(
            f"The plan {plan} steers receive queues as well: trimtab affinity apply {plan} --device DEVICE"
        )
    text = "#!/bin/sh\n" + say.comment(*sentences) + "set -eu\n"
    text += '[ $# -gt 0 ] || { echo "usage: sh affinity.sh CPU ..." >&2; exit 2; }\n'
    text += _all_processes(program) if workers is None else _each_worker(program, workers)
    text += f"# Verify live: for p in $(pgrep -x {program}); do taskset -acp $p; done\n"
    check = Check("sh", lambda file, sh: (sh or "sh", "-n", file))
    return ExportFile("affinity", "affinity.sh", text, check)


def _all_processes(program: str) -> str:
    return (
        'cpus=$(IFS=,; echo "$*")\n'
        f'pids=$(pgrep -x {program}) || {{ echo "{program} is not running" >&2; exit 1; }}\n'
        "for pid in $pids; do\n"
        '    taskset -cp "$pid"\n'
        '    taskset -acp "$cpus" "$pid" >/dev/null\n'
        "done\n"
    )


def _each_worker(program: str, workers: Workers) -> str:
    """The CPUs are the script's arguments, taken in turn; a process goes there with all its threads."""
    if workers.kind == "process":
        listed, options = 'pgrep -P "$main" || echo "$main"', "-acp"
    else:
        # The first thread serves, and of the others those that came last.
        listed = f'echo "$main"; ls "/proc/$main/task" | sort -n | sed 1d | tail -n {workers.count - 1}'
        options = "-cp"
    return (
        f'main=$(pgrep -o -x {program}) || {{ echo "{program} is not running" >&2; exit 1; }}\n'
        f"for worker in $({listed}); do\n"
        "    cpu=$1\n"
        "    shift\n"
        '    set -- "$@" "$cpu"\n'
        f'    taskset {options} "$cpu" "$worker"\n'
        "done\n"
    )


def tuned(order: ExportOrder) -> ExportFile:
    """A TuneD profile: the kernel settings, kept by a daemon that also puts them back."""
    demands = order.target.demands(order.written)
    settings = {"net.core.somaxconn": str(max(SOMAXCONN, demands.backlog or 0))}
    settings |= {key: value for key, (value, _) in kernel.sysctl_settings(order).items()}
    text = say.comment(
        "TuneD profile for the measured configuration.",
        "Install: mkdir -p /etc/tuned/trimtab && cp tuned.conf /etc/tuned/trimtab/ && "
        "tuned-adm profile trimtab",
        "Verify live: tuned-adm active && tuned-adm verify",
        say.measured_on(order.evidence),
    )
    text += (
        "[main]\n"
        f"summary=What {order.target.name} needs for the result of Trimtab's run {order.evidence.run}\n"
        "include=throughput-performance\n"
        "\n"
        "[sysctl]\n"
    )
    text += "".join(f"{key}={value}\n" for key, value in settings.items())
    text += kernel.tuned_sections(order)
    return ExportFile("tuned", "tuned.conf", text)
