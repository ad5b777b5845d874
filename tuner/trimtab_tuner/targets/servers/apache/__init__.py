"""The target `apache`: Apache httpd 2.4. Its knobs are in `knobs.py`, by its MPM (`mpm.py`), a file made from
them in `rendering.py`, a user's file in `editing.py`, a second server beside production in `beside.py`.
"""

from collections.abc import Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.space import AtMost, Knob, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.access_logs import no_logs
from trimtab_tuner.targets.assignments import last_values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    About,
    Demands,
    RenderContext,
    RenderError,
    no_comment,
    nothing_refused,
)
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs
from trimtab_tuner.targets.servers.apache import (
    editing,
    levels,
    mpm,
    private,
    proxying,
    rendering,
    syntax,
    telling,
    variables,
)
from trimtab_tuner.targets.servers.apache.beside import BESIDE
from trimtab_tuner.targets.servers.apache.knobs import (
    EQUIVALENTS,
    FREE,
    HTTP2,
    KNOBS,
    PROXY_FREE,
    PROXY_KNOBS,
    TLS_KNOBS,
    connections_of,
    mpm_knob,
    processes,
    request_workers,
    threads_each,
)

UNSET_REQUEST_WORKERS = 400  # Apache's own: 16 processes of 25 threads, whatever those are set to (event.c)


