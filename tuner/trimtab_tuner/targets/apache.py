"""The target `apache`: Apache httpd 2.4 with the event MPM.

Knobs are named after its directives (httpd.apache.org/docs/2.4: mod/event, mod/mpm_common, mod/core).
`MaxRequestWorkers = all` is Trimtab's word for Apache's own default, ServerLimit × ThreadsPerChild. All
processes are started at once and none is ended for being idle: a configuration should not change while it is
measured. Modules are those of Debian's package `apache2-bin`.
"""

import re
from collections.abc import Collection, Iterator

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import AtMost, Knob, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values
from trimtab_tuner.targets.base import DESCRIPTOR_RESERVE, About, Demands, RenderContext, no_comment
from trimtab_tuner.targets.common_knobs import accept_queue, idle_time, requests_per_connection
from trimtab_tuner.targets.mime_types import MIME_TYPES
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs

MODULES = "/usr/lib/apache2/modules"
LEAST_THREAD_LIMIT = 64  # Apache's own default
UNSET_REQUEST_WORKERS = 400  # the same: 16 processes of 25 threads, whatever those are set to (event.c)

KNOBS = (
    Knob(
        name="ServerLimit",
        kind="integer",
        scale="log",
        low=1,
        high=256,
        default=16,
        unit="processes",
        resource_weight=3000.0,
        scope="total",
        help="Server processes.",
    ),
    Knob(
        name="ThreadsPerChild",
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=25,
        unit="threads",
        resource_weight=50.0,
        scope="worker",
        help="Threads of each process that work on requests.",
    ),
    Knob(
        name="MaxRequestWorkers",
        kind="ordinal",
        choices=(16, 32, 64, 100, 150, 200, 400, 800, 1600, 3200, 6400, "all"),
        default="all",
        unit="threads",
        scope="total",
        help="Requests worked on at once, over all processes; all: ServerLimit × ThreadsPerChild.",
    ),
    Knob(
        name="AsyncRequestWorkerFactor",
        kind="ordinal",
        choices=(1, 2, 4, 8, 16, 32),
        default=2,
        unit="connections",
        scope="worker",
        help="Connections that a process takes beside its busy threads, for each idle thread.",
    ),
    accept_queue("ListenBacklog", 511),
    Knob(
        name="ListenCoresBucketsRatio",
        kind="ordinal",
        choices=(0, 1, 2, 4, 8, 16),
        default=0,
        unit="CPUs",
        help="A listening socket of its own (SO_REUSEPORT) for each so many CPUs; 0: one for all.",
    ),
    Knob(
        name="EnableSendfile",
        kind="categorical",
        choices=("off", "on"),
        default="off",
        help="Whether the kernel sends files from the page cache.",
    ),
    Knob(
        name="EnableMMAP",
        kind="categorical",
        choices=("on", "off"),
        default="on",
        help="Whether files that are not sent by the kernel are mapped into memory or read.",
    ),
    requests_per_connection("MaxKeepAliveRequests", 100, "Apache"),
    idle_time("KeepAliveTimeout", 5),
)

FREE = ("ServerLimit", "ThreadsPerChild", "AsyncRequestWorkerFactor", "EnableSendfile")
_NAMES = {knob.name.lower(): knob for knob in KNOBS}
_LOADED = ("mpm_event", "authz_core", "mime", "dir")


