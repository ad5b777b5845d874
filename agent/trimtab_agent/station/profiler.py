"""Samples a server's processes with perf(1), on the software clock, while a rate is driven.

perf is Debian's package linux-perf. Without hardware counters `cpu-clock` still works: a timer interrupt
takes the sample, so code that runs with interrupts off shows up where they are turned on again. Sampling the
kernel needs root or kernel.perf_event_paranoid below 2; without it the shares are those of user code, and the
profile says so by having no kernel category.
"""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab_tuner.cpu_profile import fold

from trimtab_agent.errors import HostError
from trimtab_agent.station.processes.children import Child

FREQUENCY_HZ = 199
READ_LIMIT_S = 60.0
LINE = re.compile(r"\s*[0-9a-f]+ (?P<symbol>.+?)(?:\+0x[0-9a-f]+)? \((?P<binary>[^()]*)\)\s*$")


@dataclass
class Profile:
    """What one sampling gave: percent by category, and how many samples that rests on."""

    samples: int = 0
    percent: dict[str, float] | None = None

    def document(self) -> dict[str, Any]:
        """As it is recorded with a measurement."""
        return {"samples": self.samples, "percent": self.percent or {}}


def require_perf() -> str:
    """The path of perf. Raises HostError where it is not installed."""
    path = shutil.which("perf")
    if path is None:
        raise HostError("perf is not installed, and a profile was asked for: install the package linux-perf")
    return path


@contextmanager
def profiling(pids: Iterable[int], cpus: tuple[int, ...], directory: Path, name: str) -> Iterator[Profile]:
    """Samples these processes for the time of the block; the profile is complete after it.

    perf itself runs on `cpus`. Its files lie in `directory` under `name` and are removed. Raises HostError
    when perf gives nothing that can be read.
    """
    profile = Profile()
    data, log = directory / f"{name}.perf", directory / f"{name}.perf.log"
    command = [require_perf(), "record", "--quiet", "--event", "cpu-clock", "--freq", str(FREQUENCY_HZ)]
    command += ["--pid", ",".join(map(str, pids)), "--output", str(data)]
    try:
        with Child(command, cpus=cpus, log=log) as perf:
            yield profile
            code = perf.stop(grace_s=READ_LIMIT_S)  # it writes its file when it is asked to end
        # On a busy machine it may be asked to before it has begun: then there are no samples.
        begun = data.exists() or code != -signal.SIGTERM
        samples = list(read_samples(data)) if begun else []
        profile.samples = len(samples)
        profile.percent = fold(samples)
    finally:
        data.unlink(missing_ok=True)


def read_samples(data: Path) -> Iterator[tuple[str, str]]:
    """(symbol, binary) of each sample in a file of perf's. Raises HostError."""
    command = [require_perf(), "script", "--input", str(data), "--fields", "ip,sym,dso"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=READ_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise HostError(f"perf script took longer than {READ_LIMIT_S:.0f} s on {data}") from error
    if done.returncode != 0:
        raise HostError(f"perf script: {done.stderr.strip() or 'failed'}")
    yield from parse_samples(done.stdout)


def parse_samples(text: str) -> Iterator[tuple[str, str]]:
    """(symbol, binary) of each line; lines that are no sample are skipped."""
    for line in text.splitlines():
        found = LINE.match(line)
        if found:
            yield found["symbol"], found["binary"]
