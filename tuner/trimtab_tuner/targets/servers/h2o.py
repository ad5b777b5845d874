"""The target `h2o`.

Knobs are named after h2o's configuration commands (h2o.examp1e.net/configure). Those that came after version
2.2 (`tcp-reuseport`, `file.io_uring`) are written only when they are on, so that an older h2o refuses a
configuration which needs them and no other.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values, with_values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    About,
    Demands,
    Excerpt,
    Include,
    RenderContext,
    no_comment,
)
from trimtab_tuner.targets.editing import single_lines
from trimtab_tuner.targets.equivalents import by_role, pinning, plain, switch
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs

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

FREE = ("num-threads", "max-connections")

EQUIVALENTS = by_role(
    plain(Role.WORKERS, "num-threads"),
    plain(Role.CONNECTIONS, "max-connections"),
    plain(Role.KEEPALIVE_TIME, "http1-request-timeout"),
    switch(Role.LISTENERS, "tcp-reuseport", "ON", "OFF"),
    pinning("affinity"),
)
_ONLY_WHEN_ON = ("tcp-reuseport", "file.io_uring")

# What a private instance must not take over, and where the file's top level has which command.
_NOT_PRIVATE = {"access-log", "error-log", "hosts", "listen", "pid-file", "temp-buffer-path", "user"}
_TOP_KEY = re.compile(r"^([A-Za-z][\w.-]*|\"[^\"\n]*\"|'[^'\n]*')\s*:", re.MULTILINE)


class H2oTarget:
    """h2o as a target."""

    name = "h2o"
    help = "h2o, the web server of Debian's package."
    program = "h2o"
    file_name = "h2o.conf"
    usual_files = ("/etc/h2o/h2o.conf", "/usr/local/etc/h2o.conf")
    unit = "h2o"
    package = "h2o"
    status_path = "/json?show=main"
    serves_php = False
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
        return "\n".join(lines) + "\n\n" + surroundings(context)

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that a h2o.conf sets at its top level."""
        said = last_values(assignments(text))
        found: Configuration = {}
        for knob in KNOBS:
            if knob.name in said:
                value = said[knob.name].strip("\"'")
                if knob.kind == "integer":
                    found[knob.name] = values.integer(knob.name, value)
                else:
                    found[knob.name] = values.word(knob.name, value, [c.lower() for c in ON_OFF]).upper()
        return found

    def includes(self, text: str) -> Sequence[Include]:
        """None that is followed: `!file` is resolved by h2o itself."""
        return ()

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Commands are replaced where they stand, or added at the end."""
        own = {knob.name for knob in KNOBS}
        values = {name: str(value) for name, value in configuration.items() if name in own & {*knobs}}
        return with_values(text, assignments(text), values, joint=": ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The other top-level commands of the file, with one host for the workload."""
        starts = [match.start() for match in _TOP_KEY.finditer(text)]
        names = [match[1].strip("\"'") for match in _TOP_KEY.finditer(text)]
        ends = [*starts, len(text)][1:]
        kept = "".join(
            text[start:end]
            for name, start, end in zip(names, starts, ends, strict=True)
            if name not in _NOT_PRIVATE
        )
        tuned = self.changed(kept, configuration, knobs, context)
        if tuned and not tuned.endswith("\n"):
            tuned += "\n"
        return tuned + surroundings(context)

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


def settings(configuration: Configuration) -> dict[str, str]:
    """Each knob as h2o reads it."""
    return {
        knob.name: str(configuration[knob.name])
        for knob in KNOBS
        if knob.name not in _ONLY_WHEN_ON or configuration[knob.name] == "ON"
    }


def surroundings(context: RenderContext) -> str:
    """What is no knob: files of its own, one host for each address, and one for the status page."""
    lines = [f"pid-file: {quoted(context.prefix + '/h2o.pid')}"]
    if context.error_log != "stderr":
        lines.append(f"error-log: {quoted(context.error_log)}")
    lines.append("hosts:")
    for number, address in enumerate(context.listen):
        lines += _host(f"site-{number}", address, f'"/": {{file.dir: {quoted(context.root)}}}')
    if context.status_listen is not None:
        lines += _host("status", context.status_listen, '"/": {status: ON}')
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A string of YAML in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _host(name: str, address: str, path: str) -> list[str]:
    host, _, port = address.rpartition(":")
    return [
        f'  "{name}":',
        f"    listen: {{host: {quoted(host)}, port: {port}}}",
        "    paths:",
        f"      {path}",
    ]


_SETTING = re.compile(
    r"^(?P<name>[a-z][\w.-]*):[ \t]+(?P<value>[^\s#][^\n#]*?)[ \t]*(?:#[^\n]*)?$", re.MULTILINE
)


def assignments(text: str) -> Iterator[Assignment]:
    """The top-level commands that have a plain value on their line."""
    for match in _SETTING.finditer(text):
        yield Assignment(match["name"], match["value"], match.start("value"), match.end("value"))


TARGET = H2oTarget()
