"""Rules about Apache's processes: numbers that Apache corrects by itself, which only its log tells."""

from collections.abc import Iterator, Mapping

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile, Statement
from trimtab_tuner.targets.servers.apache.mpm import for_others, in_force

_SAID = "Apache HTTP Server, mpm_common: ServerLimit, ThreadLimit, MaxRequestWorkers"
# ServerLimit, ThreadsPerChild, ThreadLimit, MaxRequestWorkers without a word of them.
_DEFAULTS: Mapping[str, tuple[int, int, int, int]] = {
    "prefork": (256, 1, 1, 256),
    "worker": (16, 25, 64, 400),
    "event": (16, 25, 64, 400),
}

# The highest ServerLimit and ThreadLimit that Apache is compiled for.
_COMPILED: Mapping[str, Mapping[str, int]] = {
    "prefork": {"serverlimit": 200_000},
    "worker": {"serverlimit": 20_000, "threadlimit": 20_000},
    "event": {"serverlimit": 20_000, "threadlimit": 100_000},
}


def processes(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """More workers than processes times threads, more processes at the start than there may be, and so on."""
    if file.target.name != "apache":
        return
    mpm = in_force(file.statements)
    limit, threads, most_threads, most = _DEFAULTS[mpm]
    told = _told(file, mpm)
    compiled = _COMPILED[mpm]
    yield from _not_compiled(told, compiled)
    servers = min(_number(told.get("serverlimit"), limit), compiled["serverlimit"])
    each = 1 if mpm == "prefork" else _number(told.get("threadsperchild"), threads)
    thread_limit = min(_number(told.get("threadlimit"), most_threads), compiled.get("threadlimit", 1))
    workers = told.get("maxrequestworkers") or told.get("maxclients")
    wanted = _number(workers, most)
    if mpm != "prefork" and each > thread_limit:
        what = f"{each:,} threads for each process"
        yield _corrected(told.get("threadsperchild"), what, "ThreadLimit", thread_limit, each)
        each = thread_limit
    if workers is not None and wanted > servers * each:
        of = f"ServerLimit {servers}" + ("" if mpm == "prefork" else f" with {each} threads each")
        yield contradiction(
            "server-limit-below-workers",
            "error",
            workers,
            f"{workers.said}: {of} allows {servers * each:,}, and Apache lowers it to that by itself.",
            f"mpm_{mpm}",
            _SAID,
            suggestion=f"ServerLimit {-(-wanted // each)} before it, or MaxRequestWorkers {servers * each}.",
        )
    starting = told.get("startservers")
    if starting is not None and _number(starting, 0) > servers:
        at_start = _number(starting, 0)
        yield _corrected(starting, f"{at_start:,} processes at the start", "ServerLimit", servers, at_start)
    if mpm != "prefork" and workers is not None and wanted % each:
        value = max(each, wanted // each * each)
        yield contradiction(
            "workers-no-multiple-of-threads",
            "note",
            workers,
            f"{workers.said} is no multiple of the {each} threads of a process: Apache "
            f"{'lowers' if value < wanted else 'raises'} it to {value:,}.",
            _SAID,
            suggestion=f"MaxRequestWorkers {value}.",
        )


def _not_compiled(told: Mapping[str, Statement], compiled: Mapping[str, int]) -> Iterator[Contradiction]:
    """Limits above those that Apache is compiled for."""
    for name, most in compiled.items():
        said = told.get(name)
        if said is not None and _number(said, 0) > most:
            yield contradiction(
                "limit-above-compiled",
                "warning",
                said,
                f"{said.said}: Apache is compiled for at most {most:,}, and lowers it to that by itself.",
                _SAID,
                suggestion=f"{said.written} {most}.",
            )


def _corrected(at: Statement | None, what: str, limit: str, value: int, wanted: int) -> Contradiction:
    return contradiction(
        f"{limit.lower().replace('limit', '-limit')}-below-value",
        "error",
        at,
        f"{what} are more than {limit} {value} allows; Apache lowers it to that by itself.",
        _SAID,
        suggestion=f"{limit} {wanted}, or a lower value here.",
    )


def _told(file: ServerFile, mpm: str) -> dict[str, Statement]:
    """What is said of processes, without what stands in sections for another module."""
    found = {}
    for statement in file.statements:
        if not for_others(statement.modules, mpm):
            found[statement.name] = statement
    return found


def _number(statement: Statement | None, otherwise: int) -> int:
    return otherwise if statement is None or statement.number is None else statement.number
