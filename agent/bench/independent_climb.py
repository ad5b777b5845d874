"""Whether what a run announces is true from outside: the exported file and the default, climbed by hand.

Nothing of the agent takes part. The server is started as the comment in its exported file says (a database
with that file, on a copy of the run's data), on the run's server CPUs; trimtab-load drives it over the run's
own sessions, with other arrivals and for longer than the run did, at rates of its own: upwards by a tenth
until two in a row are not followed, then halved. A rate is followed when 95 % of it is answered; more than a
thousandth of failed requests, or a tenth of late ones, end it too, as they end what is announced. The kernel
is set by the exported files too, and put back afterwards (`exported_kernel.py`, root). Of the exported file
the values that were measured count (`exported_text.py`). A user's own file is not started as it is, which
would meet production: a private copy of it is, with the default's values and with the recommended ones.
What stands behind the server is started
too (`behind_climb.py`); a pool of PHP wants root for that. A run whose server met what is not there by hand
(a limit on its memory, a link, cold caches, other hosts, replicas, stand-ins for the upstreams of a user's
file) is named, and not climbed.

Default and recommended configuration take turns, three each, to know the spread of a climb. After each
climb wrk and h2load ask the same server in a closed loop (`closed_loop.py`), where they speak the protocol.

    python agent/bench/independent_climb.py VAR RUN [RUN …]

prints a line for each run: announced, climbed, by wrk and by h2load, for the default and for what is
recommended.
"""

import json
import math
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from behind_climb import behind, default_file
from closed_loop import INSTRUMENTS, asked_in_a_closed_loop
from exported_kernel import kernel_set, settings_of
from exported_text import check_measured, with_lines, with_values
from trimtab_agent.results.exporting import UPSTREAM
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.generator import protocol_options
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_agent.station.server.own_copies import with_readable
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import php_fpm
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import changed_knobs
from trimtab_tuner.targets.placement import replicas_of
from trimtab_tuner.workloads import shop
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.parameters import conditions_of

ADDRESS = ("127.0.0.1", 8000)  # where exported files listen
RATE_S = 5.0
WARMUP_S = 1.0
RISE = 1.1
HALVINGS = 2
TURNS = 3
FOLLOWS = 0.95
MOST_FAILED = 0.001
MOST_LATE = 0.1
SEED = 977
UNKNOWN_RPS = 2000.0
PROGRAMS = AgentSettings()


@dataclass(frozen=True)
class Files:
    """A configuration as files: the server's own, and that of a program of pages behind it."""

    server: str
    backend: str | None


@dataclass(frozen=True)
class Side:
    """A configuration that is climbed, as files and as settings of the kernel, and what its climbs find: the
    rates, and by instrument what was asked in a closed loop.
    """

    configuration: dict[str, Any]
    files: Files
    kernel: dict[str, str]
    rates: list[float] = field(default_factory=list)
    asked: dict[str, list[float]] = field(default_factory=dict)


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
        self.texts: dict[str, str] = {each["format"]: each["text"] for each in document["exports"]}
        self.backend = self.definition.backend
        self.own_file: str | None = self.run["base"]["expanded"] if self.run["base"] else None
        if self.outcome["best"] is None:
            raise SystemExit(f"run {run_id} is not climbed: it recommends nothing")
        if reasons := not_there_by_hand(self.run):
            raise SystemExit(f"run {run_id} is not climbed: {', '.join(reasons)}")
        (self.file_set,) = (var / "filesets").glob(f"{self.run['workload']}-*")
        self.sessions = max(self.file_set.glob("sessions-*.log"), key=lambda path: path.stat().st_mtime)

    @property
    def exported(self) -> str:
        """The server's file as the run has exported it."""
        return self.texts[self.target.program]

    def recommended(self) -> Files:
        """The exported files, with the values that were measured."""
        best, written = self.outcome["best"], self.outcome["written"] or {}
        text = self.exported
        if self.own_file is not None:
            text = with_values(text, written, best)
        elif written:
            text = with_lines(text, self._rendered(written), self._rendered(best))
        check_measured(self.target, text, written, best, self._cpus)
        if self.own_file is not None:
            text = self._private(self.own_file, best)
        return Files(text, None if self.backend is None else self.texts[self.backend.package])

    def default(self) -> Files:
        """The files with the run's default values."""
        backend, values = self.backend, self.outcome["default"]
        root = self.file_set / "root"
        return Files(
            self._rendered(values) if self.own_file is None else self._private(self.own_file, values),
            None if backend is None else default_file(backend, values, root, self.exports),
        )

    @property
    def _cpus(self) -> int:
        return len(self.run["layout"]["server"])

    def _private(self, text: str, configuration: dict[str, Any]) -> str:
        """A user's own file with these values, to stand beside production."""
        own = self.target.parse(text, self._cpus)
        knobs = {*changed_knobs(self.target, text, configuration, self._cpus), *own}
        return self.target.private(text, configuration, knobs, self._context())

    def _rendered(self, configuration: dict[str, Any]) -> str:
        return self.target.render(configuration, self._context())

    def _context(self) -> RenderContext:
        fastcgi = self.backend is not None and self.backend.speaks == "fastcgi"
        return RenderContext(
            root=str(self.file_set / "root"),
            listen=(f"{ADDRESS[0]}:{ADDRESS[1]}",),
            server_cpus=tuple(self.run["layout"]["server"]),
            prefix=str(self.exports),
            error_log=str(self.exports / "error.log"),
            php_socket=str(self.exports / php_fpm.SOCKET) if fastcgi else None,
            upstream=UPSTREAM if self.definition.proxies else None,
            tls_directory=None if self.definition.tls is None else str(self.exports / "tls"),
        )

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


