"""The kernel's own knobs, which a run can tune beside those of the server (docs/kernel.md).

They are the same for every target. Which of them a machine has, and what they are set to now, whoever reads
the machine says; the values of now are the defaults. No server's file says anything of them: they are set for
the time of a trial and put back, and go into files of their own for sysctl, tmpfiles and TuneD.

A knob counts for the network namespace in which the server runs, or for the whole host. `tcp_rmem` and
`tcp_wmem` hold three sizes each, which are three knobs: a configuration that has one has all three.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.roles import Role
from trimtab_tuner.space import AtMost, Knob, Space
from trimtab_tuner.workloads.conditions import Conditions

Needs = Literal["nothing", "longer-accept-queue", "device-that-polls", "memory-limit", "to-be-named"]
"""When `--kernel` sets a knob free: always, or where it can matter at all. Some only if a person names them:
too little speaks for them to spend trials of every run on.
"""


@dataclass(frozen=True, kw_only=True)
class KernelKnob:
    """A knob of the kernel: as the space has it (`knob`, whose default is replaced), and where it lies.

    A `*` in its `path` stands for each CPU frequency policy. `part` is its place among several numbers in the
    file. Words that it may have are listed in the file `choices_in` where the kernel says so.
    """

    knob: Knob
    path: str
    part: int | None = None
    needs: Needs = "nothing"
    choices_in: str | None = None

    @property
    def name(self) -> str:
        """The knob's name."""
        return self.knob.name

    def here(self, current: Value, choices: tuple[Value, ...] = ()) -> Knob:
        """The knob on a machine that has it set to `current`, and these choices where it lists them."""
        known = choices or self.knob.choices
        return self.knob.model_copy(update={"default": current, "choices": known})

    def value_in(self, text: str) -> Value:
        """Its value in what the file holds."""
        word = text if self.part is None else text.split()[self.part]
        return int(word) if word.isdecimal() else word


def _number(
    name: str,
    path: str,
    low: int,
    high: int,
    help_: str,
    *,
    unit: str = "",
    scope: Literal["namespace", "host"] = "namespace",
    scale: Literal["linear", "log"] = "log",
    part: int | None = None,
    needs: Needs = "nothing",
) -> KernelKnob:
    knob = Knob(
        name=name,
        kind="integer",
        scale=scale,
        low=low,
        high=high,
        default=low,
        unit=unit,
        needs_restart=True,
        scope=scope,
        help=help_,
    )
    return KernelKnob(knob=knob, path=path, part=part, needs=needs)


def _one_of(
    name: str,
    path: str,
    choices: tuple[Value, ...],
    help_: str,
    *,
    scope: Literal["namespace", "host"] = "namespace",
    choices_in: str | None = None,
    needs: Needs = "nothing",
) -> KernelKnob:
    knob = Knob(name=name, kind="categorical", choices=choices, default=choices[0], scope=scope, help=help_)
    return KernelKnob(knob=knob, path=path, choices_in=choices_in, needs=needs)


NET = "/proc/sys/net"
TCP = f"{NET}/ipv4/tcp"
POLICIES = "/sys/devices/system/cpu/cpufreq/policy*"

