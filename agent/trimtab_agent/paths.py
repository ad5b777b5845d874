"""Where a run leaves what, under the directory `var`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class VarPaths:
    """The places under `var`."""

    var: Path

    @property
    def file_sets(self) -> Path:
        """The workloads' files."""
        return self.var / "filesets"

    @property
    def workloads(self) -> Path:
        """Definitions of the user's own workloads."""
        return self.var / "workloads"

    @property
    def leftovers(self) -> Path:
        """The journal of what runs have made in the operating system."""
        return self.var / "leftovers.json"

    @property
    def lock(self) -> Path:
        """The host's run lock."""
        return self.var / "run.lock"

    def log(self, run_id: int) -> Path:
        """Configurations and logs of a run's servers and generators."""
        return self.var / "log" / f"run-{run_id}"

    def exports(self, run_id: int) -> Path:
        """The configuration files that a run hands back."""
        return self.var / "exports" / f"run-{run_id}"