class ApacheTarget:
    """Apache httpd with the event MPM as a target."""

    name = "apache"
    help = "Apache httpd 2.4 with the event MPM, of Debian's package apache2-bin."
    program = "apache2"
    file_name = "apache2.conf"
    status_path = "/status?auto"
    verify_live = {  # noqa: RUF012 - a table, never changed
        "ServerLimit": 'pgrep -c -P "$(pgrep -o apache2)" (the children of the parent)',
        "ThreadsPerChild": "ls /proc/$(pgrep -n apache2)/task | wc -l (two or three more than the threads)",
        "ListenBacklog": "ss -ltn (column Send-Q of the listening address)",
        "ListenCoresBucketsRatio": "ss -ltn (as many lines for the listening address as there are buckets)",
        "affinity": 'for p in $(pgrep apache2); do taskset -acp "$p"; done',
    }

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """Processes, threads, asynchronous connections and sendfile are free."""
        knobs = (*KNOBS, AFFINITY, *replica_knobs(cpus))
        return Space(
            knobs=knobs,
            fixed={k.name: k.default for k in knobs if k.name not in FREE},
            constraints=(
                AtMost(smaller="MaxRequestWorkers", larger=("ServerLimit", "ThreadsPerChild")),
                *replica_constraints("affinity"),
            ),
        )

    def expert(self, cpus: int) -> Configuration:
        """Few processes of many threads, many asynchronous connections (misc/perf-tuning, mod/event)."""
        return {
            **self.space().default(),
            "ServerLimit": max(2, cpus),
            "ThreadsPerChild": 64,
            "AsyncRequestWorkerFactor": 16,
            "EnableSendfile": "on",
            "ListenBacklog": 4096,
            "MaxKeepAliveRequests": 10_000,
        }

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """A complete apache2.conf. Raises RenderError if a path cannot be written in it."""
        lines = [about(name) + f"{name} {value}" for name, value in settings(configuration).items()]
        return surroundings(configuration, context) + "\n" + "\n".join(lines) + "\n"

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that an apache2.conf sets outside of virtual hosts and directories."""
        found: Configuration = {}
        for name, value in last_values(assignments(text)).items():
            knob = _NAMES.get(name.lower())
            if knob is None:
                continue
            words = value.strip('"')
            if knob.kind == "categorical":
                found[knob.name] = values.word(knob.name, words, knob.choices)
            elif knob.name == "KeepAliveTimeout":
                found[knob.name] = values.seconds(knob.name, words)
            else:
                found[knob.name] = values.integer(knob.name, words)
        if "MaxRequestWorkers" not in found and {"ServerLimit", "ThreadsPerChild"} & found.keys():
            unset = {**self.space().default(), **found}
            if request_workers(unset) > UNSET_REQUEST_WORKERS:
                found["MaxRequestWorkers"] = UNSET_REQUEST_WORKERS
        return values.within(KNOBS, found)

    def demands(self, configuration: Configuration) -> Demands:
        """Each process has its threads' connections, the asynchronous ones, and a file for each of them.

        A connection whose file is written on without a thread keeps it open.
        """
        threads = int(configuration["ThreadsPerChild"])
        connections = threads * (1 + int(configuration["AsyncRequestWorkerFactor"]))
        descriptors = 2 * connections + DESCRIPTOR_RESERVE
        return Demands(descriptors, connections, connections, int(configuration["ListenBacklog"]))

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """The parent's children, all threads of one on the same CPU."""
        return Workers("process", processes(configuration))

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`apache2 -t`."""
        return (binary or "apache2", "-t", "-f", file)

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """Apache in the foreground."""
        return (binary or "apache2", "-D", "FOREGROUND", "-f", file)

    def parse_status(self, text: str) -> dict[str, float]:
        """The plain page of mod_status."""
        said = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        try:
            return {
                "requests": float(said["Total Accesses"]),
                "bytes_sent": float(said["Total kBytes"]) * 1024,
                "connections_open": float(said["ConnsTotal"]),
                "workers_busy": float(said["BusyWorkers"]),
                "workers_idle": float(said["IdleWorkers"]),
            }
        except (KeyError, ValueError):
            return {}


def request_workers(configuration: Configuration) -> int:
    """How many requests are worked on at once: a whole number of processes, one at least."""
    threads = int(configuration["ThreadsPerChild"])
    asked = configuration["MaxRequestWorkers"]
    total = int(configuration["ServerLimit"]) * threads
    return max(threads, min(total, total if asked == "all" else int(asked) // threads * threads))


def processes(configuration: Configuration) -> int:
    """How many processes there are, all of them from the beginning."""
    return request_workers(configuration) // int(configuration["ThreadsPerChild"])


def most_spare_threads(configuration: Configuration) -> int:
    """All threads may be idle: none of the processes is ended for that."""
    return max(request_workers(configuration), 1 + int(configuration["ThreadsPerChild"]))


def settings(configuration: Configuration) -> dict[str, str]:
    """Each knob as Apache reads it; a ratio of 0 is not written, since Apache wants 1 at least."""
    lines = {knob.name: str(configuration[knob.name]) for knob in KNOBS}
    lines["MaxRequestWorkers"] = str(request_workers(configuration))
    if lines["ListenCoresBucketsRatio"] == "0":
        del lines["ListenCoresBucketsRatio"]
    return lines


def surroundings(configuration: Configuration, context: RenderContext, loaded: Collection[str] = ()) -> str:
    """What is no knob, without the modules that are loaded already. Raises RenderError."""
    prefix, root = quoted(context.prefix), quoted(context.root)
    modules = (*_LOADED, "status") if context.status_listen is not None else _LOADED
    log = "/dev/stderr" if context.error_log == "stderr" else context.error_log
    threads = int(configuration["ThreadsPerChild"])
    lines = [
        *(f"LoadModule {m}_module {MODULES}/mod_{m}.so" for m in modules if m not in loaded),
        f"ServerRoot {prefix}",
        "ServerName localhost",
        "User www-data",
        "Group www-data",
        f"DefaultRuntimeDir {prefix}",
        f"PidFile {quoted(context.prefix + '/apache2.pid')}",
        f"Mutex {quoted('file:' + context.prefix)} default",
        f"ErrorLog {quoted(log)}",
        *(f"Listen {address}" for address in context.listen),
        f"DocumentRoot {root}",
        f"<Directory {root}>\n    Require all granted\n</Directory>",
        "DirectoryIndex index.html",
        "TypesConfig /dev/null",
        *(f"AddType {mime} {endings}" for mime, endings in MIME_TYPES.items()),
        "KeepAlive On",
        f"ThreadLimit {max(LEAST_THREAD_LIMIT, threads)}",
        f"StartServers {processes(configuration)}",
        "MinSpareThreads 1",
        f"MaxSpareThreads {most_spare_threads(configuration)}",
    ]
    if context.status_listen is not None:
        path = ApacheTarget.status_path.partition("?")[0]
        lines.append(
            f"Listen {context.status_listen}\n<VirtualHost {context.status_listen}>\n"
            f"<Location {path}>\n    SetHandler server-status\n    Require all granted\n"
            "</Location>\n</VirtualHost>"
        )
    return "\n".join(lines) + "\n"


def quoted(path: str) -> str:
    """A path as a string of Apache's, which replaces ${…} everywhere."""
    return f'"{values.unquoted_path(path, chr(34) + "$" + chr(92))}"'


