"""Where a run leaves what, under the directory `var`."""

import stat
from dataclasses import dataclass
from pathlib import Path

DEMO_SAID = "Demo: simulated measurements"
"""What every page, report and exported file of a demo says, where it names the host."""
DEMO_TEXT = "Every measurement in this folder is simulated.\n"
"""What the mark of a demo says."""


@dataclass(frozen=True)
class VarPaths:
    """The places under `var`."""

    var: Path

    @property
    def database(self) -> Path:
        """The database, if it is SQLite."""
        return self.var / "trimtab.db"

    @property
    def file_sets(self) -> Path:
        """The workloads' files."""
        return self.var / "filesets"

    @property
    def workloads(self) -> Path:
        """Definitions of the user's own workloads."""
        return self.var / "workloads"

    @property
    def daemon_lock(self) -> Path:
        """Held by the daemon of this directory; tells its process and its address."""
        return self.var / "daemon.lock"

    @property
    def daemon_socket(self) -> Path:
        """Where that daemon listens to commands of its own user."""
        return self.var / "daemon.sock"

    @property
    def sampler_lock(self) -> Path:
        """Held by whoever takes the samples that are kept here."""
        return self.var / "sampler.lock"

    @property
    def leftovers(self) -> Path:
        """The journal of what runs have made in the operating system."""
        return self.var / "leftovers.json"

    @property
    def live_notes(self) -> Path:
        """Notes of what live tuning has changed in the operating system and must put back."""
        return self.var / "live"

    @property
    def fleet(self) -> Path:
        """Credentials of the fleet, and what a station or the scheduler keeps."""
        return self.var / "fleet"

    @property
    def demo_mark(self) -> Path:
        """A file that says DEMO_TEXT if everything here is simulated."""
        return self.var / "demo"

    @property
    def is_demo(self) -> bool:
        """Whether the mark is there: a file with its own text, and nothing else that is called so. Raises
        OSError for one that cannot be read.
        """
        try:
            # Not opened before: a pipe of that name would be waited for.
            if not stat.S_ISREG(self.demo_mark.lstat().st_mode):
                return False
            with self.demo_mark.open("rb") as file:
                return file.read(len(DEMO_TEXT) + 1) == DEMO_TEXT.encode()
        except (FileNotFoundError, NotADirectoryError):
            return False

    @property
    def scenario(self) -> Path:
        """What a simulated station is like, and what is to happen at it."""
        return self.var / "scenario.json"

    @property
    def unwritten(self) -> Path:
        """Trials, and ends of runs, that the database has refused."""
        return self.var / "unwritten"

    @property
    def uploads(self) -> Path:
        """Configuration files that were sent through the browser: TARGET/DIGEST/NAME."""
        return self.var / "uploads"

    def log(self, run_id: int) -> Path:
        """Configurations and logs of a run's servers and generators."""
        return self.var / "log" / f"run-{run_id}"

    @property
    def station_log(self) -> Path:
        """The same of jobs that belong to no run."""
        return self.var / "log" / "station"

    def exports(self, run_id: int) -> Path:
        """The configuration files that a run hands back."""
        return self.var / "exports" / f"run-{run_id}"