KERNEL_KNOBS: tuple[KernelKnob, ...] = (
    _number(
        "somaxconn",
        f"{NET}/core/somaxconn",
        128,
        65_535,
        "Longest accept queue that a server gets, whatever it asks for.",
        unit="connections",
        needs="longer-accept-queue",
    ),
    _number(
        "tcp_max_syn_backlog",
        f"{TCP}_max_syn_backlog",
        128,
        65_535,
        "Connections whose handshake is not over yet; counts only where SYN cookies are off.",
        unit="connections",
        needs="to-be-named",
    ),
    _number(
        "tcp_rmem_min",
        f"{TCP}_rmem",
        4096,
        1 << 16,
        "What a connection's receive buffer keeps even when memory is short.",
        unit="bytes",
        part=0,
        needs="to-be-named",
    ),
    _number(
        "tcp_rmem_default",
        f"{TCP}_rmem",
        4096,
        1 << 20,
        "What a connection's receive buffer begins with.",
        unit="bytes",
        part=1,
        needs="to-be-named",
    ),
    _number(
        "tcp_rmem_max",
        f"{TCP}_rmem",
        1 << 16,
        1 << 26,
        "What a connection's receive buffer may grow to; for uploads.",
        unit="bytes",
        part=2,
        needs="to-be-named",
    ),
    _number(
        "tcp_wmem_min",
        f"{TCP}_wmem",
        4096,
        1 << 16,
        "What a connection's send buffer keeps even when memory is short.",
        unit="bytes",
        part=0,
        needs="to-be-named",
    ),
    _number(
        "tcp_wmem_default",
        f"{TCP}_wmem",
        4096,
        1 << 20,
        "What a connection's send buffer begins with, unless the server sets its own.",
        unit="bytes",
        part=1,
    ),
    _number(
        "tcp_wmem_max",
        f"{TCP}_wmem",
        1 << 16,
        1 << 26,
        "What a connection's send buffer may grow to, unless the server sets its own.",
        unit="bytes",
        part=2,
    ),
    _number(
        "tcp_notsent_lowat",
        f"{TCP}_notsent_lowat",
        4096,
        4 << 20,
        "A socket takes more to send only while less than this is unsent in its buffer: less memory and "
        "fresher data against more wake-ups.",
        unit="bytes",
    ),
    _number(
        "tcp_fin_timeout",
        f"{TCP}_fin_timeout",
        5,
        120,
        "How long a connection that the server has closed waits for the client's end.",
        unit="s",
        needs="to-be-named",
    ),
    _one_of(
        "tcp_tw_reuse",
        f"{TCP}_tw_reuse",
        (0, 1, 2),
        "Whether a new connection that this machine opens may take the port of one in TIME_WAIT: never, "
        "always, on the loopback. Concerns clients and proxies.",
        needs="to-be-named",
    ),
    _one_of(
        "tcp_congestion_control",
        f"{TCP}_congestion_control",
        ("cubic",),
        "How TCP finds out how fast it may send.",
        choices_in=f"{TCP}_available_congestion_control",
    ),
    _one_of(
        "tcp_autocorking",
        f"{TCP}_autocorking",
        (0, 1),
        "Whether small writes wait for others while a packet is on its way to the device.",
    ),
    _number(
        "busy_poll",
        f"{NET}/core/busy_poll",
        0,
        200,
        "How long poll, select and epoll spin on the device's queue before they sleep.",
        unit="us",
        scope="host",
        scale="linear",
        needs="device-that-polls",
    ),
    _number(
        "busy_read",
        f"{NET}/core/busy_read",
        0,
        200,
        "How long a read of a socket spins on the device's queue before it sleeps.",
        unit="us",
        scope="host",
        scale="linear",
        needs="device-that-polls",
    ),
    _number(
        "swappiness",
        "/proc/sys/vm/swappiness",
        0,
        200,
        "How readily memory of processes is swapped out rather than cached files dropped.",
        scope="host",
        scale="linear",
        needs="memory-limit",
    ),
    _number(
        "vfs_cache_pressure",
        "/proc/sys/vm/vfs_cache_pressure",
        10,
        1000,
        "How readily names and inodes of files are forgotten, against their contents.",
        scope="host",
        needs="memory-limit",
    ),
    _one_of(
        "transparent_hugepage",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        ("always", "madvise", "never"),
        "Whether memory of processes comes in huge pages: always, where they ask for it, never.",
        scope="host",
    ),
    _number(
        "sched_base_slice_ns",
        "/sys/kernel/debug/sched/base_slice_ns",
        100_000,
        20_000_000,
        "How long a task runs before another that waits may take its CPU, since Linux 6.6.",
        unit="ns",
        scope="host",
    ),
    _number(
        "sched_min_granularity_ns",
        "/sys/kernel/debug/sched/min_granularity_ns",
        100_000,
        20_000_000,
        "How long a task runs before another that waits may take its CPU, before Linux 6.6.",
        unit="ns",
        scope="host",
    ),
    _one_of(
        "scaling_governor",
        f"{POLICIES}/scaling_governor",
        ("performance",),
        "How the kernel chooses the frequency of the CPUs.",
        scope="host",
        choices_in=f"{POLICIES}/scaling_available_governors",
    ),
)

