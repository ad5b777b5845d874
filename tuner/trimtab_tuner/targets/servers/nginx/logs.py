"""Access logs of a user's nginx.conf: how much of one nginx gathers before it writes (ngx_http_log_module).

Each log stays where it is, with its path, format and conditions; only `buffer` changes, with `flush`, after
which the lines are written in any case.
"""

from collections.abc import Iterator

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob
from trimtab_tuner.targets import values
from trimtab_tuner.targets.editing import Edit
from trimtab_tuner.targets.servers.nginx import syntax
from trimtab_tuner.targets.servers.nginx.syntax import Directive
from trimtab_tuner.targets.told import Told

FLUSH_S = 5
BUFFER = Knob(
    name="access_log_buffer",
    kind="ordinal",
    choices=(0, 16_384, 65_536, 262_144),
    default=0,
    unit="bytes",
    resource_weight=1 / 1024,
    scope="worker",
    help="What nginx gathers of an access log before it writes: lines come up to 5 s later, and those that "
    "are gathered are lost if it is killed; 0: each line at once.",
)
# A pipe or a device is read as it is written; names with variables, and syslog, nginx does not gather for.
_NO_FILE = ("off", "syslog:", "/dev/", "|")


def parse(text: str) -> Configuration:
    """What is gathered of those logs that the knob is for; nothing where there are none."""
    tuned = _tuned(syntax.parse(text))
    return {BUFFER.name: _gathered(tuned)} if tuned else {}


def edits(tree: list[Directive], configuration: Configuration) -> Iterator[Edit]:
    """The logs with so much gathered of them."""
    size = int(configuration[BUFFER.name])
    for log in _tuned(tree):
        buffer, flush = _option(log, "buffer"), _option(log, "flush")
        if size == 0:
            yield from ((start - 1, end, "") for start, end, _ in filter(None, (buffer, flush)))
            continue
        said = options(size) if flush is None else f"buffer={size // 1024}k"
        if buffer is not None:
            yield buffer[0], buffer[1], said
        else:
            # Options come behind a format, which without being told is this one.
            end = log.spans[min(2, len(log.arguments))][1]
            yield end, end, f" combined {said}" if len(log.arguments) == 1 else f" {said}"


def options(size: int) -> str:
    """Those of `access_log` for so much to be gathered."""
    return f"buffer={size // 1024}k flush={FLUSH_S}s"


def told(tree: list[Directive]) -> Iterator[Told]:
    """That lines are written one by one, and what is given away by gathering them; then the exceptions."""
    tuned = _tuned(tree)
    if not tuned:
        return
    if _gathered(tuned) == 0:
        others = f" (and {len(tuned) - 1} more)" if len(tuned) > 1 else ""
        yield Told(
            "log",
            tuned[0].line,
            f"{_said(tuned[0])}{others} writes each line at once, and so it stays unless you ask: --knob "
            f"{BUFFER.name}=0,65536 measures what gathering them gives. Lines then come up to {FLUSH_S} s "
            "later, and those that are gathered are lost if nginx is killed",
        )
    changed = {id(log) for log in tuned}
    for log in _access_logs(tree):
        if log.arguments[0] != "off" and id(log) not in changed:
            yield Told("stays", log.line, f"{_said(log)} stays: a tuned {BUFFER.name} does not apply there")


def _access_logs(tree: list[Directive]) -> Iterator[Directive]:
    for directive, above in syntax.walk(tree):
        if directive.name == "access_log" and directive.arguments and above and above[0].name == "http":
            yield directive


def _tuned(tree: list[Directive]) -> list[Directive]:
    """The logs that go to files of which as much is gathered as of that with the least.

    What one of them says of a file holds for all that go to it; compressed logs are gathered in any case.
    """
    by_path: dict[str, list[Directive]] = {}
    for log in _access_logs(tree):
        path = log.arguments[0]
        if not path.startswith(_NO_FILE) and "$" not in path:
            by_path.setdefault(path, []).append(log)
    plain = [logs for logs in by_path.values() if not any(_is_compressed(log) for log in logs)]
    least = min(map(_gathered, plain), default=0)
    return [log for logs in plain if _gathered(logs) == least for log in logs]


def _gathered(logs: list[Directive]) -> int:
    """How much is gathered of logs that go to one file, or that are alike in this."""
    told = (_option(log, "buffer") for log in logs)
    return max(0 if place is None else values.size_bytes("buffer", place[2]) for place in told)


def _option(log: Directive, name: str) -> tuple[int, int, str] | None:
    """Where the option stands, and its value."""
    for (start, end), word in zip(log.spans[3:], log.arguments[2:], strict=True):
        if word.startswith(f"{name}="):
            return start, end, word.removeprefix(f"{name}=")
    return None


def _is_compressed(log: Directive) -> bool:
    return any(word.partition("=")[0] == "gzip" for word in log.arguments[2:])


def _said(log: Directive) -> str:
    return " ".join((log.name, *log.arguments))
