"""The target `core`: trimtab-httpd. Its knobs are in `knobs.py`.

Rendering makes the list of CPUs from the affinity plan; what the plan says of receive queues is the agent's
to do.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.space import AtMost, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values, with_values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    About,
    Demands,
    Excerpt,
    Include,
    RenderContext,
    RenderError,
    cpus_for_workers,
    no_comment,
)
from trimtab_tuner.targets.editing import Edit, apply, single_lines
from trimtab_tuner.targets.placement import Workers, replica_constraints, replica_knobs
from trimtab_tuner.targets.servers.core.knobs import EQUIVALENTS, FREE, KNOBS, OWN_DEFAULTS, TAKEN, UNKNOWN

OF_THE_PLACE = ("root", "listen", "stats_socket", "access_log", "user", "group")
"""Keys that say where and as whom a server serves: a private instance has others."""

OF_THE_ADMINISTRATOR = (*OF_THE_PLACE, "mime_types", "charset", "precompressed")
"""Keys that nobody tunes: what is made of a user's own file keeps them."""


class CoreTarget:
    """trimtab-httpd as a target."""

    name = "core"
    help = "trimtab-httpd, Trimtab's own server for static files."
    program = "trimtab-httpd"
    file_name = "trimtab-httpd.ini"
    usual_files = ("/etc/trimtab/httpd.conf",)
    unit = "trimtab-httpd"
    package = None
    status_path = None
    serves_php = False
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

    def includes(self, text: str) -> Sequence[Include]:
        """None: the file cannot include others."""
        return ()

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Keys are replaced where they stand, or added at the end of their section."""
        values = {n: str(v) for n, v in settings(configuration, context).items() if n in knobs}
        end = server_sections(text)[-1][1]
        return with_values(text[:end], assignments(text), values, joint=" = ") + text[end:]

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The file with root, address and stats socket of its own, and no other host."""
        own = {name: str(value) for name, value in surroundings(context).items()}
        edits: list[Edit] = []
        for found in assignments(text):
            if found.name in OF_THE_PLACE:
                start = text.rfind("\n", 0, found.start) + 1
                edits.append((start, found.end, ""))
        edits += [(start, end, "") for start, end in host_sections(text)]
        bare = self.changed(apply(text, edits), configuration, knobs, context)
        end = server_sections(bare)[-1][1]
        return with_values(bare[:end], (), own, joint=" = ") + bare[end:]

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
    cpus = cpus_for_workers(values["affinity"], context)
    values["affinity"] = ",".join(str(cpu) for cpu in cpus) or "none"
    return values


def _line(name: str, value: Value) -> str:
    text = str(value)
    if "\n" in text or " ;" in text or text != text.strip():
        raise RenderError(f"{name} = {value!r}: expected no line break, no ' ;' and no space at either end")
    return f"{name} = {text}\n"


_SETTING = re.compile(
    r"^[ \t]*(?P<name>\w+)[ \t]*[=:][ \t]*(?P<value>[^\n]*?)[ \t]*(?:[ \t];[^\n]*)?$", re.MULTILINE
)


_SECTION = re.compile(r"^[ \t]*\[(?P<name>[^\n]*)", re.MULTILINE)


def server_sections(text: str) -> list[tuple[int, int]]:
    """Where the section [server] stands, from and to; more than once if others interrupt it.

    What stands before all sections counts as the first of them.
    """
    return [(start, end) for start, end, name in _sections(text) if name.startswith("server]")]


def host_sections(text: str) -> list[tuple[int, int]]:
    """Where sections of virtual hosts stand, with those for their paths."""
    found = []
    of_host = False
    for start, end, name in _sections(text):
        of_host = name.startswith("host ") or (of_host and not name.startswith("server]"))
        if of_host:
            found.append((start, end))
    return found


def _sections(text: str) -> list[tuple[int, int, str]]:
    headings = [(0, "server]"), *((found.start(), found["name"]) for found in _SECTION.finditer(text))]
    ends = [*(start for start, _name in headings[1:]), len(text)]
    return [(start, end, name) for (start, name), end in zip(headings, ends, strict=True)]


def assignments(text: str) -> Iterator[Assignment]:
    """The keys of the section [server]; what other sections say of paths is no knob."""
    for start, end in server_sections(text):
        for match in _SETTING.finditer(text, start, end):
            yield Assignment(match["name"], match["value"], match.start("value"), match.end("value"))


TARGET = CoreTarget()
