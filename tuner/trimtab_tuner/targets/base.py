"""What a target (a kind of server that can be tuned) offers, and what goes into a file exported for it.

Rendering is text only: writing files, running the server's own check and starting it are the caller's.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner import affinity
from trimtab_tuner.certainty.setting_effects import SettingEffect
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.behind import Upstream, UpstreamLog
from trimtab_tuner.targets.beside import Beside
from trimtab_tuner.targets.equivalents import Equivalent
from trimtab_tuner.targets.http2 import Http2
from trimtab_tuner.targets.pauses import Pauses, Room
from trimtab_tuner.targets.placement import Workers
from trimtab_tuner.targets.told import Told
from trimtab_tuner.telling.people import Compared, gain_in_words

DESCRIPTOR_RESERVE = 64  # listeners, event queues, control sockets, logs, and what is open for a moment


class RenderError(ValueError):
    """A configuration or a path that cannot be written in the server's language; the message names it."""


@dataclass(frozen=True, kw_only=True)
class RenderContext:
    """What a configuration file needs besides the knobs.

    `listen` are `address:port` strings; `server_cpus` the CPUs set aside for the server, used when the
    configuration pins its workers, without which a server that can find out itself is told to; `prefix` is a
    directory of the server's own for run-time files (pid, temporary files) of targets that need one. What the
    server counts is read at `stats_socket` (core) or under the target's `status_path` at `status_listen` (the
    others); None leaves it out of the file. `error_log` is a path, or `stderr`. Requests for PHP go to the
    pool at `php_socket`; without one there is no PHP. Those below `PROXIED` go on to the server at
    `upstream`, an `address:port`; without one, to none. In a user's file each upstream that `stand_ins` names
    has the address there in place of its own; the first one's is `upstream` too. With `tls_directory`, which
    holds the certificates (`targets/tls.py`), every address of `listen` speaks TLS. A database serves what is
    in `data_directory`, a directory of the server's own; without one its file says only what is tuned. A file
    asks for no more than `descriptors` for a process, the most that the system allows; None where that is not
    known.
    """

    root: str
    listen: tuple[str, ...]
    stats_socket: str | None = None
    status_listen: str | None = None
    server_cpus: tuple[int, ...] = ()
    prefix: str = "."
    error_log: str = "stderr"
    php_socket: str | None = None
    upstream: str | None = None
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    tls_directory: str | None = None
    data_directory: str | None = None
    descriptors: int | None = None


@dataclass(frozen=True, kw_only=True)
class ExportEvidence:
    """What was measured for an exported configuration; every number comes from the run.

    `capacity_gain` compares it with the default configuration by the interleaved confirmation (with
    `capacity_at_least` it may be more), and `gain` their scores; None if there was no confirmation, or the
    default itself is exported. `tail` is the change of the 99th percentile of the reply
    time at a rung of the ladder (`tail_at`, in words), less than 0 being better. `effects` has what each
    setting gives, and what was tried and found worth nothing. The server had `server_cpus` of the machine's
    `cpus`; 0 where that is not known. `most_open` connections were open at once at most, in any of its
    trials. `trade_off` is a sentence on which one of the
    front it is, where the run had two objectives.
    `remeasured` says in words what the exported file itself scored, `factorial` what the server's knobs and
    the kernel's gain alone and together. `pauses` tells how the run has shortened
    the workload's pauses, `room` what the host has for connections; None where that is not known. `children`
    says how many processes of a program behind the server fit the memory. `compared` has what the finalists
    do in people's terms, and `headline` says it of this one beside the default.
    """

    run: str
    date: str
    host: str
    workload: str
    objective: str
    trials: int
    default: Configuration
    score_mbps: float | None = None
    default_score_mbps: float | None = None
    gain: Gain | None = None
    capacity_gain: Gain | None = None
    capacity_at_least: bool = False
    trade_off: str = ""
    tail: Gain | None = None
    tail_at: str = ""
    effects: Sequence[SettingEffect] = ()
    server_cpus: int = 0
    cpus: int = 0
    most_open: int | None = None
    remeasured: str = ""
    factorial: str = ""
    pauses: Pauses | None = None
    room: Room | None = None
    headline: str = ""
    children: str = ""
    compared: tuple[Compared, ...] = ()

    @property
    def gain_told(self) -> str:
        """The gain in words; empty without one."""
        return gain_in_words(self.capacity_gain, at_least=self.capacity_at_least, score=self.gain)


About = Callable[[str], str]
"""Gives the comment lines over the setting of a knob, by the knob's name; empty for none."""


NOTHING: Mapping[str, str] = MappingProxyType({})


def nothing_refused(_text: str) -> Mapping[str, tuple[Value, ...]]:
    """For servers that take every value of every knob whatever else their file says."""
    return {}


