"""php-fpm beside a server, for workloads with dynamic requests.

The pool runs like the server it belongs to: in the same directory, under the same user, on the same CPUs, in
the same memory group, under a guard of its own.
"""

import socket
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets import php

from trimtab_agent.errors import BinaryMissing
from trimtab_agent.station.processes.children import Child
from trimtab_agent.stopping import StopSignal

START_LIMIT_S = 10.0
RETRY_S = 0.005


class PoolFailed(Exception):
    """php-fpm refuses its configuration or does not come up; the text says why."""


def php_program() -> Path:
    """Debian's php-fpm, whose name carries its version: the newest; raises BinaryMissing."""
    found = sorted(Path("/usr/sbin").glob("php-fpm[0-9]*"))
    if not found:
        raise BinaryMissing(
            "php-fpm is not installed here; `apt-get install --no-install-recommends php-fpm` installs it"
        )
    return found[-1]


class PhpPool:
    """A running pool that accepts requests at `socket`. Raises PoolFailed, BinaryMissing."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        directory: Path,
        log: Path,
        cpus: Sequence[int],
        prefix: Sequence[str],
        within: Sequence[str],
        stop: StopSignal,
    ) -> None:
        program = php_program()
        self.socket = directory / php.SOCKET
        file = directory / php.FILE_NAME
        file.write_text(php.pool_file(configuration, str(self.socket), str(directory / "php-fpm.log")))
        command = (str(program), "--nodaemonize", "--fpm-config", str(file))
        self._child = Child(command, cpus=cpus, log=log, guarded=True, prefix=(*within, *prefix))
        try:
            self._wait_until_it_accepts(stop)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the pool."""
        self._child.stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes."""
        try:
            return tuple(child.pid for child in psutil.Process(self._child.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return ()

    def _wait_until_it_accepts(self, stop: StopSignal) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(self.socket)) == 0:
                    return
            if stop.wait(RETRY_S, self._child):
                raise PoolFailed("stopped" if stop.requested else self._child.death_sentence())
        raise PoolFailed(f"php-fpm did not accept requests within {START_LIMIT_S:.0f} s")
