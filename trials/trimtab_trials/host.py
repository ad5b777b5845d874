"""A machine, as it is named wherever something was measured on it or changed in it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine as it was when it was seen: another kernel or more memory makes another host record.

    `machine_id` tells machines apart, whatever they are called; records of one machine share it.
    """

    machine_id: str
    name: str
    kernel: str
    cpu_model: str
    cpus: int
    memory_bytes: int
    topology: dict[str, Any]
