"""The workloads by name."""

from dataclasses import dataclass

from trimtab_tuner.workloads.specweb99 import Specweb99


@dataclass(frozen=True)
class WorkloadEntry:
    """A registered workload: its class, and one sentence on what it is."""

    factory: type[Specweb99]
    help: str


WORKLOADS: dict[str, WorkloadEntry] = {
    Specweb99.name: WorkloadEntry(
        Specweb99,
        "Static files of 102 B to 921,600 B in SPECweb99's mix, in sessions of 7.29 requests with pauses.",
    ),
}
