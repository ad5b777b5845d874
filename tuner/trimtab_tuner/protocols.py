"""The protocols of targets and workloads: what the clients of a workload speak, its server must answer in."""

from collections.abc import Mapping
from typing import Literal

ProtocolName = Literal["http", "mariadb"]

DEFAULT_WORKLOADS: Mapping[ProtocolName, str] = {"http": "specweb99", "mariadb": "shop"}
"""The workload of a run that asks for none, by what its target speaks."""
