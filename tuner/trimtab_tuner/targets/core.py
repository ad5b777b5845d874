"""The target `core`: trimtab-httpd.

Names, ranges and defaults are those of the server's own table (`trimtab-httpd -t` prints them). Two knobs are
coarser here: `accept_limit` and `sndbuf` are offered in steps, and `affinity` is an affinity plan, from which
rendering makes the list of CPUs; what the plan says of receive queues is the agent's to do.
"""

import re
from collections.abc import Iterator

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.space import AtMost, Knob, OnlyWith, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    About,
    Demands,
    RenderContext,
    RenderError,
    cpus_for_workers,
    no_comment,
)
from trimtab_tuner.targets.common_knobs import accept_queue, idle_time
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs

LINE_LIMIT = 199  # the INI parser's default (libinih, INI_MAX_LINE 200) without the line's end

KNOBS = (
    Knob(
        name="architecture",
        kind="categorical",
        choices=(
            "sped",
            "symped",
            "shared-symped",
            "n-copy",
            "amped",
            "co-amped",
            "smped",
            "mp",
            "mt",
            "pipeline",
            "knot",
            "nm",
            "uring",
        ),
        default="symped",
        help="How the work is divided among processes and threads.",
    ),
    Knob(
        name="sendfile",
        kind="categorical",
        choices=("nonblocking", "blocking", "off"),
        default="nonblocking",
        needs_restart=False,
        help="Whether sendfile returns when the socket is full, holds on to the last byte, or is not used.",
    ),
    Knob(
        name="events",
        kind="categorical",
        choices=("select", "poll", "epoll", "epoll-et", "io_uring"),
        default="epoll-et",
        help="How readiness is learnt from the kernel.",
    ),
    Knob(
        name="workers",
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=1,
        unit="processes",
        # 25 processes cost 25 to 30 MB of file cache (the seeds' thesis, section 3.10.2).
        resource_weight=1100.0,
        scope="total",
        help="Serving processes, kernel threads or writers, whichever the architecture multiplies.",
    ),
    Knob(
        name="max_connections",
        kind="integer",
        scale="log",
        low=1,
        high=1_000_000,
        default=1024,
        unit="connections",
        resource_weight=8.0,  # a socket, its buffers at rest, and the server's own record
        needs_restart=False,
        scope="total",
        help="Connections open at once over all workers, divided among them as evenly as possible.",
    ),
    Knob(
        name="accept_limit",
        kind="ordinal",
        choices=(1, 2, 4, 8, 16, 32, 64, 128, 256, "inf", "auto"),
        default="inf",
        unit="connections",
        needs_restart=False,
        scope="worker",
        help="Connections accepted in one accept phase; auto balances accepting and working.",
    ),
    accept_queue("backlog", 1024),
    Knob(
        name="sndbuf",
        kind="ordinal",
        choices=(0, 16_384, 65_536, 262_144, 1_048_576, 4_194_304),
        default=0,
        unit="bytes",
        help="Socket send buffer (SO_SNDBUF); 0 leaves it to the kernel.",
    ),
    AFFINITY,
    Knob(
        name="cache_entries",
        kind="integer",
        scale="log",
        low=1,
        high=1_000_000,
        default=30_000,
        unit="files",
        resource_weight=0.25,  # 6 MB for 25,000 entries (the seeds' thesis, section 3.8)
        scope="worker",
        help="Open files with their headers kept by each worker.",
    ),
    Knob(
        name="cache_mb",
        kind="integer",
        scale="log",
        low=1,
        high=1_048_576,
        default=64,
        unit="MiB",
        resource_weight=1024.0,
        scope="worker",
        help="File contents that each process keeps in memory if sendfile is off.",
    ),
    Knob(
        name="cache_lock",
        kind="categorical",
        choices=("mutex", "rw"),
        default="rw",
        help="How a shared cache is locked: one mutex, or a readers-writer lock for the table.",
    ),
    Knob(
        name="reuseport",
        kind="categorical",
        choices=("off", "on"),
        default="off",
        help="Whether each worker or copy has listening sockets of its own (SO_REUSEPORT).",
    ),
    Knob(
        name="copies",
        kind="integer",
        low=1,
        high=1024,
        default=1,
        unit="copies",
        resource_weight=1100.0,
        scope="total",
        help="Copies of the whole server, usually one for each CPU.",
    ),
    Knob(
        name="copy_of",
        kind="categorical",
        choices=("sped", "symped", "shared-symped", "mp", "mt", "pipeline", "uring", "knot", "nm"),
        default="symped",
        help="The architecture that n-copy has copies of.",
    ),
    Knob(
        name="helpers",
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=4,
        unit="processes",
        resource_weight=500.0,
        scope="worker",
        help="Helper processes for what may block, for each event loop.",
    ),
    Knob(
        name="forward_bias",
        kind="ordinal",
        choices=(1, 4, 16, 64, 256, "inf"),
        default="inf",
        unit="connections",
        help="Connections that the owner of a URL may have more than the process that forwards to it.",
    ),
    Knob(
        name="readers",
        kind="integer",
        low=1,
        high=64,
        default=1,
        unit="threads",
        help="Threads of the pipeline's Read stage, for each of the server's CPUs.",
    ),
    Knob(
        name="poll_delay_us",
        kind="integer",
        low=0,
        high=1_000_000,
        default=0,
        unit="us",
        help="How long a polling stage waits before it polls, so that it finds more.",
    ),
    Knob(
        name="large_transfer",
        kind="categorical",
        choices=("thread", "continuation"),
        default="continuation",
        help="Who sends what did not fit the socket at first: the thread, woken each time, or the scheduler.",
    ),
    Knob(
        name="thread_pool",
        kind="categorical",
        choices=("fixed", "on-demand"),
        default="fixed",
        help="Whether threads are there from the beginning, or are started when none is free.",
    ),
    idle_time("keepalive_timeout", 15, needs_restart=False),
    Knob(
        name="request_timeout",
        kind="integer",
        scale="log",
        low=1,
        high=86_400,
        default=10,
        unit="s",
        needs_restart=False,
        help="Time until a request head must be complete, and that a reply may go without progress.",
    ),
)

