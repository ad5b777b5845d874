"""Whether what a run announces is true from outside: the exported file and the default, climbed by hand.

Nothing of the agent takes part. The server is started as the comment in its exported file says (a database
with that file, on a copy of the run's data), on the run's server CPUs; trimtab-load drives it over the run's
own sessions, with other arrivals and for longer than the run did, at rates of its own: upwards by a tenth
until two in a row are not followed, then halved. A rate is followed when 95 % of it is answered; half a
percent of failed requests, or a tenth of late ones, end it too. The kernel is set by the exported files too,
where the run has tuned it, and put back afterwards (root). Of the exported file the values that were measured
count, not those computed from them for all CPUs and longer pauses. What stands behind the server is started
too (`behind_climb.py`); a pool of PHP wants root for that.

Default and recommended configuration take turns, three each, to know the spread of a climb. After each
climb wrk asks the same server in a closed loop (`closed_loop.py`), where it speaks the protocol.

    python agent/bench/independent_climb.py VAR RUN [RUN …]

prints a line for each run: announced, climbed and by wrk, for the default and for what is recommended.
"""

import json
import math
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from behind_climb import behind, default_file
from closed_loop import asked_by_wrk
from trimtab_agent.results.exporting import UPSTREAM
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.generator import protocol_options
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import php_fpm
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.workloads import shop
from trimtab_tuner.workloads.definition import Definition

ADDRESS = ("127.0.0.1", 8000)  # where exported files listen
RATE_S = 5.0
WARMUP_S = 1.0
RISE = 1.1
HALVINGS = 2
TURNS = 3
FOLLOWS = 0.95
MOST_FAILED = 0.005
MOST_LATE = 0.1
SEED = 977
UNKNOWN_RPS = 2000.0
PROGRAMS = AgentSettings()


@dataclass(frozen=True)
class Files:
    """A configuration as files: the server's own, and that of a program of pages behind it."""

    server: str
    backend: str | None


class Outside:
    """One run as an administrator sees it: its files, and what it said."""

    def __init__(self, var: Path, run_id: int) -> None:
        self.var = var
        program = Path(sys.executable).with_name("trimtab")
        shown = subprocess.run(
            [program, "show", str(run_id), f"--var={var}", "--json"], check=True, capture_output=True
        )
        document = json.loads(shown.stdout)
        self.run: dict[str, Any] = document["run"]
        self.outcome: dict[str, Any] = self.run["outcome"]
        self.definition = Definition.model_validate(self.run["workload_parameters"]["definition"])
        self.target = TARGETS[self.run["target"]]
        self.exports = var / "exports" / f"run-{run_id}"
        texts = {export["format"]: export["text"] for export in document["exports"]}
        self.exported: str = self._as_measured(texts[self.target.program])
        self.backend = self.definition.backend
        self.recommended = Files(
            self.exported, None if self.backend is None else self._as_measured(texts[self.backend.package])
        )
        (self.file_set,) = (var / "filesets").glob(f"{self.run['workload']}-*")
        self.sessions = max(self.file_set.glob("sessions-*.log"), key=lambda path: path.stat().st_mtime)

    def _as_measured(self, text: str) -> str:
        """The exported file with the values that were measured. What is exported is for all CPUs and for
        visitors who pause as long as people do; here the generator keeps some CPUs, and visitors pause as
        shortly as in the run.
        """
        for name, value in (self.outcome["written"] or {}).items():
            text = re.sub(
                rf"\b({re.escape(name)}\W+){re.escape(str(value))}\b",
                rf"\g<1>{self.outcome['best'][name]}",
                text,
            )
        return text

    def default(self) -> Files:
        """The files with the run's default values."""
        backend, values = self.backend, self.outcome["default"]
        root = self.file_set / "root"
        return Files(
            self._default_of_server(),
            None if backend is None else default_file(backend, values, root, self.exports),
        )

    def _default_of_server(self) -> str:
        if self.run["base"]:
            return str(self.run["base"]["text"])
        fastcgi = self.backend is not None and self.backend.speaks == "fastcgi"
        context = RenderContext(
            root=str(self.file_set / "root"),
            listen=(f"{ADDRESS[0]}:{ADDRESS[1]}",),
            server_cpus=tuple(self.run["layout"]["server"]),
            prefix=str(self.exports),
            error_log=str(self.exports / "error.log"),
            php_socket=str(self.exports / php_fpm.SOCKET) if fastcgi else None,
            upstream=UPSTREAM if self.definition.proxies else None,
            tls_directory=None if self.definition.tls is None else str(self.exports / "tls"),
        )
        return self.target.render(self.outcome["default"], context)

    def announced(self, configuration: dict[str, Any]) -> str:
        """The capacity that the run has stated, as it stated it."""
        stated = self._stated(configuration)
        return "none" if stated is None else f"{'at least ' * stated[1]}{stated[0]:,.0f}"

    def capacity(self, configuration: dict[str, Any]) -> float:
        """The same as a number; where the run stated none, a rate to begin with."""
        stated = self._stated(configuration)
        return UNKNOWN_RPS if stated is None else stated[0]

    def _stated(self, configuration: dict[str, Any]) -> tuple[float, bool] | None:
        ranked = next((r for r in self.outcome["ranking"] if r["configuration"] == configuration), None)
        performance = None if ranked is None else ranked["performance"]
        if performance is None or performance["capacity_rps"] is None:
            return None
        return float(performance["capacity_rps"]["mean"]), bool(performance["at_least"])