def not_there_by_hand(run: dict[str, Any]) -> list[str]:
    """What the run's server met that is not there where it is started by hand; empty if there is nothing."""
    conditions = conditions_of(run["workload_parameters"])
    upstream = run["workload_parameters"].get("definition", {}).get("upstream") or {}
    met = {
        f"its {conditions.memory} memory": conditions.memory != "unlimited",
        f"its {conditions.start} start": conditions.start != "warm",
        f"its {conditions.link} link": conditions.link != "loopback",
        "its hosts of a fleet": run["fleet"] is not None,
        "its replicas": replicas_of(run["outcome"]["best"]) > 1,
        "the upstreams of its file": bool(upstream.get("replaced")),
    }
    return [what for what, there in met.items() if there]


def main() -> None:
    """Prints the table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # what has been set and started is put back
    var = Path(sys.argv[1]).resolve()
    head = "announced | climbed, thrice | | " + " | ".join(INSTRUMENTS)
    print(f"| server | default: {head} | recommended: {head} |")
    print(f"| --- |{' ---: |' * 2 * (3 + len(INSTRUMENTS))}")
    for run_id in map(int, sys.argv[2:]):
        seen = Outside(var, run_id)
        sides = [
            Side(seen.outcome["default"], seen.default(), {}),
            Side(seen.outcome["best"], seen.recommended(), settings_of(seen.exports)),
        ]
        for _ in range(TURNS):
            for side in sides:
                # Where the last climb ended is a better place to begin than what was announced.
                start = side.rates[-1] * 0.8 if side.rates else seen.capacity(side.configuration) / 2
                with kernel_set(side.kernel, seen.outcome["default"], side.configuration):
                    side.rates.append(climb(seen, side, start))
        cells = [f"{seen.target.name}, {seen.run['workload']}"]
        for side in sides:
            said = seen.announced(side.configuration)
            truth = mean(side.rates)
            apart = "" if said == "none" else f"{seen.capacity(side.configuration) / truth - 1:+.0%}"
            cells += [said, spread(side.rates), apart]
            cells += [spread(side.asked[name]) if name in side.asked else "–" for name in INSTRUMENTS]
        print(f"| {' | '.join(cells)} |", flush=True)


def spread(figures: list[float]) -> str:
    """Their mean, with the lowest and the highest."""
    return f"{mean(figures):,.0f} ({min(figures):,.0f} to {max(figures):,.0f})"


def climb(seen: Outside, side: Side, start_rps: float) -> float:
    """The highest rate that the server follows; adds to the side what the others get from it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o777)  # the server writes its logs there as the user it becomes
        layout = seen.run["layout"]
        # Directories in the files are those of the run's exports; here all runs beside them.
        with behind(
            seen.definition.upstream,
            seen.backend,
            side.files.backend and side.files.backend.replace(str(seen.exports), place),
            folder,
            seen.file_set / "root",
            server_cpus=layout["server"],
            generator_cpus=layout["generator"],
        ):
            server = started(seen, side.files.server.replace(str(seen.exports), place), folder)
            try:
                followed = highest(seen, start_rps)
                asked = asked_in_a_closed_loop(
                    seen.definition, url(seen), seen.sessions, folder, layout["generator"]
                )
                for instrument, rate_rps in asked.items():
                    side.asked.setdefault(instrument, []).append(rate_rps)
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
    if seen.own_file is not None:
        command = list(beside_production(seen, folder, name))
    elif seen.target.protocol == "mariadb":
        command = on_a_copy(seen, folder, folder / name)
    else:
        command = shlex.split(start_command(seen.exported, name))
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


def beside_production(seen: Outside, folder: Path, name: str) -> tuple[str, ...]:
    """The command of a private copy of a user's own file, under the user that the run has started it as."""
    file = folder / name
    if seen.target.package is None:
        return seen.target.start_command(str(file), str(PROGRAMS.httpd_path))
    file.write_text(with_readable(seen.target, file.read_text(), folder, folder / "tls"))
    prefix = command_prefix((file, seen.file_set / "root"))
    if prefix:
        for path in (folder, *folder.rglob("*")):
            hand_over(path)
    return (*prefix, *seen.target.start_command(str(file)))


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