_LINE = re.compile(
    r"""[ \t]*(?:(?P<open><\s*(?P<section>\w+)[^>\n]*>)
              |(?P<close></[^>\n]*>)
              |(?P<name>\w+)[ \t]+(?P<value>[^\n]*?))?[ \t]*(?:\n|\Z)""",
    re.VERBOSE,
)
_OTHER_MPM = re.compile(r"mpm_?(worker|prefork)|(worker|prefork)\.c", re.IGNORECASE)


def assignments(text: str) -> Iterator[Assignment]:
    """The directives outside of sections, and inside of <IfModule> unless it is for another MPM."""
    skipped = [False]
    position = 0
    while position < len(text):
        line = _LINE.match(text, position)
        if line is None:  # a comment, or something else that is no directive
            end = text.find("\n", position)
            position = len(text) if end < 0 else end + 1
            continue
        position = line.end()
        if line["open"]:
            for_us = line["section"].lower() == "ifmodule" and not _OTHER_MPM.search(line["open"])
            skipped.append(skipped[-1] or not for_us)
        elif line["close"]:
            skipped = skipped[:-1] or [False]
        elif line["name"] and not skipped[-1]:
            yield Assignment(line["name"], line["value"], line.start("value"), line.end("value"))
        if line.end() == line.start():
            break
