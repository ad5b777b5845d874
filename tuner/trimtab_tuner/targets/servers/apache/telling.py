"""What the user of an apache2.conf is told of it before a run."""

import re
from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.servers.apache import levels, mpm, rendering, syntax
from trimtab_tuner.targets.servers.apache.knobs import BY_NAME
from trimtab_tuner.targets.servers.apache.syntax import SITE, Line
from trimtab_tuner.targets.told import Told, line_of, lines_of

UNSET_SERVER_LIMIT = 16
_PERL = re.compile(r"perl\w*")
_LIMITS = {"dospagecount", "dossitecount", "maxconnperip", "qs_srvmaxconnperip"}
_MAIN_ONLY = {"listen", "serverroot", "loadmodule", "pidfile", "user", "include", "includeoptional"} | {
    *BY_NAME
}
# What a .htaccess is made of.
_OVERRIDES = re.compile(
    r"rewrite\w+|redirect\w*|options|directoryindex|errordocument|auth\w+|require|order|allow|deny|satisfy|"
    r"add\w+|expires\w*|header|php_\w+|setenvif\w*|setenv|fileetag|indexoptions|defaulttype|forcetype"
)


def told(text: str) -> Iterator[Told]:
    """In the order of the file, exceptions last."""
    lines = list(syntax.walk(text))
    yield from _fragment(text, lines)
    yield from _other_mpm(text, lines)
    line_at = lines_of(text)
    modules = [line for line in lines if line.name == "loadmodule" and line.words]
    for line in lines:
        number, said = line_at(line.start), " ".join(line.text.split())
        if _PERL.fullmatch(line.name):
            yield Told("refused", number, f"{said}: {_unseen('Perl')}")
        elif (
            (line.name == "rewritemap" and any(word.text.startswith("prg:") for word in line.words))
            or line.name == "extfilterdefine"
            or (
                line.name in ("sslpassphrasedialog", "sslrandomseed")
                and any(word.text.startswith(("exec:", "|")) for word in line.words)
            )
        ):
            yield Told("refused", number, f"{said}: {_unseen('this program')}")
        elif line.name == "define" and len(line.words) == 2:
            yield Told("runs", number, f"{said}: the same in the measured server")
        elif line in modules[:1]:
            loaded = ", ".join(each.words[0].text for each in modules)
            yield Told("runs", number, f"LoadModule {loaded}: the measured server loads the same")
        elif line.name.startswith("lua"):
            yield Told("runs", number, f"{said}: the measured server runs this Lua too")
        elif line.name in _LIMITS and not line.site:
            yield Told(
                "runs",
                number,
                f"{said}: it limits the workload too, whose clients have few addresses; a trial in which it "
                "answers with errors is stopped",
            )
        elif line.name in ("wsgidaemonprocess", "passengerroot", "fcgidwrapper"):
            yield Told("runs", number, f"{said}: the measured server starts its programs too")
    yield from _corrected(text, mpm.in_force(lines))
    secure, names = levels.secure(lines), levels.called(lines)
    for line in levels.exceptions(lines):
        knob = BY_NAME[line.name]
        said = " ".join(line.text.split())
        yield Told("stays", line_at(line.start), f"{said} stays: a tuned {knob} does not apply there")
    for line in lines:
        if line.name == SITE and line.opens and line.site in secure:
            yield Told("secure", line_at(line.start), names.get(line.site, ""))


def _corrected(text: str, loaded: str) -> Iterator[Told]:
    """Numbers that Apache lowers to what others of them allow (event.c, in event_check_config(), and its like
    in worker.c and prefork.c).
    """
    said = {each.name.lower(): each for each in rendering.assignments(text, loaded)}

    def number(name: str, unset: int) -> int:
        value = said[name].value.strip('"') if name in said else ""
        return int(value) if value.isdecimal() else unset

    allowed = {}
    if loaded == mpm.PREFORK:
        servers = number("serverlimit", rendering.CHILD_LIMIT)
        workers = (servers, f"ServerLimit {servers}")
    else:
        servers = number("serverlimit", UNSET_SERVER_LIMIT)
        threads = min(number("threadsperchild", 25), number("threadlimit", rendering.LEAST_THREAD_LIMIT))
        workers = (servers * threads, f"ServerLimit {servers} × ThreadsPerChild {threads}")
        allowed["threadsperchild"] = (threads, "ThreadLimit")
    allowed |= {
        "maxrequestworkers": workers,
        "maxclients": workers,
        "startservers": (servers, f"ServerLimit {servers}"),
    }
    for name, (most, why) in allowed.items():
        if name in said and number(name, 0) > most:
            each = said[name]
            told = f"{each.name} {each.value}: Apache takes {most}, as {why} allows no more"
            yield Told("corrected", line_of(text, each.start), told)


def _unseen(what: str) -> str:
    return (
        f"{what} would run in the measured server too, and what it opens or writes cannot be seen before; "
        "expected the file without it"
    )


def _fragment(text: str, lines: Sequence[Line]) -> Iterator[Told]:
    """What only a main file includes, or what lies in a directory of documents."""
    names = {line.name for line in lines if line.is_directive and not line.above}
    if not lines or names & _MAIN_ONLY:
        return
    first = line_of(text, lines[0].start)
    main = "expected the main file, whose includes are followed (most often --base /etc/apache2/apache2.conf)"
    if any(line.name == SITE and line.opens for line in lines):
        said = f"a virtual host alone is a part that an apache2.conf includes; {main}"
        yield Told("refused", first, said, is_part=True)
    elif names and all(_OVERRIDES.fullmatch(name) for name in names):
        said = f"this is what a .htaccess says, of one directory of documents; {main}"
        yield Told("refused", first, said, is_part=True)


def _other_mpm(text: str, lines: Sequence[Line]) -> Iterator[Told]:
    """An MPM that is not tuned, or several of which nothing tells the one in force."""
    found = mpm.named(lines)
    other = next((name for name in found if name not in mpm.MPMS), None)
    if other is None and len(found) < 2:
        return
    line = found[other] if other is not None else next(iter(found.values()))
    known = f"{', '.join(mpm.MPMS[:-1])} or {mpm.MPMS[-1]}"
    why = (
        f"the file is for the MPM {other}, and Trimtab tunes {known}; expected a file for one of those"
        if other is not None
        else f"the file is for the MPM {' or '.join(found)}, and nothing tells which one is in force; "
        "expected one LoadModule of an MPM"
    )
    yield Told("refused", line_of(text, line.start), f"{' '.join(line.text.split())}: {why}")
