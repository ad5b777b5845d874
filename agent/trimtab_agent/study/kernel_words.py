"""What a run that tunes the kernel begins with: what it cannot tune here, and who else is at work."""

from collections.abc import Sequence

from trimtab_agent.affinity.balancers import Balancer
from trimtab_agent.kernel.reading import Kernel


def not_tuned(kernel: Kernel) -> str:
    """The knobs that this machine lacks, those with the same reason together; empty where it has all."""
    by_reason: dict[str, list[str]] = {}
    for each in kernel.lacking:
        by_reason.setdefault(each.reason, []).append(each.name)
    told = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in by_reason.items())
    return f"Knobs of the kernel that cannot be set here: {told}." if told else ""


def others_at_work(kernel: Kernel, balancers: Sequence[Balancer]) -> list[str]:
    """A sentence or two for each program that sets the kernel too, or moves interrupts."""
    setting = {tuner.name for tuner in kernel.tuners}
    return [
        *(
            f"{tuner}. A trial under which a value moves does not count: stop it for the time of the run."
            for tuner in kernel.tuners
        ),
        *(
            f"{other.name} runs (process {other.pid}): it {other.would_undo}."
            for other in balancers
            if other.name not in setting
        ),
    ]
