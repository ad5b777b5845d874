"""The target `core`: trimtab-httpd. Its knobs are in `knobs.py`, the language of its file is in `syntax.py`,
a second server beside production in `beside.py`.

Rendering makes the list of CPUs from the affinity plan; what the plan says of receive queues is the agent's
to do.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner import affinity
from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.space import AtMost, Knob, Space
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
    nothing_of_proxying,
    nothing_of_tls,
    nothing_read,
)
from trimtab_tuner.targets.behind import no_upstreams
from trimtab_tuner.targets.editing import Edit, apply, single_lines
from trimtab_tuner.targets.placement import Workers, replica_constraints, replica_knobs
from trimtab_tuner.targets.private import NO_LOG, Places, naming
from trimtab_tuner.targets.servers.core import syntax
from trimtab_tuner.targets.servers.core.beside import BESIDE
from trimtab_tuner.targets.servers.core.knobs import EQUIVALENTS, FREE, KNOBS, OWN_DEFAULTS, TAKEN, UNKNOWN
from trimtab_tuner.targets.told import nothing_told

OF_THE_PLACE = ("root", "listen", "stats_socket", "access_log", "user", "group")
"""Keys that say where and as whom a server serves: a private instance has others."""

OF_THE_ADMINISTRATOR = (*OF_THE_PLACE, "mime_types", "charset", "precompressed")
"""Keys that nobody tunes: what is made of a user's own file keeps them."""


class CoreTarget:
    """trimtab-httpd as a target."""

    name = "core"
    help = "trimtab-httpd, Trimtab's own server for static files."
    protocol: ProtocolName = "http"
    program = "trimtab-httpd"
    file_name = "trimtab-httpd.ini"
    only_utf8 = False
    usual_files = ("/etc/trimtab/httpd.conf",)
    unit = "trimtab-httpd"
    package = None
    beside = BESIDE
    status_path = None
    drop_in: str | None = None
    environment_file: str | None = None
    environment_prefix: str | None = None
    serves_php = False
    worker_title = ""
    tls_knobs: Sequence[Knob] = ()
    log_knobs: Sequence[Knob] = ()
    proxy_knobs: Sequence[Knob] = ()
    proxy_free: Sequence[str] = ()
    http2 = None
    equivalents = EQUIVALENTS
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
        """The knobs that an INI file sets; CPUs for `affinity`, or `auto`, are the plan `process`."""
        said = last_values(syntax.assignments(text))
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

    parse_tls = staticmethod(nothing_of_tls)
    parse_proxy = staticmethod(nothing_of_proxying)

    defined = staticmethod(nothing_defined)
    environment = staticmethod(no_environment)

    def includes(self, text: str, known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
        """None: the file cannot include others."""
        return ()

    told = staticmethod(nothing_told)
    rooted = staticmethod(as_it_stands)
    reads = staticmethod(nothing_read)
    upstreams = staticmethod(no_upstreams)
    upstream_log = None
    parse_log = staticmethod(no_logs)

    def refused(self, text: str) -> Mapping[str, tuple[Value, ...]]:
        """With a `user`, processes that share the master's descriptors would have its rights."""
        if not last_values(syntax.assignments(text)).get("user"):
            return {}
        return {"architecture": ("shared-symped",), "copy_of": ("shared-symped",)}

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Keys are replaced where they stand, or added at the end of their section.

        Which CPUs there are is the business of the machine that the file is for.
        """
        return _with(text, settings(configuration, replace(context, server_cpus=())), knobs)

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The file with its own root, address, stats socket and access log, and no other host; it names what
        it lacks.
        """
        own = {name: str(value) for name, value in surroundings(context).items()}
        logged = last_values(syntax.assignments(text)).get("access_log")
        if logged:
            own["access_log"] = logged if logged == NO_LOG else Places(context).file(logged, "access", ".log")
        hosts: list[Edit] = [(start, end, "") for start, end in syntax.host_sections(text)]
        left_out = sorted([*syntax.without(text, OF_THE_PLACE), *hosts])
        bare = apply(text, left_out)
        lines = [line for start, end, _ in left_out for line in text[start:end].splitlines() if line.strip()]
        moved = logged and logged != NO_LOG
        said = [f"access_log = {logged} to {own['access_log']}"] if moved else []
        written = settings(configuration, context)
        pinned = last_values(syntax.assignments(text)).get("affinity", "none")
        if pinned not in ("none", written["affinity"]):
            said.append(f"affinity = {pinned} as {written['affinity']}")
        lines = [line for line in lines if not (logged and line.lstrip().startswith("access_log"))]
        return naming([*said, *(f"left out: {line}" for line in lines)]) + syntax.with_own(
            _with(bare, written, {*knobs, "affinity"} if pinned != "none" else knobs), own
        )

    def excerpt(
        self, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> Excerpt:
        """Each setting on its line."""
        return single_lines(self.changed("", configuration, knobs, context), configuration)

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

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """`trimtab-httpd -V`."""
        return (binary or "trimtab-httpd", "-V")

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
    """The knobs as the server reads them: the affinity plan turned into CPUs.

    A run of an earlier version knew fewer of them: the others are left to the server, as they were then.
    """
    values = {knob.name: configuration[knob.name] for knob in KNOBS if knob.name in configuration}
    pinned = affinity.pins_workers(values["affinity"])
    values["affinity"] = (",".join(map(str, context.server_cpus)) or "auto") if pinned else "none"
    return values


def _with(text: str, written: Configuration, knobs: Collection[str]) -> str:
    """The text with what is written of these knobs."""
    values = {name: str(value) for name, value in written.items() if name in knobs}
    end = syntax.server_sections(text)[-1][1]
    return with_values(text[:end], syntax.assignments(text), values, joint=" = ") + text[end:]


def _line(name: str, value: Value) -> str:
    text = str(value)
    if "\n" in text or " ;" in text or text != text.strip():
        raise RenderError(f"{name} = {value!r}: expected no line break, no ' ;' and no space at either end")
    return f"{name} = {text}\n"


TARGET = CoreTarget()