FREE = {
    "symped": ("sendfile", "workers", "max_connections"),
    "sped": ("sendfile", "max_connections"),
    "pipeline": ("sendfile", "workers", "max_connections"),
    "shared-symped": ("sendfile", "workers", "max_connections", "cache_lock"),
    "n-copy": ("sendfile", "copies", "workers", "max_connections"),
    "amped": ("helpers", "max_connections"),
    "co-amped": ("workers", "helpers", "forward_bias", "max_connections"),
    "smped": ("sendfile", "workers", "max_connections"),
    "knot": ("sendfile", "workers", "max_connections"),
    "nm": ("sendfile", "workers", "max_connections", "large_transfer"),
    "uring": ("workers", "max_connections", "accept_limit"),
    "mp": ("sendfile", "workers"),  # a worker is a connection
    "mt": ("sendfile", "workers", "thread_pool"),
}

OWN_DEFAULTS: dict[str, Configuration] = {
    "n-copy": {"reuseport": "on"},  # copies want listeners of their own
    "mp": {"workers": 32},
    "mt": {"workers": 64},
}
"""Where an architecture begins at other values than all others."""


LIMITED = tuple(name for name in FREE if name not in ("mp", "mt"))
BALANCED = ("sped", "symped", "shared-symped", "amped", "co-amped", "uring")
CACHED = tuple(name for name in FREE if name not in ("amped", "co-amped", "uring"))
BLOCKED = tuple(name for name in FREE if name != "uring")
# Values that the server refuses to some architectures.
TAKEN = (
    OnlyWith(knob="accept_limit", otherwise="inf", other="architecture", among=LIMITED),
    OnlyWith(knob="accept_limit", values=("auto",), otherwise="inf", other="architecture", among=BALANCED),
    OnlyWith(knob="sendfile", values=("off",), otherwise="nonblocking", other="architecture", among=CACHED),
    OnlyWith(
        knob="sendfile", values=("blocking",), otherwise="nonblocking", other="architecture", among=BLOCKED
    ),
    OnlyWith(
        knob="events",
        values=("select", "poll", "io_uring"),
        otherwise="epoll-et",
        other="architecture",
        among=tuple(name for name in FREE if name != "shared-symped"),
    ),
)
# Knobs that only some architectures know; n-copy knows those of the architecture that it copies.
KNOWN = {
    "events": ("sped", "symped", "shared-symped", "n-copy", "amped", "co-amped", "smped"),
    "workers": tuple(name for name in FREE if name not in ("sped", "amped")),
    "cache_lock": ("shared-symped", "n-copy", "mt", "pipeline", "nm"),
    "reuseport": ("symped", "shared-symped", "n-copy", "co-amped", "mp", "uring"),
    "copies": ("shared-symped", "n-copy"),
    "copy_of": ("n-copy",),
    "helpers": ("amped", "co-amped"),
    "forward_bias": ("co-amped",),
    "readers": ("pipeline", "n-copy"),
    "poll_delay_us": ("pipeline", "n-copy"),
    "large_transfer": ("nm",),
    "thread_pool": ("mt", "n-copy"),
}
UNKNOWN = tuple(
    OnlyWith(knob=knob.name, otherwise=knob.default, other="architecture", among=KNOWN[knob.name])
    for knob in KNOBS
    if knob.name in KNOWN
)


