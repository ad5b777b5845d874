"""What stands behind a server that is climbed from outside: our upstream, php-fpm, gunicorn or uvicorn.

An upstream is part of the load: it runs on the generator's CPUs, at the address that the exported files name.
A program of pages is tuned with the server: it runs on the server's CPUs, from the file that the run has
exported, or from one with the default's values.
"""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trimtab_agent.results.exporting import UPSTREAM
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.processes.unprivileged import command_prefix
from trimtab_agent.station.server.running_backend import backend_program
from trimtab_trials.configuration import Configuration
from trimtab_tuner.exports.server_file import WEB_USER
from trimtab_tuner.targets.backends import php_fpm
from trimtab_tuner.targets.backends.base import Backend, BackendContext
from trimtab_tuner.workloads.upstream import Upstream

ANSWER_LIMIT_S = 30.0
RETRY_S = 0.02


@contextmanager
def behind(
    upstream: Upstream | None,
    backend: Backend | None,
    file: str | None,
    folder: Path,
    root: Path,
    *,
    server_cpus: Sequence[int],
    generator_cpus: Sequence[int],
) -> Iterator[None]:
    """For its time both answer, as far as the workload has them. `file` is the text of the program's file,
    `root` the document root with its pages. Raises SystemExit with what it said when one does not come up.
    """
    with ExitStack() as running:
        if upstream is not None:
            command = [str(AgentSettings().upstream_path), f"--listen={UPSTREAM}"]
            command.append(f"--concurrency={upstream.concurrency}")
            running.enter_context(answering(command, generator_cpus, folder, _accepts))
        if backend is not None:
            place = folder / backend.file_name
            place.write_text(file or "")
            command = list(backend.start_command(str(place), str(backend_program(backend))))
            answers = _socket_of_all(folder / php_fpm.SOCKET) if backend.speaks == "fastcgi" else _accepts
            # A pool that root starts becomes the user whom its file names; others do not change theirs.
            prefix = () if backend.speaks == "fastcgi" else command_prefix((root, place))
            running.enter_context(answering([*prefix, *command], server_cpus, folder, answers))
        yield


def default_file(backend: Backend, configuration: Configuration, root: Path, exports: Path) -> str:
    """The file of a program of pages with these values, at the place that the exported files name."""
    address = str(exports / php_fpm.SOCKET) if backend.speaks == "fastcgi" else UPSTREAM
    directory = str((root / backend.script_path.lstrip("/")).parent)
    context = BackendContext(
        address=address,
        directory=directory,
        prefix=str(exports),
        error_log=str(exports / "error.log"),
        user=WEB_USER,
    )
    return backend.render(configuration, context)


@contextmanager
def answering(
    command: Sequence[str], cpus: Sequence[int], folder: Path, answers: Callable[[], bool]
) -> Iterator[None]:
    """A program on these CPUs, once it answers, until the end."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as written:
        pinned = ("taskset", "-c", ",".join(map(str, cpus)), *command)
        program = subprocess.Popen(pinned, cwd=folder, stdout=written, stderr=written)
    try:
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while not answers():
            if program.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{command[0]} does not answer: {log.read_text()[-400:]}")
            time.sleep(RETRY_S)
        yield
    finally:
        program.terminate()
        program.wait(10)


def _accepts() -> bool:
    """Whether somebody takes connections at the address of upstreams."""
    address, _, port = UPSTREAM.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((address, int(port))) == 0


def _socket_of_all(place: Path) -> Callable[[], bool]:
    """There, and open to the server whichever user that has become."""

    def answers() -> bool:
        if not place.is_socket():
            return False
        place.chmod(0o777)
        return True

    return answers
