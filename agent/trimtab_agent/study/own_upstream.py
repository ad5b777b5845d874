"""An upstream of the user's own file, in whose place Trimtab's upstream answers as that one has answered.

How long it took, how long its replies were and which share of the requests went on to it is read from the end
of the access log that the file names. One kept log beside it (`.1`) is read too where the first is short.
"""

import re
from pathlib import Path
from typing import NamedTuple

from trimtab_tuner.targets.base import RenderContext, RenderError, Target
from trimtab_tuner.targets.behind import UpstreamLog
from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.upstream import LARGEST_BYTES, LEVELS, LONGEST_MS, Upstream, of_sample

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import SpecError

WORKLOAD = "proxy"
"""The workload where none is named."""
TAIL_BYTES = 16 << 20
FEWEST = 10 * LEVELS
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
# nginx counts whole milliseconds: what took none took less than one.
_SHORTEST_MS = 0.5


class Answered(NamedTuple):
    """What a log tells: `lines` in its format, of which `handed_on` went on to an upstream."""

    lines: int
    handed_on: int
    times_ms: list[float]
    sizes_bytes: list[int]


def with_own_upstream(definition: Definition, name: str, target: Target, base: BaseFile | None) -> Definition:
    """The workload with an upstream that answers as the file's upstream `name` has. Raises SpecError."""
    if base is None:
        raise SpecError("upstream", f"upstream = {name}: expected your own file too, which names it (--base)")
    if definition.files is None or definition.dynamic is not None:
        raise SpecError(
            "upstream",
            f"upstream = {name}: the workload {definition.name} has nothing to hand on to it; expected "
            f"{WORKLOAD}, or one with [files] and without [dynamic]",
        )
    require_there(name, target, base)
    try:
        log = target.upstream_log(base.expanded, name)
    except RenderError as error:
        raise SpecError("upstream", f"{base.path}: {error}") from error
    answered = read(log)
    if len(answered.times_ms) < FEWEST:
        raise SpecError(
            "upstream",
            f"upstream = {name}: {log.path} has {counted(len(answered.times_ms), 'time')} of an upstream in "
            f"{counted(answered.lines, 'line')} of its format; expected at least {FEWEST}",
        )
    own = definition.upstream or Upstream(share=answered.handed_on / answered.lines)
    upstream = own.model_copy(
        update={
            "stands_for": name,
            "times_ms": tuple(round(min(time, LONGEST_MS), 3) for time in of_sample(answered.times_ms)),
            "sizes_bytes": tuple(
                min(max(1, round(size)), LARGEST_BYTES)
                for size in (of_sample(answered.sizes_bytes) if len(answered.sizes_bytes) >= FEWEST else ())
            ),
        }
    )
    source = f"times of the upstream {name}: {counted(len(answered.times_ms), 'request')} in {log.path}"
    return definition.model_copy(
        update={"upstream": upstream, "source": f"{definition.source}; {source}"[-1000:].removeprefix("; ")}
    )


def require_there(name: str, target: Target, base: BaseFile) -> None:
    """Raises SpecError unless the file can be measured with Trimtab's upstream in the place of that one."""
    context = RenderContext(
        root="/",
        listen=("127.0.0.1:1",),
        server_cpus=(0,),
        prefix="/",
        upstream="127.0.0.1:2",
        stands_for=name,
    )
    knobs = (*target.space().knobs, *target.proxy_knobs)
    try:
        target.private(base.expanded, {knob.name: knob.default for knob in knobs}, (), context)
    except RenderError as error:
        raise SpecError("upstream", f"{base.path}: {error}") from error


def read(log: UpstreamLog) -> Answered:
    """What the end of a log tells. Raises SpecError where it cannot be read."""
    lines = handed_on = 0
    times_ms: list[float] = []
    sizes_bytes: list[int] = []
    for path in (Path(log.path), Path(f"{log.path}.1")):
        if len(times_ms) >= FEWEST or (lines and not path.exists()):
            break
        for line in _tail(path):
            if (found := log.pattern.match(line)) is None:
                continue
            lines += 1
            times = _NUMBER.findall(found["time"])
            handed_on += bool(times)
            times_ms += [max(1000 * float(time), _SHORTEST_MS) for time in times]
            if times and "size" in log.pattern.groupindex and (size := _NUMBER.findall(found["size"])):
                sizes_bytes.append(int(float(size[-1])))
    return Answered(lines, handed_on, times_ms, sizes_bytes)


def _tail(path: Path) -> list[bytes]:
    """The whole lines in the last `TAIL_BYTES` of a file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError as error:
        raise SpecError("upstream", f"the log {path} cannot be read: {error.strerror}") from error
    return lines[1:] if size > TAIL_BYTES else lines
