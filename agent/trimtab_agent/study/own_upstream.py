"""Upstreams of the user's own file, in whose places Trimtab's answer as those have answered.

How long they took, how long their replies were and which share of the requests went on to them is read from
the ends of the access logs that the file names. One kept log beside each (`.1`) is read too where the first
is short, or where several are weighed against each other. In place of that the user may say a time.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from trimtab_tuner.targets.base import RenderContext, RenderError, Target
from trimtab_tuner.targets.behind import UpstreamLog
from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.upstream import (
    LARGEST_BYTES,
    LEVELS,
    LONGEST_MEAN_MS,
    LONGEST_MS,
    Replaced,
    Upstream,
    of_sample,
)

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import SpecError

WORKLOAD = "proxy"
"""The workload where none is named."""
MEASURED = "measured"
TAIL_BYTES = 16 << 20
FEWEST = 10 * LEVELS
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)")
_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
# nginx counts whole milliseconds: what took none took less than one.
_SHORTEST_MS = 0.5


class Answered(NamedTuple):
    """What a log tells: `lines` in its format, and of those that went on to the upstream times and sizes.

    In the whole of the files that were read there should be so many lines (`written`), and so many of them
    should be of requests that went on (`handed_on`).
    """

    lines: int
    written: float
    handed_on: float
    times_ms: list[float]
    sizes_bytes: list[int]


def require_replaceable(told: Mapping[str, str], target: Target, file: str | None) -> None:
    """Raises SpecError without a file of the user's, for a server that hands nothing on, and for what only a
    log would tell that the server does not have.
    """
    said = f"upstream {', '.join(told)}"
    if file is None:
        raise SpecError("upstreams", f"{said}: expected your own file too, which names it (--base)")
    if not target.proxy_knobs:
        raise SpecError(
            "upstreams",
            f"{said}: {target.name} hands no requests on; expected no --upstream, or another server",
        )
    if target.upstream_log is not None:
        return
    for name, how in told.items():
        if how == MEASURED:
            raise SpecError(
                "upstreams",
                f"upstream {name} = {MEASURED}: {target.name} logs no time of an upstream; expected a mean "
                f"time, as {name}=20ms",
            )
    if len(told) > 1:
        raise SpecError(
            "upstreams",
            f"{said}: of a file of {target.name} one upstream is replaced in a run; expected one --upstream",
        )


def with_own_upstreams(
    definition: Definition, told: Mapping[str, str], target: Target, base: BaseFile
) -> Definition:
    """The workload with upstreams in the places of those that are `told`: each as fast as its log says, where
    that is `MEASURED`, or else as the time. Raises SpecError.
    """
    names = ", ".join(told)
    if definition.learnt is not None:
        raise SpecError(
            "upstreams",
            f"upstream {names}: the workload {definition.name} asks for the files of an access log, and none "
            f"of them goes on to an upstream; expected {WORKLOAD}, or one with [files] and without "
            "[dynamic]; neither goes with --site",
        )
    if definition.files is None or definition.dynamic is not None:
        raise SpecError(
            "upstreams",
            f"upstream {names}: the workload {definition.name} has nothing to hand on to it; expected "
            f"{WORKLOAD}, or one with [files] and without [dynamic]",
        )
    times_ms = {name: _service_time_ms(name, how) for name, how in told.items() if how != MEASURED}
    require_there(told, target, base)
    logs = {name: _log(name, target, base) for name in told if name not in times_ms}
    _require_apart(logs)
    answered = {name: _answered(name, log, both=len(told) > 1) for name, log in logs.items()}
    own = definition.upstream or Upstream(share=1.0 if times_ms else _share(logs, answered))
    replaced = tuple(
        Replaced(name=name, service_time_ms=times_ms[name])
        if name in times_ms
        else _as_answered(name, answered[name], weighed=not times_ms)
        for name in told
    )
    source = "; ".join(
        f"times of the upstream {name}: {counted(len(each.times_ms), 'request')} in {logs[name].path}"
        for name, each in answered.items()
    )
    return definition.model_copy(
        update={
            "upstream": own.model_copy(update={"replaced": replaced}),
            "source": f"{definition.source}; {source}"[-1000:].strip("; "),
        }
    )


def require_there(names: Collection[str], target: Target, base: BaseFile) -> None:
    """Raises SpecError unless the file can be measured with Trimtab's upstreams in the places of those."""
    ours = "127.0.0.1:2"
    context = RenderContext(
        root="/",
        listen=("127.0.0.1:1",),
        server_cpus=(0,),
        prefix="/",
        upstream=ours,
        stand_ins=dict.fromkeys(names, ours),
    )
    knobs = (*target.space().knobs, *target.proxy_knobs)
    try:
        target.private(base.expanded, {knob.name: knob.default for knob in knobs}, (), context)
    except RenderError as error:
        raise SpecError("upstreams", f"{base.path}: {error}") from error