def nothing_read(_text: str) -> Sequence[Assignment]:
    """For servers that need no file which only root may read."""
    return ()


def nothing_of_tls(_text: str) -> Configuration:
    """For servers whose own files are not measured over TLS."""
    return {}


def nothing_of_proxying(_text: str) -> Configuration:
    """For servers that do not proxy, or whose own files are not searched for how."""
    return {}


def as_it_stands(text: str, _directory: str, _environment: Mapping[str, str] = NOTHING) -> str:
    """For servers whose paths do not begin at the directory of their file."""
    return text


def nothing_defined(_text: str, _known: Mapping[str, str]) -> Mapping[str, str]:
    """For servers whose includes are named without variables."""
    return NOTHING


def no_environment(_text: str, _directory: str) -> Mapping[str, str]:
    """For servers that read no file of variables before they start."""
    return NOTHING


def no_comment(_knob: str) -> str:
    """Leaves a rendered file without comments."""
    return ""


@dataclass(frozen=True)
class Demands:
    """What a configuration needs from the operating system.

    `descriptors` for each process, of which `connections` are for connections and `files` for cached files;
    `backlog` is the length of the accept queue, None where it is no setting.
    """

    descriptors: int
    connections: int
    files: int
    backlog: int | None


@dataclass(frozen=True)
class Include:
    """A file, or a pattern of files, whose text stands for the text from `start` to `end`.

    `pattern` is as it stands in the file, but for variables that are known; with `optional` no file need
    match. With `takes_directories` one that matches stands for all files in it; other servers refuse it. With
    `is_command` it is one for a shell, of which the output is meant. With `may_not_apply` it stands under a
    condition, and without a file the server is left to say whether it misses one. With `text` it is no file:
    that is what stands for it, as of a macro.
    """

    start: int
    end: int
    pattern: str
    optional: bool
    is_command: bool = False
    takes_directories: bool = False
    may_not_apply: bool = False
    text: str | None = None


Excerpt = Sequence[tuple[Sequence[str], str]]
"""Parts of a configuration file for somebody who merges them by hand: the knobs that each sets, and its
text.
"""


