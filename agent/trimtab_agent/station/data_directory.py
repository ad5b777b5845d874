"""The data of a database, made once by its own server and used again by every run with the same workload.

They lie with the file set, as `var/filesets/NAME-HASH/data-HASH`. No server that is measured ever runs on
them: each start gets a copy, so that all begin with the same tables, and a crash leaves nothing behind.
Accounts are that of the clients, and those that only the server's own user and root may use.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import Workload
from trimtab_tuner.workloads.definition import Definition

from trimtab_agent.errors import BinaryMissing, FileSetError
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.processes.children import Child
from trimtab_agent.station.processes.programs import find_installed, installed_program, version_of
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over
from trimtab_agent.stopping import Stopped, StopSignal

INSTALLER = "mariadb-install-db"
WAIT_S = 60.0  # for a stop or the end of a program, whichever comes first; then again
# A short log here is copied faster; the server makes one of its own length as it starts.
LOG_FILE = "--innodb-log-file-size=8M"
# The installer makes accounts without a name, which would come before that of the clients.
WITHOUT_NAMELESS = "DELETE FROM mysql.global_priv WHERE User='';\n"


class DataDirectory:
    """The data that `statements` make in the server `program` of that `version`, to lie in `files`."""

    def __init__(self, files: Path, statements: str, program: Path, version: str) -> None:
        digest = hashlib.sha256(f"{version}\n{statements}".encode()).hexdigest()[:8]
        self.path = files / f"data-{digest}"
        self._statements = WITHOUT_NAMELESS + statements
        self._program = program

    def prepare(self, stop: StopSignal) -> None:
        """Has the server make them, if they are not there yet: a few seconds for each 10,000 items.

        Raises FileSetError with the server's last words, BinaryMissing, or Stopped; then nothing is left.
        """
        if self.path.is_dir():
            return
        installer = find_installed(INSTALLER)
        if installer is None:
            raise BinaryMissing(f"{INSTALLER} is not installed here; Debian's mariadb-server-core has it")
        part = self.path.with_name(self.path.name + ".part")
        script, log = part.with_suffix(".sql"), part.with_suffix(".log")
        shutil.rmtree(part, ignore_errors=True)
        try:
            part.mkdir(parents=True)
            hand_over(part)
            script.write_text(self._statements)
            log.write_text("")
            of_both = ("--no-defaults", f"--datadir={part}", LOG_FILE)
            install = (str(installer), *of_both, "--skip-test-db", "--skip-name-resolve")
            fill = ("sh", "-c", 'exec "$@" <"$0"', str(script), str(self._program), *of_both, "--bootstrap")
            for command in (install, fill):
                self._run(command, (part, script), log, stop)
            subprocess.run(
                ("sync", "--file-system", str(part)), check=False
            )  # not while something is measured
            part.rename(self.path)
        except OSError as error:
            raise FileSetError(f"the database {self.path} cannot be made: {error}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
            script.unlink(missing_ok=True)
        log.unlink(missing_ok=True)

    def require(self) -> None:
        """Raises FileSetError if they are gone."""
        if not self.path.is_dir():
            raise FileSetError(f"the database {self.path} is gone")

    def _run(self, command: tuple[str, ...], reads: tuple[Path, ...], log: Path, stop: StopSignal) -> None:
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        with Child(command, cpus=cpus, log=log, guarded=True, prefix=command_prefix(reads)) as child:
            while child.exit_code is None:
                if stop.wait(WAIT_S, child) and stop.requested:
                    raise Stopped
            if child.exit_code != 0:
                raise FileSetError(
                    f"the database {self.path} cannot be made: {child.death_sentence()} ({log})"
                )


def data_directory(files: FileSet, workload: Workload, definition: Definition) -> DataDirectory | None:
    """The data that a workload asks for, beside its files; None for one that asks for files alone.

    Raises BinaryMissing where the server that makes them is not here.
    """
    statements = workload.data()
    if not statements:
        return None
    target = next(target for target in TARGETS.values() if target.protocol == definition.protocol)
    program = installed_program(target)
    return DataDirectory(files.directory, statements, program, version_of(target, program))


def copy_of(data: Path, place: Path) -> None:
    """A copy of a data directory, on the disk whole, so that writing it disturbs no measurement.

    Raises FileSetError.
    """
    for command in (
        ("cp", "--archive", "--reflink=auto", str(data), str(place)),
        ("sync", "--file-system", str(place)),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise FileSetError(f"the database {data} cannot be copied: {done.stderr.strip()}")
