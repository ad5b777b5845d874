"""What the user of an apache2.conf is told of it before a run."""

import re
from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.servers.apache import levels, rendering, syntax
from trimtab_tuner.targets.servers.apache.knobs import KNOBS
from trimtab_tuner.targets.servers.apache.syntax import SITE, Line
from trimtab_tuner.targets.told import Told, line_of, lines_of

_NAMES = {knob.name.lower(): knob.name for knob in KNOBS}
_OTHER_MPM = re.compile(r"mpm_(?P<name>prefork|worker|itk|peruser|winnt)_module", re.IGNORECASE)
_OTHER_SECTION = re.compile(r"!?(mpm_)?(?P<name>prefork|worker|itk)(_module|\.c)", re.IGNORECASE)
_EVENT_SECTION = re.compile(r"(mpm_)?event(_module|\.c)", re.IGNORECASE)
UNSET_SERVER_LIMIT = 16
_PERL = re.compile(r"perl\w*")
_MAIN_ONLY = {"listen", "serverroot", "loadmodule", "pidfile", "user", "include", "includeoptional"} | {
    *_NAMES
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
        elif line.name in ("wsgidaemonprocess", "passengerroot", "fcgidwrapper"):
            yield Told("runs", number, f"{said}: the measured server starts its programs too")
    yield from _corrected(text)
    secure, names = levels.secure(lines), levels.called(lines)
    for line in levels.exceptions(lines):
        knob = _NAMES[line.name]
        said = " ".join(line.text.split())
        yield Told("stays", line_at(line.start), f"{said} stays: a tuned {knob} does not apply there")
    for line in lines:
        if line.name == SITE and line.opens and line.site in secure:
            yield Told("secure", line_at(line.start), names.get(line.site, ""))


def _corrected(text: str) -> Iterator[Told]:
    """Numbers that Apache lowers to what others of them allow (event.c, in event_check_config())."""
    said = {each.name.lower(): each for each in rendering.assignments(text)}

    def number(name: str, unset: int) -> int:
        value = said[name].value.strip('"') if name in said else ""
        return int(value) if value.isdecimal() else unset

    servers = number("serverlimit", UNSET_SERVER_LIMIT)
    threads = min(number("threadsperchild", 25), number("threadlimit", rendering.LEAST_THREAD_LIMIT))
    allowed = {
        "threadsperchild": (threads, "ThreadLimit"),
        "maxrequestworkers": (servers * threads, f"ServerLimit {servers} × ThreadsPerChild {threads}"),
        "maxclients": (servers * threads, f"ServerLimit {servers} × ThreadsPerChild {threads}"),
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
    """Another MPM than event, by its module or, where none is loaded, by the section that is for it alone."""
    loaded = [line for line in lines if line.name == "loadmodule" and line.words]
    mpm = [line for line in loaded if line.words[0].text.lower().startswith("mpm_")]
    sections = [line for line in lines if line.name == "ifmodule" and line.opens and line.words]
    theirs = [(line, found) for line in mpm if (found := _OTHER_MPM.fullmatch(line.words[0].text))]
    if not mpm and not any(_EVENT_SECTION.fullmatch(line.words[0].text) for line in sections):
        theirs = [
            (line, found) for line in sections if (found := _OTHER_SECTION.fullmatch(line.words[0].text))
        ]
    theirs = [(line, found) for line, found in theirs if not found[0].startswith("!")]
    names = " or ".join(dict.fromkeys(found["name"].lower() for _, found in theirs))
    for line, _ in theirs[:1]:
        yield Told(
            "refused",
            line_of(text, line.start),
            f"{' '.join(line.text.split())}: the file is for the MPM {names}, and Trimtab tunes mpm_event "
            "alone, whose processes and threads are others; expected a file for mpm_event",
        )