def main() -> None:
    """Prints the table."""
    var = Path(sys.argv[1]).resolve()
    print(
        "| server | default: announced | climbed, thrice | | wrk | recommended: announced | climbed | | wrk |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for run_id in map(int, sys.argv[2:]):
        seen = Outside(var, run_id)
        sides = [(seen.outcome["default"], seen.default()), (seen.outcome["best"], seen.recommended)]
        climbed: list[list[float]] = [[], []]
        closed: list[list[float]] = [[], []]
        for _ in range(TURNS):
            for rates, asked, (configuration, files) in zip(climbed, closed, sides, strict=True):
                # Where the last climb ended is a better place to begin than what was announced.
                start = rates[-1] * 0.8 if rates else seen.capacity(configuration) / 2
                with kernel_of(seen.exports) if files is seen.recommended else nullcontext():
                    rates.append(climb(seen, files, start, asked))
        cells = [f"{seen.target.name}, {seen.run['workload']}"]
        for rates, asked, (configuration, _files) in zip(climbed, closed, sides, strict=True):
            said = seen.announced(configuration)
            truth = mean(rates)
            apart = "" if said == "none" else f"{seen.capacity(configuration) / truth - 1:+.0%}"
            by_wrk = f"{mean(asked):,.0f} ({min(asked):,.0f} to {max(asked):,.0f})" if asked else "–"
            cells += [said, f"{truth:,.0f} ({min(rates):,.0f} to {max(rates):,.0f})", apart, by_wrk]
        print(f"| {' | '.join(cells)} |", flush=True)


@contextmanager
def kernel_of(exports: Path) -> Iterator[None]:
    """The kernel as sysctl and systemd-tmpfiles set it by the exported files; afterwards as it was."""
    settings = {
        f"/proc/sys/{key.strip().replace('.', '/')}": value.strip()
        for line in (exports / "90-trimtab.conf").read_text().splitlines()
        if not line.startswith("#") and "=" in line
        for key, value in [line.split("=")]
    }
    tmpfiles = exports / "tmpfiles-trimtab.conf"
    for line in tmpfiles.read_text().splitlines() if tmpfiles.exists() else ():
        if line.startswith("w "):
            _, pattern, *_, value = line.split()
            settings |= {str(path): value for path in Path("/").glob(pattern.removeprefix("/"))}
    before = {path: Path(path).read_text() for path in settings}
    try:
        for path, value in settings.items():
            Path(path).write_text(value)
        yield
    finally:
        for path, text in before.items():
            chosen = re.search(r"\[(.+?)\]", text)
            Path(path).write_text(chosen.group(1) if chosen else text)


def climb(seen: Outside, files: Files, start_rps: float, asked: list[float]) -> float:
    """The highest rate that the server follows with these files; adds to `asked` what wrk gets from it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o777)  # the server writes its logs there as the user it becomes
        layout = seen.run["layout"]
        # Directories in the files are those of the run's exports; here all runs beside them.
        with behind(
            seen.definition.upstream,
            seen.backend,
            files.backend and files.backend.replace(str(seen.exports), place),
            folder,
            seen.file_set / "root",
            server_cpus=layout["server"],
            generator_cpus=layout["generator"],
        ):
            server = started(seen, files.server.replace(str(seen.exports), place), folder)
            try:
                followed = highest(seen, start_rps)
                if seen.target.protocol == "http" and not seen.definition.http2:
                    asked.append(asked_by_wrk(url(seen), seen.sessions, folder, layout["generator"]))
                return followed
            finally:
                server.terminate()
                server.wait(10)


def started(seen: Outside, text: str, folder: Path) -> "subprocess.Popen[bytes]":
    """The server with the file, as the file itself says, once it answers."""
    name = seen.target.file_name
    (folder / name).write_text(text)
    shutil.copytree(seen.exports, folder / "own", dirs_exist_ok=True)
    if seen.definition.tls is not None:
        make_certificates(folder / "tls")
    command = shlex.split(start_command(seen.exported, name))
    if seen.target.protocol == "mariadb":
        command = on_a_copy(seen, folder, folder / name)
    if command[0] == "trimtab-httpd":
        command[0] = str(PROGRAMS.httpd_path)
    cpus = ",".join(map(str, seen.run["layout"]["server"]))
    log = (folder / "log").open("wb")
    server = subprocess.Popen(["taskset", "-c", cpus, *command], cwd=folder, stdout=log, stderr=log)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(ADDRESS) == 0:
                return server
        time.sleep(0.05)
    server.kill()
    raise SystemExit(f"{seen.target.name} does not answer: {(folder / 'log').read_text()[-400:]}")


def on_a_copy(seen: Outside, folder: Path, file: Path) -> list[str]:
    """The command of a database with this file, on a copy of the run's data."""
    (data,) = (path for path in seen.file_set.glob("data-*") if path.is_dir())
    subprocess.run(["cp", "--archive", data, folder / "data"], check=True)
    address, port = ADDRESS
    places = {"datadir": folder / "data", "socket": folder / "sock", "pid-file": folder / "pid"}
    listens = {"bind-address": address, "port": port, "user": (folder / "data").owner()}
    own = [f"--{name}={value}" for name, value in (places | listens).items()]
    return ["/usr/sbin/mariadbd", f"--defaults-file={file}", *own, "--skip-name-resolve"]


def start_command(text: str, file_name: str) -> str:
    """What the comment at the top of an exported file says after `Start:`."""
    comment = re.sub(r"\n#   ", " ", text)
    found = re.search(r"Start: (.*)", comment)
    return found.group(1) if found else f"trimtab-httpd -c {file_name}"


def url(seen: Outside) -> str:
    """What the generator is told to ask."""
    host = f"{ADDRESS[0]}:{ADDRESS[1]}"
    if seen.target.protocol == "mariadb":
        return f"mariadb://{shop.USER}@{host}/{shop.DATABASE}"
    return f"{'http' if seen.definition.tls is None else 'https'}://{host}/"


def highest(seen: Outside, start_rps: float) -> float:
    """The highest rate that is followed, found by hand."""
    followed, lost, rate = 0.0, math.inf, start_rps
    misses = 0
    while misses < 2:
        if follows(seen, rate):
            followed, misses = max(followed, rate), 0
        else:
            lost, misses = min(lost, rate), misses + 1
            if followed == 0.0:
                rate, misses = rate / 2, 0
                continue
        rate *= RISE
    lost = min(rate for rate in (lost, followed * RISE * RISE) if rate > followed)
    for _ in range(HALVINGS):
        between = math.sqrt(followed * lost)
        if follows(seen, between):
            followed = between
        else:
            lost = between
    return followed


def follows(seen: Outside, rate_rps: float) -> bool:
    """Whether a rate is followed."""
    cpus = seen.run["layout"]["generator"]
    settings = seen.run["settings"]
    done = subprocess.run(
        [
            *("taskset", "-c", ",".join(map(str, cpus))),
            *(str(PROGRAMS.load_path), "open", f"--url={url(seen)}"),
            *(f"--rate={rate_rps:.0f}", f"--duration={RATE_S}", f"--warmup={WARMUP_S}"),
            *(f"--timeout={settings['timeout_s']}", f"--sessions={seen.sessions}", f"--seed={SEED}"),
            *(f"--processes={len(cpus)}", "--close=reset"),
            *protocol_options(seen.definition.tls, seen.definition.http2),
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    result = json.loads(done.stdout.splitlines()[-1])
    requests = result["requests"]
    late = requests["timed_out_before_read"] + requests["timed_out_after_read"]
    fair = requests["failed"] <= MOST_FAILED * requests["offered"] and late <= MOST_LATE * requests["offered"]
    good = bool(fair and result["reply_rate_rps"] >= FOLLOWS * rate_rps)
    print(
        f"{seen.target.name} {rate_rps:,.0f}: {result['reply_rate_rps']:,.0f} answered, {late} late, "
        f"{requests['failed']} failed, generator {result['health']['verdict']}",
        file=sys.stderr,
        flush=True,
    )
    return good


if __name__ == "__main__":
    main()
