"""The target `lighttpd`.

Knobs are named after lighttpd's settings (redmine.lighttpd.net, Docs_ConfigurationOptions and
Docs_Performance). Connections are counted for each worker; lighttpd keeps two descriptors for each, so
`server.max-fds = auto` is Trimtab's word for as many as the connections need.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values, with_values
from trimtab_tuner.targets.base import About, Demands, Excerpt, Include, RenderContext, no_comment
from trimtab_tuner.targets.common_knobs import accept_queue, idle_time, requests_per_connection
from trimtab_tuner.targets.editing import single_lines
from trimtab_tuner.targets.equivalents import Equivalent, by_role, pinning, plain, share, switch
from trimtab_tuner.targets.mime_types import DEFAULT_TYPE, MIME_TYPES
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs

LEAST_MAX_FDS = 4096  # lighttpd's own default (src/server.c)

KNOBS = (
    Knob(
        name="server.max-worker",
        role=Role.WORKERS,
        kind="ordinal",
        choices=(0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
        default=0,
        unit="processes",
        resource_weight=2500.0,
        scope="total",
        help="Worker processes beside a master; 0: a single process serves.",
    ),
    Knob(
        name="server.max-connections",
        role=Role.CONNECTIONS_PER_WORKER,
        kind="integer",
        scale="log",
        low=16,
        high=131_072,
        default=1365,
        unit="connections",
        resource_weight=1.0,
        scope="worker",
        help="Connections open at once in one worker; beyond, they wait in the kernel's queue.",
    ),
    Knob(
        name="server.max-fds",
        kind="ordinal",
        choices=("auto", 1024, 4096, 16_384, 65_536, 262_144),
        default="auto",
        unit="descriptors",
        scope="worker",
        help="Descriptors of one worker; auto: two for each connection, and 4096 at least.",
    ),
    Knob(
        name="server.event-handler",
        role=Role.EVENTS,
        kind="categorical",
        choices=("linux-sysepoll", "poll"),
        default="linux-sysepoll",
        help="How readiness is learnt from the kernel.",
    ),
    Knob(
        name="server.network-backend",
        role=Role.SENDING_MODE,
        kind="categorical",
        choices=("sendfile", "writev", "write"),
        default="sendfile",
        help="How files are sent: by the kernel from the page cache, or read and written.",
    ),
    Knob(
        name="server.stat-cache-engine",
        kind="categorical",
        choices=("simple", "inotify", "disable"),
        default="simple",
        help="Whether what stat(2) says of a file is kept: for a second, until the kernel tells of a change "
        "(inotify), or not at all.",
    ),
    accept_queue("server.listen-backlog", 1024),
    requests_per_connection("server.max-keep-alive-requests", 1000, "lighttpd"),
    idle_time("server.max-keep-alive-idle", 5),
)

FREE = ("server.max-worker", "server.max-connections", "server.network-backend")


EQUIVALENTS = by_role(
    # A single process and one worker under a master serve alike.
    Equivalent(
        Role.WORKERS,
        "server.max-worker",
        lambda c: max(1, int(c["server.max-worker"])),
        lambda m: 0 if m[Role.WORKERS] == 1 else m[Role.WORKERS],
    ),
    Equivalent(
        Role.CONNECTIONS,
        "server.max-connections",
        lambda c: int(c["server.max-connections"]) * max(1, int(c["server.max-worker"])),
        lambda m: share(m[Role.CONNECTIONS], m.get(Role.WORKERS, 1)),
    ),
    switch(Role.SENDING_MODE, "server.network-backend", "sendfile", "writev"),
    plain(Role.ACCEPT_QUEUE, "server.listen-backlog"),
    plain(Role.KEEPALIVE_TIME, "server.max-keep-alive-idle"),
    plain(Role.KEEPALIVE_REQUESTS, "server.max-keep-alive-requests"),
    pinning("affinity"),
)

# Settings that a private instance must not take over: where it would meet the production instance, sites, and
# what starts or asks other programs.
_NOT_PRIVATE = re.compile(
    r"(\$|else\b|server\.(document-root|bind|port|pid-file|errorlog|username|groupname|chroot|upload-dirs|"
    r"breakagelog|name|syslog-facility|errorlog-use-syslog|use-ipv6|socket-perms|systemd-socket-activation)\b|"
    r"(accesslog|ssl|fastcgi|scgi|cgi|proxy|auth|webdav|sockproxy|ajp13|wstunnel|status|rrdtool|deflate\.cache)"
    r"[.-])"
)
_INCLUDE = re.compile(r'include\s+"([^"]+)"\s*\Z')
_SHELL = re.compile(r'include_shell\s+"[^"]*"\s*\Z')


class LighttpdTarget:
    """lighttpd as a target."""

    name = "lighttpd"
    help = "lighttpd, the web server of Debian's package."
    program = "lighttpd"
    file_name = "lighttpd.conf"
    usual_files = ("/etc/lighttpd/lighttpd.conf",)
    unit = "lighttpd"
    package = "lighttpd"
    status_path = "/status?auto"
    serves_php = True
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

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """A complete lighttpd.conf. Raises RenderError if a path cannot be written in it."""
        lines = [about(name) + f"{name} = {value}" for name, value in settings(configuration).items()]
        return surroundings(context) + "\n" + "\n".join(lines) + "\n"

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that a lighttpd.conf sets outside of conditions."""
        said = last_values(assignments(text))
        found: Configuration = {}
        for knob in KNOBS:
            if knob.name not in said:
                continue
            value = said[knob.name].strip().strip('"')
            if isinstance(knob.default, int) or knob.name == "server.max-fds":
                found[knob.name] = values.integer(knob.name, value)
            else:
                value = {"linux-sendfile": "sendfile", "epoll": "linux-sysepoll"}.get(value, value)
                found[knob.name] = values.word(knob.name, value, knob.choices)
        return found

    def includes(self, text: str) -> Sequence[Include]:
        """Every `include` of a plain name outside of conditions."""
        found = []
        for start, end in _statements(text):
            if match := _INCLUDE.match(text[start:end]):
                found.append(Include(start, end, match[1], "*" in match[1]))
        return found

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Settings are replaced where they stand, or added at the end."""
        values = {name: value for name, value in settings(configuration).items() if name in knobs}
        return with_values(text, assignments(text), values, joint=" = ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The settings outside of conditions, with one site for the workload.

        What a program prints is included only if its call does not depend on the file's own settings.
        """
        kept = []
        for start, end in _statements(text):
            statement = text[start:end]
            if _NOT_PRIVATE.match(statement):
                continue
            if statement.startswith("include_shell") and not _SHELL.match(statement):
                continue
            kept.append(statement)
        tuned = self.changed("\n".join(kept) + "\n", configuration, knobs, context)
        defined = {statement.split("=")[0].strip(" +:") for statement in kept}
        if any(statement.startswith("include_shell") for statement in kept):
            defined.add("mimetype.assign")  # which is what Debian's file has printed
        return tuned + surroundings(context, without=defined)

    def excerpt(
        self, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> Excerpt:
        """Each setting on its line."""
        return single_lines(self.changed("", configuration, knobs, context), configuration)

    def demands(self, configuration: Configuration) -> Demands:
        """Each worker has two descriptors for a connection: the socket and the file."""
        connections = int(configuration["server.max-connections"])
        descriptors = int(settings(configuration)["server.max-fds"])
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


def settings(configuration: Configuration) -> dict[str, str]:
    """Each knob as lighttpd reads it."""
    lines = {}
    for knob in KNOBS:
        value: Value = configuration[knob.name]
        if value == "auto":
            value = max(LEAST_MAX_FDS, 2 * int(configuration["server.max-connections"]) + 64)
        lines[knob.name] = f'"{value}"' if isinstance(value, str) else str(value)
    return lines


def surroundings(context: RenderContext, without: Collection[str] = ()) -> str:
    """What is no knob, without the settings that stand elsewhere already. Raises RenderError."""
    address, _, port = context.listen[0].rpartition(":")
    types = ",\n".join(
        f'  ".{ending}" => "{mime}"' for mime, endings in MIME_TYPES.items() for ending in endings.split()
    )
    lines = {
        "server.document-root": quoted(context.root),
        "server.bind": f'"{address}"',
        "server.port": port,
        "server.pid-file": quoted(context.prefix + "/lighttpd.pid"),
        "server.username": '"www-data"',
        "server.groupname": '"www-data"',
        "server.upload-dirs": f"( {quoted(context.prefix)} )",
        "index-file.names": '( "index.html" )',
        "mimetype.assign": f'(\n{types},\n  "" => "{DEFAULT_TYPE}"\n)',
    }
    if context.error_log != "stderr":
        lines["server.errorlog"] = quoted(context.error_log)
    text = "".join(f"{name} = {value}\n" for name, value in lines.items() if name not in without)
    for further in context.listen[1:]:
        text += f'$SERVER["socket"] == "{further}" {{ }}\n'
    if context.php_socket is not None:
        text += 'server.modules += ( "mod_fastcgi" )\n'
        text += f'fastcgi.server = ( ".php" => (( "socket" => {quoted(context.php_socket)} )) )\n'
    if context.status_listen is not None:
        path = LighttpdTarget.status_path.partition("?")[0]
        text += 'server.modules += ( "mod_status" )\n'
        text += f'$SERVER["socket"] == "{context.status_listen}" {{ status.status-url = "{path}" }}\n'
    return text


def quoted(path: str) -> str:
    """A path as a string of lighttpd's; a backslash would begin an escape."""
    return f'"{values.unquoted_path(path, chr(34) + chr(92))}"'


_BRACKETED = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*|[(){}\n]|[^"#(){}\n]+', re.DOTALL)
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*|[{}]|\n|[^"#{}\n]+', re.DOTALL)
_SETTING = re.compile(r"\s*([A-Za-z][\w.-]*)\s*:?=\s*(\"[^\"]*\"|\w+)")


def assignments(text: str) -> Iterator[Assignment]:
    """The settings outside of conditions whose value is a number or a string."""
    depth = 0
    at_line_start = True
    for piece in _PIECE.finditer(text):
        if piece[0] in "{}":
            depth += 1 if piece[0] == "{" else -1
        elif at_line_start and depth == 0 and (match := _SETTING.match(text, piece.start())):
            yield Assignment(match[1], match[2], match.start(2), match.end(2))
        at_line_start = piece[0] == "\n" or (at_line_start and piece[0].isspace())


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Where each statement outside of conditions begins and ends; comments belong to none."""
    depth, start = 0, None
    for piece in _BRACKETED.finditer(text):
        part = piece[0]
        if part in ("(", "{"):
            depth += 1
        elif part in (")", "}"):
            depth -= 1
        elif part == "\n" and depth == 0 and start is not None:
            yield start, piece.start()
            start = None
        if start is None and not part.isspace() and not part.startswith("#"):
            start = piece.start() + len(part) - len(part.lstrip())
    if start is not None:
        yield start, len(text)


def _choices(name: str) -> list[int]:
    knob = next(knob for knob in KNOBS if knob.name == name)
    return [choice for choice in knob.choices if isinstance(choice, int)]


TARGET = LighttpdTarget()