class CoreTarget:
    """trimtab-httpd as a target."""

    name = "core"
    help = "trimtab-httpd, Trimtab's own server for static files."
    program = "trimtab-httpd"
    file_name = "trimtab-httpd.ini"
    status_path = None
    verify_live = {  # noqa: RUF012 - a table, never changed
        "workers": 'pgrep -c -P "$(pgrep -o trimtab-httpd)" (the master\'s children)',
        "backlog": "ss -ltn (column Send-Q of the listening address)",
        "affinity": 'for p in $(pgrep trimtab-httpd); do taskset -cp "$p"; done',
    }

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """The knobs with those free that are tuned by default; a sped server has one worker by definition.

        Raises RenderError for an architecture that the server does not have.
        """
        if architecture not in FREE:
            raise RenderError(f"architecture {architecture!r}: expected one of {', '.join(FREE)}")
        own = {"architecture": architecture, **OWN_DEFAULTS.get(architecture, {})}
        knobs = tuple(knob.model_copy(update={"default": own.get(knob.name, knob.default)}) for knob in KNOBS)
        knobs += replica_knobs(cpus)
        fixed = {knob.name: knob.default for knob in knobs if knob.name not in FREE[architecture]}
        return Space(
            knobs=knobs,
            fixed=fixed,
            constraints=(
                AtMost(
                    smaller=("copies", "workers") if architecture == "n-copy" else "workers",
                    larger="max_connections",
                ),
                *(() if architecture != "shared-symped" else (AtMost(smaller="copies", larger="workers"),)),
                *UNKNOWN,
                *TAKEN,
                *replica_constraints("affinity"),
            ),
        )

    def expert(self, cpus: int) -> Configuration:
        """A worker per CPU, as the seeds' thesis advises for files in memory, room for many connections."""
        return {
            **self.space().default(),
            "workers": cpus,
            "max_connections": 10_000,
            "backlog": 4096,
        }

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """The INI file. Raises RenderError if a path cannot be written in it."""
        head = "".join(_line(name, value) for name, value in surroundings(context).items())
        lines = settings(configuration, context)
        return f"[server]\n{head}" + "".join(about(n) + _line(n, v) for n, v in lines.items())

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that an INI file sets; a list of CPUs for `affinity` is the plan `process`."""
        said = last_values(assignments(text))
        found: Configuration = {}
        for knob in KNOBS:
            if knob.name not in said:
                continue
            text_value = said[knob.name]
            if knob.name == "affinity":
                found[knob.name] = "none" if text_value == "none" else "process"
            elif text_value.isascii() and text_value.isdigit():
                found[knob.name] = int(text_value)
            elif knob.kind == "integer":
                found[knob.name] = values.integer(knob.name, text_value)
            else:
                found[knob.name] = values.word(knob.name, text_value, knob.choices)
        return found

    def demands(self, configuration: Configuration) -> Demands:
        """Each worker has its share of the connections, a file for each of them, and its cached files."""
        connections = -(-int(configuration["max_connections"]) // int(configuration["workers"]))
        files = connections + int(configuration["cache_entries"])
        return Demands(
            connections + files + DESCRIPTOR_RESERVE, connections, files, int(configuration["backlog"])
        )

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """None: it pins them itself."""
        return None

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`trimtab-httpd -t -c FILE`."""
        return (binary or "trimtab-httpd", "-t", "-c", file)

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`trimtab-httpd -c FILE`; its master stays in the foreground."""
        return (binary or "trimtab-httpd", "-c", file)

    def parse_status(self, text: str) -> dict[str, float]:
        """Empty: what trimtab-httpd counts is read from its stats socket."""
        return {}


def surroundings(context: RenderContext) -> dict[str, Value]:
    """What is no knob: the document root, the addresses, the stats socket."""
    lines: dict[str, Value] = {"root": context.root, "listen": ",".join(context.listen)}
    if context.stats_socket is not None:
        lines["stats_socket"] = context.stats_socket
    return lines


def settings(configuration: Configuration, context: RenderContext) -> Configuration:
    """The knobs as the server reads them: the affinity plan turned into CPUs."""
    values = {knob.name: configuration[knob.name] for knob in KNOBS}
    cpus = cpus_for_workers(values["affinity"], context)
    values["affinity"] = ",".join(str(cpu) for cpu in cpus) or "none"
    return values


def _line(name: str, value: Value) -> str:
    line = f"{name} = {value}"
    text = str(value)
    if "\n" in text or " ;" in text or text != text.strip():
        raise RenderError(f"{name} = {value!r}: expected no line break, no ' ;' and no space at either end")
    if len(line.encode()) > LINE_LIMIT:
        raise RenderError(
            f"{name}: {len(line.encode())} bytes long: expected at most {LINE_LIMIT} in one line"
        )
    return line + "\n"


_SETTING = re.compile(
    r"^[ \t]*(?P<name>\w+)[ \t]*[=:][ \t]*(?P<value>[^\n]*?)[ \t]*(?:[ \t];[^\n]*)?$", re.MULTILINE
)


def assignments(text: str) -> Iterator[Assignment]:
    """The keys of the file; it has one section."""
    for match in _SETTING.finditer(text):
        yield Assignment(match["name"], match["value"], match.start("value"), match.end("value"))
