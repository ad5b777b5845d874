"""The target `mariadb`: the database server of Debian's package; its knobs are in `knobs.py`.

It speaks another protocol than the others, so its workloads are those with a `[shop]`. What it serves is a
data directory, of which each start gets a copy of its own. The file that is handed back is a fragment: it
sets the knobs and leaves data, addresses and logs to the files that are there already.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from trimtab_trials.configuration import Configuration, Value

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
    nothing_of_proxying,
    nothing_of_tls,
    nothing_read,
    nothing_refused,
)
from trimtab_tuner.targets.behind import no_upstreams
from trimtab_tuner.targets.editing import single_lines
from trimtab_tuner.targets.equivalents import by_role, pinning, plain
from trimtab_tuner.targets.placement import Workers
from trimtab_tuner.targets.private import naming
from trimtab_tuner.targets.servers.mariadb import option_file
from trimtab_tuner.targets.servers.mariadb.knobs import (
    AUTO,
    FREE,
    HANDLING,
    IN_MIB,
    PLACEMENT,
    POOL,
    accept_queue,
    constraints,
    knobs,
)
from trimtab_tuner.targets.told import nothing_told

_KNOBS = {knob.name: knob for knob in knobs(cpus=1)}
_WRITTEN = tuple(name for name in _KNOBS if name != PLACEMENT)
_GROUP = "[mariadbd]\n"
MIB = 1 << 20

# What a private instance must not take over: where it would meet production, and what belongs to the data or
# to other servers.
_NOT_PRIVATE = re.compile(
    r"(datadir|socket|port|bind_address|pid_file|user|chroot|tmpdir|slave_load_tmpdir|log_error|syslog.*|"
    r"extra_port|extra_max_connections|networking|name_resolve|secure_file_priv|local_infile|init_file|"
    r"init_connect|innodb_(data|undo|log_group|page_size|checksum|encrypt|fast_shutdown).*|aria_log_dir_path|"
    r"relay_log.*|log_slave.*|slave_.*|replicate_.*|report_.*|gtid_.*|server_id|wsrep.*|ssl.*|tls_version|"
    r"require_secure_transport|plugin.*|encrypt.*|file_key.*|lower_case_table_names|read_only|grant_tables|"
    r"(general|slow_query)_log_file|log_bin_index)$"
)

STATUS = {
    "Connections": "connections_accepted",
    "Threads_connected": "connections_open",
    "Threads_running": "threads_running",
    "Threads_created": "threads_created",
    "Threadpool_threads": "pool_threads",
    "Questions": "statements",
    "Bytes_sent": "bytes_sent",
    "Aborted_connects": "connects_failed",
    "Innodb_buffer_pool_read_requests": "page_reads",
    "Innodb_buffer_pool_reads": "page_reads_from_disk",
    "Innodb_row_lock_waits": "row_lock_waits",
    "Innodb_row_lock_time": "row_lock_wait_ms",
    "Innodb_log_waits": "log_waits",
    "Innodb_os_log_written": "log_bytes_written",
    "Table_open_cache_hits": "table_cache_hits",
    "Table_open_cache_misses": "table_cache_misses",
}


class MariadbTarget:
    """MariaDB as a target."""

    name = "mariadb"
    help = "MariaDB, the database server of Debian's package; its workloads are those of a shop."
    protocol: ProtocolName = "mariadb"
    program = "mariadbd"
    file_name = "my.cnf"
    only_utf8 = False
    usual_files = ("/etc/mysql/mariadb.conf.d/50-server.cnf", "/etc/mysql/my.cnf", "/etc/my.cnf")
    unit = "mariadb"
    package = "mariadb-server"
    status_path = None
    drop_in: str | None = "/etc/mysql/mariadb.conf.d/90-trimtab.cnf"
    environment_file: str | None = None
    environment_prefix: str | None = None
    serves_php = False
    worker_title = ""
    tls_knobs: tuple[Knob, ...] = ()
    log_knobs: Sequence[Knob] = ()
    proxy_knobs: Sequence[Knob] = ()
    proxy_free: Sequence[str] = ()
    http2 = None
    beside = None
    equivalents = by_role(plain(Role.CONNECTIONS, "max_connections"), pinning(PLACEMENT))
    verify_live: Mapping[str, str] = {name: f"mariadb -e 'SELECT @@{name}'" for name in _WRITTEN}

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """How connections are handled, the size of the pool, and connections are free."""
        all_knobs = knobs(cpus)
        return Space(
            knobs=all_knobs,
            fixed={knob.name: knob.default for knob in all_knobs if knob.name not in FREE},
            constraints=constraints(cpus),
        )

    def expert(self, cpus: int) -> Configuration:
        """A pool with a group for each CPU for many short statements, and room for tables and threads
        (Thread Pool in MariaDB; Optimizing table_open_cache).
        """
        return {
            **self.space(cpus=cpus).default(),
            HANDLING: POOL,
            "max_connections": 2000,
            "innodb_buffer_pool_size": 512,
            "innodb_log_file_size": 512,
        }

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """The group of the server, with what a private instance needs where it has a data directory.

        Raises RenderError for a path that cannot be written in it.
        """
        lines = (about(name) + f"{name} = {value}\n" for name, value in _settings(configuration).items())
        return _GROUP + "".join(lines) + _surroundings(context)

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that an option file sets in the groups that the server reads."""
        said = last_values(option_file.assignments(text))
        return {name: _read(_KNOBS[name], said[name]) for name in _WRITTEN if name in said}

    parse_tls = staticmethod(nothing_of_tls)
    parse_proxy = staticmethod(nothing_of_proxying)

    defined = staticmethod(nothing_defined)
    environment = staticmethod(no_environment)

    def includes(self, text: str, known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
        """`!include` and `!includedir`. Raises RenderError."""
        return option_file.includes(text)

    told = staticmethod(nothing_told)
    rooted = staticmethod(as_it_stands)
    reads = staticmethod(nothing_read)
    upstreams = staticmethod(no_upstreams)
    upstream_log = None
    parse_log = staticmethod(no_logs)
    refused = staticmethod(nothing_refused)

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """Options are replaced where they stand last, or added at the end, in a group of the server's. The
        lines of those that MariaDB is to settle itself go.
        """
        settings = {name: value for name, value in _settings(configuration).items() if name in knobs}
        text = option_file.without(text, {name for name in knobs if configuration.get(name) == AUTO})
        there = option_file.assignments(text)
        named = {assignment.name for assignment in there}
        if not named.issuperset(settings) and not option_file.in_server_group(text):
            text += "\n" * (text != "" and not text.endswith("\n")) + _GROUP
        return with_values(text, there, settings, joint=" = ")

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The options of the server's groups, but for those of data, addresses, logs, plugins and
        replication; each that is left out is named. A log of changes goes to the instance's directory.
        """
        kept, said = [], []
        for _, line, ours in option_file.lines(text):
            name = next((a.name for a in option_file.assignments(_GROUP + line)), "") if ours else ""
            if not name or _NOT_PRIVATE.match(name):
                said += [f"left out: {line.strip()}"] if ours else []
            elif name == "log_bin":
                kept.append(f"log_bin = {_path(context.prefix)}/changes\n")
                said.append(f"{line.strip()} to {context.prefix}")
            else:
                kept.append(line if line.endswith("\n") else line + "\n")
        tuned = self.changed(_GROUP + "".join(kept), configuration, knobs, context)
        return naming(said) + tuned + _surroundings(context)

    def excerpt(
        self, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> Excerpt:
        """Each option on its line, in the server's group."""
        return single_lines(self.changed("", configuration, knobs, context), configuration)

    def demands(self, configuration: Configuration) -> Demands:
        """A descriptor for each connection, and two for each table that is kept open (table_cache.cc)."""
        connections, files = int(configuration["max_connections"]), 2 * int(configuration["table_open_cache"])
        return Demands(
            connections + files + DESCRIPTOR_RESERVE, connections, files, accept_queue(configuration)
        )

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """None: there is one process, and no plan pins its threads."""
        return None

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """Reads every option, says what it makes of each, and ends."""
        return (binary or "mariadbd", f"--defaults-file={file}", "--help", "--verbose")

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """`mariadbd --version`."""
        return (binary or "mariadbd", "--version")

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """mariadbd in the foreground."""
        return (binary or "mariadbd", f"--defaults-file={file}")

    def parse_status(self, text: str) -> dict[str, float]:
        """What `SHOW GLOBAL STATUS` says, each variable on a line with a tab before its value."""
        said = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
        return {name: float(said[variable]) for variable, name in STATUS.items() if variable in said}


def _settings(configuration: Configuration) -> dict[str, str]:
    """Each knob as MariaDB reads it; without those that it is to settle itself."""
    return {
        name: f"{configuration[name]}M" if name in IN_MIB else str(configuration[name])
        for name in _WRITTEN
        if configuration[name] != AUTO
    }


def _read(knob: Knob, text: str) -> Value:
    """The value of a knob from that of its option; RenderError names it."""
    if knob.kind == "categorical":
        word = {"0": "OFF", "1": "ON"}.get(text, text).lower()
        found = next((choice for choice in knob.choices if str(choice).lower() == word), None)
        if found is None:
            raise RenderError(f"{knob.name} = {text}: expected one of {', '.join(map(str, knob.choices))}")
        return found
    size = values.size_bytes(knob.name, text)
    return max(1, size // MIB) if knob.name in IN_MIB else size


def _path(path: str) -> str:
    return values.unquoted_path(path, "\"'#;\\")


def _surroundings(context: RenderContext) -> str:
    """What is no knob; nothing without a data directory. Raises RenderError.

    The data are thrown away afterwards, so the server ends without writing what it still has in memory.
    """
    if context.data_directory is None:
        return ""
    prefix = _path(context.prefix)
    addresses = [listen.rpartition(":")[0] for listen in context.listen]
    settings = {
        "datadir": _path(context.data_directory),
        "tmpdir": prefix,
        "secure_file_priv": prefix,
        "socket": f"{prefix}/mariadbd.sock",
        "pid_file": f"{prefix}/mariadbd.pid",
        "bind_address": ",".join(addresses),
        "port": context.listen[0].rpartition(":")[2],
        "skip_name_resolve": "ON",
        "local_infile": "OFF",
        "innodb_fast_shutdown": "2",
    }
    if context.status_listen is not None:
        # A thread of its own for whoever asks for the counters, however full the server is.
        settings |= {"extra_port": context.status_listen.rpartition(":")[2], "extra_max_connections": "3"}
    if context.error_log != "stderr":
        settings["log_error"] = _path(context.error_log)
    return "\n" + _GROUP + "".join(f"{name} = {value}\n" for name, value in settings.items())


TARGET = MariadbTarget()