class Target(Protocol):
    """A kind of server.

    `protocol` is what it speaks, and so which workloads are for it. `program` is the name of its executable,
    `file_name` that of its configuration file, `unit` the systemd unit as Debian's packages call it, and
    `package` Debian's package (None for our own). A server has `status_path`, where it tells over HTTP what
    it has counted, or None if it has the stats socket of `core` or is asked in its own protocol.
    `worker_title` is what its workers call themselves among its processes, empty where all are workers. With
    `only_utf8` it refuses its file for a byte that is not UTF-8, and takes a byte-order mark; others take any
    byte in comments, and no mark. `drop_in` is where the file that is handed back goes beside those that are
    there, None where it is whole. `environment_file` is the name of a file beside its own that sets the
    variables it is started with, None without one; `environment_prefix` is what goes before the name of such
    a variable where its language can name all of them, None where it cannot.
    With `serves_php` it hands requests for PHP to a pool. `tls_knobs` are those of its space where the
    workload is one of TLS, `proxy_knobs` where requests are handed on over HTTP (`proxy_free` those that are
    tuned by default); without any it cannot serve such a workload. `equivalents` says what its knobs
    mean to other servers, and `verify_live` has for a knob the command that shows what a running server does
    with it. From a user's own file `parse_tls` reads what `parse` leaves out, as `parse_proxy` does of
    proxying, and `parse_log` of the `log_knobs`, which only such a file has. `http2` says whether and how it
    can serve a workload of HTTP/2.

    A user's own file is dealt with by `includes`, `rooted`, `changed` and `private`. `changed` makes what the
    user gets back: tuned settings replaced or added, every other byte as it was. `private` makes what is
    measured: the same file with one more site, which serves the workload on a private address. That by which
    it could meet a running production instance is replaced: addresses, pid and log files, users.

    `beside` says how a second one runs beside production, None where that cannot be done.
    """

    name: str
    help: str
    protocol: ProtocolName
    program: str
    file_name: str
    only_utf8: bool
    unit: str
    drop_in: str | None
    environment_file: str | None
    environment_prefix: str | None
    serves_php: bool
    worker_title: str

    @property
    def tls_knobs(self) -> Sequence[Knob]:
        """The knobs of TLS."""
        ...

    @property
    def http2(self) -> Http2 | None:
        """HTTP/2, None where it is not spoken."""
        ...

    @property
    def proxy_knobs(self) -> Sequence[Knob]:
        """The knobs of proxying."""
        ...

    @property
    def proxy_free(self) -> Sequence[str]:
        """The names of those that are tuned by default."""
        ...

    @property
    def log_knobs(self) -> Sequence[Knob]:
        """The knobs of access logs."""
        ...

    @property
    def beside(self) -> Beside | None:
        """How a second one runs beside production."""
        ...

    @property
    def package(self) -> str | None:
        """The Debian package."""
        ...

    @property
    def usual_files(self) -> Sequence[str]:
        """Where its file lies on a machine that serves with it: as Debian has it, then as others do."""
        ...

    @property
    def equivalents(self) -> Mapping[Role, Equivalent]:
        """What has which meaning."""
        ...

    @property
    def status_path(self) -> str | None:
        """Path and query of the status page."""
        ...

    @property
    def verify_live(self) -> Mapping[str, str]:
        """Commands by knob."""
        ...

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """The knobs, with those free that a run tunes by default and the others fixed at their defaults.

        `architecture` is that of the core target; `cpus` is how many CPUs the server may use, on which the
        default of some servers depends.
        """
        ...

    def expert(self, cpus: int) -> Configuration:
        """What the server's documentation and its tuning guides advise for static files on `cpus` CPUs."""
        ...

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """The configuration file, in the server's own language. Raises RenderError."""
        ...

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that a configuration file sets, by name; those it leaves to the server are left out.

        Raises RenderError for a file or a value that cannot be understood.
        """
        ...

    def parse_tls(self, text: str) -> Configuration:
        """The knobs of TLS and HTTP/2 in a user's file, but for the kind of key. Raises RenderError."""
        ...

    def parse_proxy(self, text: str) -> Configuration:
        """The knobs of proxying that a user's file sets. Raises RenderError."""
        ...

    def parse_log(self, text: str) -> Configuration:
        """The knobs of access logs that a user's file has a log for, with its values. Raises RenderError."""
        ...

    def includes(self, text: str, known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
        """What a user's file includes; `known` are variables that are set before it.

        Raises RenderError for what cannot be followed.
        """
        ...

    def defined(self, text: str, known: Mapping[str, str]) -> Mapping[str, str]:
        """The variables by which files may be named that are known behind this text."""
        ...

    def environment(self, text: str, directory: str) -> Mapping[str, str]:
        """The variables that the text of its `environment_file` sets, for a file in that directory."""
        ...

    def rooted(self, text: str, directory: str, environment: Mapping[str, str] = NOTHING) -> str:
        """The file from that directory, as it can stand in any other: its paths made absolute, and variables
        of its environment in the file itself.
        """
        ...

    def told(self, text: str) -> Iterable[Told]:
        """What is to be told of a user's whole file before a run. Raises RenderError."""
        ...

    def reads(self, text: str) -> Sequence[Assignment]:
        """The files that the server reads as it starts, where they are named: certificates and keys."""
        ...

    def upstreams(self, text: str) -> Sequence[Upstream]:
        """What a user's file hands requests on to, where it says an address."""
        ...

    @property
    def upstream_log(self) -> Callable[[str, str], UpstreamLog] | None:
        """Gives where a user's file, its text, has written down how long the upstream of that name takes, or
        raises RenderError. None where upstreams of a file cannot be replaced.
        """
        ...

    def refused(self, text: str) -> Mapping[str, tuple[Value, ...]]:
        """Values of knobs that the server refuses beside what a user's file says of other things."""
        ...

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The user's file with the values of these knobs. Raises RenderError if there is no place for one."""
        ...

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """A file to measure with, from the user's with its includes filled in.

        Raises RenderError for what cannot be run privately.
        """
        ...

    def excerpt(
        self, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> Excerpt:
        """What sets these knobs, part by part."""
        ...

    def demands(self, configuration: Configuration) -> Demands:
        """What the operating system must allow."""
        ...

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """The workers that whoever starts the server puts on their CPUs; None if it does so itself."""
        ...

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The command by which the server checks that file; `binary` replaces the name found by PATH."""
        ...

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """The command by which the server says its version."""
        ...

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The command that runs the server in the foreground with that file."""
        ...

    def parse_status(self, text: str) -> dict[str, float]:
        """What the page at `status_path` says, under the names of docs/internals/stats-socket.md where they
        exist there.
        """
        ...


def space_of(target: Target, values: Mapping[str, object], cpus: int) -> Space:
    """The target's space for the architecture that the values ask for, if it has several.

    Raises RenderError for an architecture that it does not have.
    """
    space = target.space(cpus=cpus)
    knob = space.of_role(Role.ARCHITECTURE)
    asked = None if knob is None else values.get(knob.name)
    return target.space(asked, cpus=cpus) if isinstance(asked, str) else space


def plan_of(target: Target, configuration: Mapping[str, object]) -> affinity.PlanName:
    """The affinity plan in a configuration of the target; `none` where it says nothing of it."""
    asked = configuration.get(target.equivalents[Role.PLACEMENT].knob)
    return next((plan for plan in affinity.PLANS if plan == asked), "none")