class ApacheTarget:
    """Apache httpd as a target: with the event MPM, or that of a user's own file."""

    name = "apache"
    help = "Apache httpd 2.4, of Debian's package apache2-bin: with the event MPM, or your own file's."
    protocol: ProtocolName = "http"
    program = "apache2"
    file_name = "apache2.conf"
    only_utf8 = False
    usual_files = (
        "/etc/apache2/apache2.conf",
        "/etc/httpd/conf/httpd.conf",
        "/usr/local/apache2/conf/httpd.conf",
    )
    unit = "apache2"
    package = "apache2-bin"
    status_path = rendering.STATUS_PATH
    drop_in: str | None = None
    environment_file: str | None = variables.ENVIRONMENT_FILE
    environment_prefix: str | None = None
    serves_php = True
    worker_title = ""
    tls_knobs = TLS_KNOBS
    log_knobs: Sequence[Knob] = ()
    proxy_knobs = PROXY_KNOBS
    proxy_free = PROXY_FREE
    beside = BESIDE
    http2 = HTTP2
    equivalents = EQUIVALENTS
    verify_live = {  # noqa: RUF012 - a table, never changed
        "ServerLimit": 'pgrep -c -P "$(pgrep -o apache2)" (the children of the parent)',
        "ThreadsPerChild": "ls /proc/$(pgrep -n apache2)/task | wc -l (two or three more than the threads)",
        "ListenBacklog": "ss -ltn (column Send-Q of the listening address)",
        "ListenCoresBucketsRatio": "ss -ltn (as many lines for the listening address as there are buckets)",
        "affinity": 'for p in $(pgrep apache2); do taskset -acp "$p"; done',
    }

    def space(self, architecture: str = mpm.EVENT, cpus: int = 1) -> Space:
        """The knobs of an MPM: processes, threads, asynchronous connections, as far as it has them, and
        sendfile are free. Raises RenderError for an MPM that is not tuned.
        """
        if architecture not in mpm.MPMS:
            raise RenderError(f"{mpm.NAME} {architecture!r}: expected one of {', '.join(mpm.MPMS)}")
        knobs = (mpm_knob(architecture), *KNOBS[architecture], AFFINITY, *replica_knobs(cpus))
        of_threads = AtMost(smaller="MaxRequestWorkers", larger=("ServerLimit", "ThreadsPerChild"))
        return Space(
            knobs=knobs,
            fixed={k.name: k.default for k in knobs if k.name not in FREE[architecture]},
            constraints=(
                *(() if architecture == mpm.PREFORK else (of_threads,)),
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
        settings = rendering.settings(configuration, context)
        lines = "".join(about(name) + f"{name} {value}\n" for name, value in settings.items())
        certificate = rendering.certificate(configuration, context, about)
        upstream = rendering.upstream(configuration, context, about)
        return rendering.surroundings(configuration, context) + "\n" + lines + upstream + certificate

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The MPM, if the file names one, and its knobs set outside of virtual hosts and directories, or in
        all of those alike, but not those of TLS and HTTP/2.
        """
        lines, known = list(syntax.walk(text)), variables.defined(text, {})
        loaded = mpm.in_force(lines)
        knobs = {knob.name.lower(): knob for knob in KNOBS[loaded]}
        found: Configuration = {mpm.NAME: loaded} if mpm.named(lines) else {}
        said = last_values(rendering.assignments(text, loaded))
        of_sites = {name: said[-1].words[0].text for name, said in levels.in_sites(lines).items()}
        for name, value in {**said, **of_sites}.items():
            knob = knobs.get(rendering.directive(name))
            if knob is None:
                continue
            words = variables.filled(value.strip('"'), known)
            if knob.kind == "categorical":
                found[knob.name] = values.word(knob.name, words, knob.choices)
            elif knob.name == "KeepAliveTimeout":
                found[knob.name] = values.seconds(knob.name, words)
            elif knob.name == "AsyncRequestWorkerFactor":
                found[knob.name] = values.number(knob.name, words)
            else:
                found[knob.name] = values.integer(knob.name, words)
        limits = {name.lower(): value for name, value in said.items()}
        found |= _workers_in_force(found, loaded, limits.get("serverlimit", ""))
        return values.within((mpm_knob(loaded), *KNOBS[loaded]), found)

    parse_tls = staticmethod(editing.parse_tls)
    parse_proxy = staticmethod(proxying.parse)
    includes = staticmethod(editing.includes)
    defined = staticmethod(editing.defined)
    environment = staticmethod(variables.environment)
    told = staticmethod(telling.told)
    rooted = staticmethod(editing.rooted)
    reads = staticmethod(editing.reads)
    upstreams = staticmethod(proxying.upstreams)
    upstream_log = None
    parse_log = staticmethod(no_logs)
    refused = staticmethod(nothing_refused)
    changed = staticmethod(editing.changed)
    excerpt = staticmethod(editing.excerpt)
    private = staticmethod(private.private)

    def demands(self, configuration: Configuration) -> Demands:
        """Each process has its threads' connections, the asynchronous ones, and a file for each of them.

        A connection whose file is written on without a thread keeps it open.
        """
        connections = connections_of(configuration, threads_each(configuration))
        descriptors = 2 * connections + DESCRIPTOR_RESERVE
        return Demands(descriptors, connections, connections, int(configuration["ListenBacklog"]))

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """The parent's children, all threads of one on the same CPU."""
        return Workers("process", processes(configuration))

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`apache2 -t`."""
        return (binary or "apache2", "-t", "-f", file)

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """`apache2 -v`."""
        return (binary or "apache2", "-v")

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """Apache in the foreground; it looks for a file without a path in its root, which is elsewhere."""
        here = () if file.startswith("/") else ("-d", ".")
        return (binary or "apache2", "-D", "FOREGROUND", *here, "-f", file)

    def parse_status(self, text: str) -> dict[str, float]:
        """The plain page of mod_status."""
        said = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        try:
            return {
                "requests": float(said["Total Accesses"]),
                "bytes_sent": float(said["Total kBytes"]) * 1024,
                # Only event counts them; with the others each has a worker for itself.
                "connections_open": float(said.get("ConnsTotal", said["BusyWorkers"])),
                "workers_busy": float(said["BusyWorkers"]),
                "workers_idle": float(said["IdleWorkers"]),
            }
        except (KeyError, ValueError):
            return {}


def _workers_in_force(found: Configuration, loaded: str, server_limit: str) -> Configuration:
    """MaxRequestWorkers where it is another number than the file says, or than the knob's default."""
    if loaded == mpm.PREFORK:
        limit = int(server_limit) if server_limit.isdecimal() else rendering.CHILD_LIMIT
        asked = int(found.get("MaxRequestWorkers", rendering.CHILD_LIMIT))
        return {"MaxRequestWorkers": max(1, limit)} if asked > limit else {}
    if "MaxRequestWorkers" in found or not {"ServerLimit", "ThreadsPerChild"} & found.keys():
        return {}
    unset = {**TARGET.space(loaded).default(), **found}
    return (
        {"MaxRequestWorkers": UNSET_REQUEST_WORKERS} if request_workers(unset) > UNSET_REQUEST_WORKERS else {}
    )


TARGET = ApacheTarget()
