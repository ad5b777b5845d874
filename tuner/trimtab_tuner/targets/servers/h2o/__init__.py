"""The target `h2o`.

Knobs are named after h2o's configuration commands (h2o.examp1e.net/configure). Those that came after version
2.2 (`tcp-reuseport`, `file.io_uring`) are written only when they are on, so that an older h2o refuses a
configuration which needs them and no other.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from ruamel import yaml
from trimtab_trials.configuration import Configuration

from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.access_logs import no_logs
from trimtab_tuner.targets.assignments import last_values, with_values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    NOTHING,
    About,
    Demands,
    Excerpt,
    Include,
    RenderContext,
    RenderError,
    as_it_stands,
    no_comment,
    no_environment,
    nothing_defined,
    nothing_refused,
)
from trimtab_tuner.targets.common_knobs import wait_for_upstream
from trimtab_tuner.targets.editing import apply, single_lines
from trimtab_tuner.targets.equivalents import by_role, pinning, plain, switch
from trimtab_tuner.targets.http2 import Http2
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs
from trimtab_tuner.targets.servers.h2o import private, syntax, telling, upstreams
from trimtab_tuner.targets.servers.h2o.beside import BESIDE
from trimtab_tuner.targets.tls import KEY
from trimtab_tuner.targets.told import Told

ON_OFF = ("OFF", "ON")
# The only setting that its file cache has: twice this many files (main() in h2o's src/main.c).
FILE_CACHE = "http2-max-concurrent-requests-per-connection"

KNOBS = (
    Knob(
        name="num-threads",
        role=Role.WORKERS,
        kind="integer",
        scale="log",
        low=1,
        high=256,
        default=1,
        unit="threads",
        resource_weight=1000.0,
        scope="total",
        help="Threads, each with an event loop of its own; h2o's own default is one per CPU.",
    ),
    Knob(
        name="max-connections",
        role=Role.CONNECTIONS,
        kind="integer",
        scale="log",
        low=16,
        high=131_072,
        default=1024,
        unit="connections",
        resource_weight=1.0,
        scope="total",
        help="Connections open at once over all threads; beyond, they wait in the kernel's queue.",
    ),
    Knob(
        name="http1-request-timeout",
        role=Role.KEEPALIVE_TIME,
        kind="integer",
        scale="log",
        low=1,
        high=86_400,
        default=10,
        unit="s",
        help="Time for a request to arrive, and that a connection may be idle between requests.",
    ),
    Knob(
        name=FILE_CACHE,
        role=Role.FILE_CACHE,
        kind="integer",
        scale="log",
        low=1,
        high=100_000,
        default=100,
        unit="requests",
        resource_weight=0.5,
        scope="worker",
        help="Half of the open files that a thread keeps while it goes through what is ready, and the "
        "requests of one HTTP/2 connection at a time.",
    ),
    Knob(
        name="tcp-reuseport",
        role=Role.LISTENERS,
        kind="categorical",
        choices=ON_OFF,
        default="OFF",
        help="Whether each thread has a listening socket of its own (h2o 2.3 and later).",
    ),
    Knob(
        name="file.io_uring",
        kind="categorical",
        choices=ON_OFF,
        default="OFF",
        help="Whether files are read through io_uring (h2o 2.3 and later, where compiled in).",
    ),
)

RESUMPTION = Knob(
    name="ssl-session-resumption",
    role=Role.TLS_SESSIONS,
    kind="categorical",
    choices=("off", "cache", "ticket", "all"),
    default="all",
    help="How sessions are resumed: from the server's own cache, by tickets that clients keep, by both, or "
    "not at all.",
)
TLS_KNOBS = (KEY, RESUMPTION)
# How many requests of a connection are worked on at once is FILE_CACHE, which counts without HTTP/2 too.
HTTP2 = Http2(
    knobs=(
        Knob(
            name="http2-idle-timeout",
            kind="integer",
            scale="log",
            low=1,
            high=86_400,
            default=10,
            unit="s",
            help="How long an HTTP/2 connection may be idle between requests.",
        ),
    )
)

PROXY_KNOBS = (
    Knob(
        name="proxy.timeout.keepalive",
        role=Role.UPSTREAM_KEEPALIVE,
        kind="ordinal",
        choices=(0, 500, 2000, 10_000, 60_000),
        default=2000,
        unit="ms",
        help="How long an idle connection to the upstream is kept open; 0: a new one for each request.",
    ),
    wait_for_upstream("proxy.timeout.io", 30_000, "ms", "Time without a byte from the upstream."),
)
PROXY_FREE = (PROXY_KNOBS[0].name,)

FREE = ("num-threads", "max-connections")

EQUIVALENTS = by_role(
    plain(Role.WORKERS, "num-threads"),
    plain(Role.CONNECTIONS, "max-connections"),
    plain(Role.KEEPALIVE_TIME, "http1-request-timeout"),
    switch(Role.LISTENERS, "tcp-reuseport", "ON", "OFF"),
    pinning("affinity"),
)
_OF_PROXYING = tuple(knob.name for knob in PROXY_KNOBS)
_ONLY_WHEN_ON = ("tcp-reuseport", "file.io_uring")


class H2oTarget:
    """h2o as a target."""

    name = "h2o"
    help = "h2o, the web server of Debian's package."
    protocol: ProtocolName = "http"
    program = "h2o"
    file_name = "h2o.conf"
    only_utf8 = True
    usual_files = ("/etc/h2o/h2o.conf", "/usr/local/etc/h2o.conf")
    unit = "h2o"
    package = "h2o"
    status_path = "/json?show=main"
    drop_in: str | None = None
    environment_file: str | None = None
    environment_prefix: str | None = None
    serves_php = True
    worker_title = ""
    tls_knobs = TLS_KNOBS
    log_knobs: Sequence[Knob] = ()
    proxy_knobs = PROXY_KNOBS
    proxy_free = PROXY_FREE
    http2 = HTTP2
    beside = BESIDE
    equivalents = EQUIVALENTS
    verify_live = {  # noqa: RUF012 - a table, never changed
        "num-threads": "ls /proc/$(pgrep -o h2o)/task | wc -l (h2o adds one or two of its own)",
        "max-connections": "ls /proc/$(pgrep -o h2o)/fd | wc -l (descriptors in use now)",
        "tcp-reuseport": "ss -ltn (as many lines for the listening address as there are threads)",
        "affinity": 'for p in $(pgrep h2o); do taskset -acp "$p"; done',
    }

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """Threads and connections are free; by default there is a thread per CPU."""
        own = (k.model_copy(update={"default": cpus}) if k.name == "num-threads" else k for k in KNOBS)
        knobs = (*own, AFFINITY, *replica_knobs(cpus))
        return Space(
            knobs=knobs,
            fixed={k.name: k.default for k in knobs if k.name not in FREE},
            constraints=replica_constraints("affinity"),
        )

    def expert(self, cpus: int) -> Configuration:
        """A thread per CPU, and more connections than the cautious default."""
        return {**self.space().default(), "num-threads": cpus, "max-connections": 10_000}

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """A complete h2o.conf. Raises RenderError if a path cannot be written in it."""
        lines = [about(name) + f"{name}: {value}" for name, value in settings(configuration).items()]
        return "\n".join(lines) + "\n\n" + surroundings(configuration, context, about)

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that a h2o.conf sets at its top level."""
        said = last_values(syntax.assignments(text))
        found: Configuration = {}
        for knob in KNOBS:
            if knob.name in said:
                value = said[knob.name]
                if knob.kind == "integer":
                    found[knob.name] = values.integer(knob.name, value)
                else:
                    found[knob.name] = values.word(knob.name, value, [c.lower() for c in ON_OFF]).upper()
        return found

    def parse_tls(self, text: str) -> Configuration:
        """How sessions are resumed, and the knobs of HTTP/2, where a h2o.conf says it."""
        said = last_values(syntax.assignments(text))
        found: Configuration = {
            knob.name: values.integer(knob.name, said[knob.name]) for knob in HTTP2.knobs if knob.name in said
        }
        for command in syntax.commands(text):
            if command.above == (RESUMPTION.name,) and command.name == "mode":
                told = command.value.value if isinstance(command.value, yaml.ScalarNode) else ""
                found[RESUMPTION.name] = values.word(RESUMPTION.name, told, RESUMPTION.choices)
        return found

    def parse_proxy(self, text: str) -> Configuration:
        """The knobs of proxying that a h2o.conf sets, at its top level or deeper."""
        return {name: values.integer(name, each[0].value.value) for name, each in _of_proxying(text).items()}

    defined = staticmethod(nothing_defined)
    environment = staticmethod(no_environment)

    def includes(self, text: str, known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
        """None: `!file` is refused where the file is to be run privately."""
        return ()

    def told(self, text: str) -> Iterable[Told]:
        """What is refused or runs, and exceptions of proxying."""
        return telling.told(text, _exceptions(text))

    rooted = staticmethod(as_it_stands)
    reads = staticmethod(private.reads)
    upstreams = staticmethod(upstreams.upstreams)
    upstream_log = None
    parse_log = staticmethod(no_logs)
    refused = staticmethod(nothing_refused)

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Commands are replaced where they stand, or added at the end. Raises RenderError for one whose value
        others have too.
        """
        values = {name: value for name, value in settings(configuration).items() if name in knobs}
        for command in syntax.commands(text):
            if values.get(command.name, command.value.value) != command.value.value:
                _refuse_if_named_elsewhere(command, text)
        if RESUMPTION.name in values:
            text, values = _with_resumption(text, configuration, values)
        deeper = [
            (command.name, command.place)
            for name, commands in _of_proxying(text).items()
            for command in commands
            if command.above and name in values
        ]
        text = apply(text, [(*place, values[name]) for name, place in deeper])
        there = {assignment.name for assignment in syntax.assignments(text)}
        done = {name for name, _ in deeper} - there
        values = {name: value for name, value in values.items() if name not in done}
        return with_values(text, syntax.assignments(text), values, joint=": ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The whole file, with one host more for the workload."""
        tuned = self.changed(text, configuration, knobs, context)
        return private.private(tuned, configuration, knobs, context)

    def excerpt(
        self, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> Excerpt:
        """Each setting on its line."""
        return single_lines(self.changed("", configuration, knobs, context), configuration)

    def demands(self, configuration: Configuration) -> Demands:
        """A socket and a file for each connection, and the threads' cached files; the queue's length is
        compiled in.
        """
        connections = int(configuration["max-connections"])
        files = connections + int(configuration["num-threads"]) * 2 * int(configuration[FILE_CACHE])
        return Demands(connections + files + DESCRIPTOR_RESERVE, connections, files, None)

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """Its threads."""
        return Workers("thread", int(configuration["num-threads"]))

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`h2o -t`."""
        return (binary or "h2o", "-t", "-c", file)

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """`h2o -v`."""
        return (binary or "h2o", "-v")

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """h2o as a worker in the foreground."""
        return (binary or "h2o", "-m", "worker", "-c", file)

    def parse_status(self, text: str) -> dict[str, float]:
        """The main part of the JSON status."""
        try:
            said = json.loads(text)
            return {
                "connections_open": float(said["connections"]),
                "connections_accepted": float(said["num-sessions"]),
            }
        except (KeyError, TypeError, ValueError):
            return {}


def _of_proxying(text: str) -> dict[str, list[syntax.Command]]:
    """The commands that are changed with each knob of proxying: at the top level the last one; where there is
    none, the first of those deeper and all that have its value. Others are exceptions.
    """
    found: dict[str, list[syntax.Command]] = {}
    for name in _OF_PROXYING:
        told = [
            each
            for each in syntax.commands(text)
            if each.name == name and isinstance(each.value, yaml.ScalarNode)
        ]
        top = [each for each in told if not each.above]
        alike = [each for each in told if each.value.value == told[0].value.value]
        if told:
            found[name] = top[-1:] or alike
    return found


def _exceptions(text: str) -> set[int]:
    """Where the values stand that stay."""
    changed = {each.start for commands in _of_proxying(text).values() for each in commands}
    return {
        each.start
        for each in syntax.commands(text)
        if each.name in _OF_PROXYING and each.above and each.start not in changed
    }


def settings(configuration: Configuration) -> dict[str, str]:
    """Each knob as h2o reads it."""
    lines = {
        knob.name: str(configuration[knob.name])
        for knob in KNOBS
        if knob.name not in _ONLY_WHEN_ON or configuration[knob.name] == "ON"
    }
    lines |= {knob.name: str(configuration[knob.name]) for knob in HTTP2.knobs if knob.name in configuration}
    lines |= {name: str(configuration[name]) for name in _OF_PROXYING if name in configuration}
    if RESUMPTION.name in configuration:
        lines[RESUMPTION.name] = f"{{mode: {_mode(configuration)}}}"
    return lines


def _refuse_if_named_elsewhere(command: syntax.Command, text: str) -> None:
    if syntax.named_elsewhere(command, text):
        line = text.count("\n", 0, command.start) + 1
        raise RenderError(
            f"line {line}: {command.name} is &{command.value.anchor}, and other commands have the same value "
            f"by *{command.value.anchor}; expected it written out at each"
        )


def _mode(configuration: Configuration) -> str:
    """How sessions are resumed; in quotes, since YAML would read the word off as false."""
    return syntax.quoted(str(configuration[RESUMPTION.name]))


def _with_resumption(
    text: str, configuration: Configuration, values: dict[str, str]
) -> tuple[str, dict[str, str]]:
    """The text with the mode of resumption where it says anything of that, and the values still to be set.

    h2o takes the command once, with all that belongs to it: where tickets come from stays.
    """
    told = [command for command in syntax.commands(text) if command.name == RESUMPTION.name]
    if not told or not isinstance(told[0].value, yaml.MappingNode):
        return text, values
    rest = {name: value for name, value in values.items() if name != RESUMPTION.name}
    for key, value in told[0].value.value:
        if key.value == "mode":
            place = (*syntax.place_of(value, text), _mode(configuration))
            return apply(text, [place]), rest
    if not told[0].value.value:
        return apply(text, [(*told[0].place, f"{{mode: {_mode(configuration)}}}")]), rest
    first = told[0].value.value[0][0].start_mark
    behind = ", " if told[0].value.flow_style else "\n" + " " * first.column
    place = first.index
    return apply(text, [(place, place, f"mode: {_mode(configuration)}{behind}")]), rest


def surroundings(configuration: Configuration, context: RenderContext, about: About) -> str:
    """What is no knob: files of its own, one host for each address, and one for the status page."""
    key = about(KEY.name) if context.tls_directory is not None else ""
    hosts = private.hosts(configuration, context)
    return private.own_files(context.prefix, context.error_log) + key + "hosts:\n" + hosts


TARGET = H2oTarget()