def read(log: UpstreamLog, *, both: bool = False) -> Answered:
    """What the end of a log tells, and of the one before it where the first is short, or if `both` are
    wanted. Raises SpecError where it cannot be read.
    """
    lines, written, handed_on = 0, 0.0, 0.0
    times_ms: list[float] = []
    sizes_bytes: list[int] = []
    for path in (Path(log.path), Path(f"{log.path}.1")):
        if (len(times_ms) >= FEWEST and lines and not both) or (lines and not path.exists()):
            break
        tail, part = _tail(path)
        for line in tail:
            if (found := log.pattern.match(line)) is None:
                continue
            lines += 1
            written += 1 / part
            times = _NUMBER.findall(found["time"])
            if not times or (log.answering and _first(found["by"]) not in log.answering):
                continue
            handed_on += 1 / part
            times_ms += [max(1000 * float(time), _SHORTEST_MS) for time in times]
            if "size" in log.pattern.groupindex and (size := _NUMBER.findall(found["size"])):
                sizes_bytes.append(int(float(size[-1])))
    return Answered(lines, written, handed_on, times_ms, sizes_bytes)


def _service_time_ms(name: str, how: str) -> float:
    """The time that was said for an upstream."""
    found = _TIME.fullmatch(how)
    if found is None:
        raise SpecError(
            "upstreams",
            f"upstream {name} = {how}: expected {MEASURED}, or a time with its unit (us, ms, s), as 20ms",
        )
    time_ms = float(found[1]) * _UNITS_MS[found[2]]
    if time_ms > LONGEST_MEAN_MS:
        raise SpecError(
            "upstreams", f"upstream {name} = {how}: expected at most {LONGEST_MEAN_MS / 1000:.0f}s"
        )
    return time_ms


def _log(name: str, target: Target, base: BaseFile) -> UpstreamLog:
    assert target.upstream_log is not None  # noqa: S101 - what is replaceable has been required
    try:
        return target.upstream_log(base.expanded, name)
    except RenderError as error:
        raise SpecError("upstreams", f"{base.path}: {error}, or {name}=TIME") from error


def _require_apart(logs: Mapping[str, UpstreamLog]) -> None:
    """Raises SpecError where lines of one log may be of one upstream as well as of another."""
    for name, log in logs.items():
        others = [other for other, each in logs.items() if other != name and each.path == log.path]
        if others and not log.answering:
            raise SpecError(
                "upstreams",
                f"upstream {name}: {log.path} has the times of {others[0]} too, and its log_format does not "
                "say whose they are; expected $proxy_host in it, or a log for each",
            )


def _answered(name: str, log: UpstreamLog, *, both: bool) -> Answered:
    answered = read(log, both=both)
    if len(answered.times_ms) < FEWEST:
        raise SpecError(
            "upstreams",
            f"upstream {name}: {log.path} has {counted(len(answered.times_ms), 'time')} of it in "
            f"{counted(answered.lines, 'line')} of its format; expected at least {FEWEST}, or {name}=TIME",
        )
    return answered


def _share(logs: Mapping[str, UpstreamLog], answered: Mapping[str, Answered]) -> float:
    """Which share of all requests went on to them."""
    written = {logs[name].path: each.written for name, each in answered.items()}
    return min(1.0, sum(each.handed_on for each in answered.values()) / sum(written.values()))


def _as_answered(name: str, answered: Answered, *, weighed: bool) -> Replaced:
    sizes = of_sample(answered.sizes_bytes) if len(answered.sizes_bytes) >= FEWEST else ()
    return Replaced(
        name=name,
        weight=answered.handed_on if weighed else 1.0,
        times_ms=tuple(round(min(time, LONGEST_MS), 3) for time in of_sample(answered.times_ms)),
        sizes_bytes=tuple(min(max(1, round(size)), LARGEST_BYTES) for size in sizes),
    )


def _first(by: bytes) -> bytes:
    """Of several servers that were asked, the first."""
    return next(iter(by.replace(b",", b" ").split()), b"")


def _tail(path: Path) -> tuple[list[bytes], float]:
    """The whole lines in the last `TAIL_BYTES` of a file, and which part of it that is."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError as error:
        raise SpecError("upstreams", f"the log {path} cannot be read: {error.strerror}") from error
    return (lines[1:], TAIL_BYTES / size) if size > TAIL_BYTES else (lines, 1.0)