NAMES = frozenset(knob.name for knob in KERNEL_KNOBS)
BOUNDS = (
    ("tcp_rmem_min", "tcp_rmem_default"),
    ("tcp_rmem_default", "tcp_rmem_max"),
    ("tcp_wmem_min", "tcp_wmem_default"),
    ("tcp_wmem_default", "tcp_wmem_max"),
)


def kernel_knob(name: str) -> KernelKnob:
    """The knob of that name."""
    return next(knob for knob in KERNEL_KNOBS if knob.name == name)


def with_siblings(names: Collection[str]) -> frozenset[str]:
    """The names with those of the knobs that lie in the same file as one of them."""
    files = {kernel_knob(name).path for name in names}
    return frozenset(knob.name for knob in KERNEL_KNOBS if knob.path in files)


def kernel_part(configuration: Configuration) -> Configuration:
    """What a configuration says of the kernel."""
    return {name: value for name, value in configuration.items() if name in NAMES}


def tunes_kernel(space: Space) -> bool:
    """Whether a run may set knobs of the kernel."""
    return any(knob.name in NAMES for knob in space.free)


def with_kernel(space: Space, knobs: Sequence[Knob], free: Collection[str]) -> Space:
    """The space with these knobs of the kernel, of which those named are free and the others stay as they
    are now.
    """
    names = {knob.name: knob for knob in knobs}
    fixed = {name: knob.default for name, knob in names.items() if name not in free}
    bounds = tuple(
        AtMost(smaller=smaller, larger=larger)
        for smaller, larger in BOUNDS
        if {smaller, larger} <= names.keys()
        and int(names[smaller].default) <= int(names[larger].default)  # else the machine breaks it already
    )
    return space.model_copy(
        update={
            "knobs": (*space.knobs, *knobs),
            "fixed": {**space.fixed, **fixed},
            "constraints": (*space.constraints, *bounds),
        }
    )


def worth_freeing(space: Space, knobs: Sequence[Knob], conditions: Conditions) -> frozenset[str]:
    """The names of those knobs that can matter to the server of `space` under these conditions.

    A device that cannot poll has no knobs of polling here to begin with.
    """
    here = {knob.name: knob for knob in knobs}
    queue = space.of_role(Role.ACCEPT_QUEUE)
    longest = here["somaxconn"].default if "somaxconn" in here else 0
    asked = 0 if queue is None else space.default()[queue.name]
    longer = queue is None or queue in space.free or int(asked) > int(longest)
    short_of_memory = conditions.memory != "unlimited" or conditions.start == "cold"
    holds: dict[Needs, bool] = {
        "nothing": True,
        "longer-accept-queue": longer,
        "device-that-polls": True,
        "memory-limit": short_of_memory,
        "to-be-named": False,
    }
    return frozenset(name for name in here if holds[kernel_knob(name).needs])


def file_values(configuration: Configuration, places: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What the kernel's files become for a configuration, by path; `places` has the files of each knob."""
    parts: dict[str, dict[int, Value]] = {}
    for name, value in kernel_part(configuration).items():
        for path in places[name]:
            parts.setdefault(path, {})[kernel_knob(name).part or 0] = value
    return {path: " ".join(str(words[part]) for part in sorted(words)) for path, words in parts.items()}
