"""The target `lighttpd`: knobs (`knobs.py`), a file made from them (`rendering.py`), a user's file
(`editing.py`, `private.py` for what is measured), a second server beside production (`beside.py`).
"""

from collections.abc import Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.access_logs import no_logs
from trimtab_tuner.targets.base import Demands, no_environment, nothing_refused
from trimtab_tuner.targets.http2 import Http2
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs
from trimtab_tuner.targets.servers.lighttpd import editing, private, rendering, telling, upstreams
from trimtab_tuner.targets.servers.lighttpd.beside import BESIDE
from trimtab_tuner.targets.servers.lighttpd.knobs import (
    EQUIVALENTS,
    FREE,
    KNOBS,
    PROXY_FREE,
    PROXY_KNOBS,
    TLS_KNOBS,
)


class LighttpdTarget:
    """lighttpd as a target."""

    name = "lighttpd"
    help = "lighttpd, the web server of Debian's package."
    protocol: ProtocolName = "http"
    program = "lighttpd"
    file_name = "lighttpd.conf"
    only_utf8 = False
    usual_files = ("/etc/lighttpd/lighttpd.conf",)
    unit = "lighttpd"
    package = "lighttpd"
    status_path = rendering.STATUS_PATH
    drop_in: str | None = None
    environment_file: str | None = None
    environment_prefix: str | None = "env."
    serves_php = True
    worker_title = ""
    tls_knobs = TLS_KNOBS
    log_knobs: Sequence[Knob] = ()
    proxy_knobs = PROXY_KNOBS
    proxy_free = PROXY_FREE
    http2 = Http2()  # spoken without being told; it has no settings
    beside = BESIDE
    equivalents = EQUIVALENTS
    verify_live = {  # noqa: RUF012 - a table, never changed
        "server.max-worker": 'pgrep -c -P "$(pgrep -o lighttpd)" (the children of the master)',
        "server.max-fds": "grep 'open files' /proc/$(pgrep -n lighttpd)/limits",
        "server.listen-backlog": "ss -ltn (column Send-Q of the listening address)",
        "affinity": 'for p in $(pgrep lighttpd); do taskset -acp "$p"; done',
    }

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """Workers, connections and the way to send are free."""
        knobs = (*KNOBS, AFFINITY, *replica_knobs(cpus))
        return Space(
            knobs=knobs,
            fixed={k.name: k.default for k in knobs if k.name not in FREE},
            constraints=replica_constraints("affinity"),
        )

    def expert(self, cpus: int) -> Configuration:
        """A worker per CPU, many descriptors, few stat(2) calls, long queue (Docs_Performance)."""
        return {
            **self.space().default(),
            "server.max-worker": max(choice for choice in _choices("server.max-worker") if choice <= cpus),
            "server.max-connections": 4096,
            "server.max-fds": 16_384,
            "server.listen-backlog": 4096,
            "server.max-keep-alive-requests": 10_000,
        }

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that a lighttpd.conf sets outside of conditions."""
        del cpus
        return editing.parse(text)

    render = staticmethod(rendering.render)
    parse_tls = staticmethod(editing.parse_tls)
    parse_proxy = staticmethod(editing.parse_proxy)
    includes = staticmethod(editing.includes)
    defined = staticmethod(editing.defined)
    environment = staticmethod(no_environment)
    told = staticmethod(telling.told)
    rooted = staticmethod(editing.rooted)
    reads = staticmethod(editing.reads)
    upstreams = staticmethod(upstreams.upstreams)
    upstream_log = None
    parse_log = staticmethod(no_logs)
    refused = staticmethod(nothing_refused)
    changed = staticmethod(editing.changed)
    excerpt = staticmethod(editing.excerpt)
    private = staticmethod(private.private)

    def demands(self, configuration: Configuration) -> Demands:
        """Each worker has two descriptors for a connection: the socket and the file."""
        connections = int(configuration["server.max-connections"])
        descriptors = int(rendering.settings(configuration)["server.max-fds"])
        backlog = int(configuration["server.listen-backlog"])
        return Demands(descriptors, connections, connections, backlog)

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """The master's children, or the single process."""
        return Workers("process", max(1, int(configuration["server.max-worker"])))

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`lighttpd -tt`, which loads the modules too."""
        return (binary or "lighttpd", "-tt", "-f", file)

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """`lighttpd -v`."""
        return (binary or "lighttpd", "-v")

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """lighttpd in the foreground."""
        return (binary or "lighttpd", "-D", "-f", file)

    def parse_status(self, text: str) -> dict[str, float]:
        """The plain page of mod_status; each worker counts for itself, so it tells of one of them.

        Its bytes are left out: lighttpd 1.4.69 adds for each request what its connection has sent so far.
        """
        said = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        try:
            return {
                "requests": float(said["Total Accesses"]),
                "connections_open": float(said["BusyServers"]),
            }
        except (KeyError, ValueError):
            return {}


def _choices(name: str) -> list[int]:
    knob = next(knob for knob in KNOBS if knob.name == name)
    return [choice for choice in knob.choices if isinstance(choice, int)]


TARGET = LighttpdTarget()
