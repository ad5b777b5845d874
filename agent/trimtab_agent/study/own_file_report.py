"""What happens to the user's own file in a run, one line for each thing: before the run, by the whole file.

`report` gathers it without starting anything; the server's own check of the file is the caller's.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict
from trimtab_trials.configuration import Configuration
from trimtab_tuner.checking.machine import UNRESOLVED
from trimtab_tuner.space import Space
from trimtab_tuner.targets.base import RenderContext, RenderError, Target
from trimtab_tuner.targets.http2 import speaks_http2
from trimtab_tuner.targets.in_force import limit_of_descriptors
from trimtab_tuner.targets.private import named_in
from trimtab_tuner.targets.sources import MACRO, recorded_sources
from trimtab_tuner.targets.tls import KEY
from trimtab_tuner.targets.told import Told, line_of, warnings
from trimtab_tuner.wording import in_percent
from trimtab_tuner.workloads.definition import Definition

from trimtab_agent.base_file import BaseFile, located, refuse
from trimtab_agent.errors import SpecError
from trimtab_agent.host.answering import NOWHERE

Kind = Literal["changed", "runs", "missing", "corrected", "site", "log", "stays", "comment"]
HEADINGS: dict[Kind, str] = {
    "changed": "What is measured is your file, but for this (PORT and DIRECTORY are those of a trial):",
    "runs": "The measured server runs or loads this too:",
    "missing": "Upstreams that are not there; requests that your sites hand on to them fail in what is "
    "measured too, and the workload asks nothing of them:",
    "corrected": "In place of these values your server takes others:",
    "site": "What is asked of your site:",
    "log": "Logs, which stay on:",
    "stays": "Exceptions that stay as they are:",
    "comment": "Comments that warn, beside settings that are tuned:",
}
UPSTREAM = "127.0.0.1:UPSTREAM"
_MOST_NAMED = 5
_OVER_TLS, _OVER_HTTP2 = "specweb99-tls", "specweb99-h2"


class Line(BaseModel):
    """One thing; `file` and `line` where it stands, empty and 0 for what has no one place."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    kind: Kind
    text: str
    file: str = ""
    line: int = 0


class OwnFileReport(BaseModel):
    """The user's `file` with those that it `includes`; what is `tuned`, with the values that it has now."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    file: str
    includes: tuple[str, ...]
    tuned: dict[str, int | str]
    lines: tuple[Line, ...]


def refuse_told(target: Target, base: BaseFile) -> None:
    """Raises SpecError for what cannot be run privately, with the file and the line that it stands in."""
    for told in _told(target, base):
        if told.kind == "refused":
            refuse(told, base)


def report(
    target: Target,
    base: BaseFile,
    space: Space,
    missing: Mapping[str, str] = MappingProxyType({}),
    further: Mapping[Kind, Sequence[str]] = MappingProxyType({}),
    stand_ins: Collection[str] = (),
    descriptors: int | None = None,
) -> OwnFileReport:
    """What is to be told of a file that can be measured, for a run with this space. Raises SpecError.

    `missing` has the addresses of upstreams where nobody answers, each with why, `further` what else is known
    of each kind that has no one place in the file; `stand_ins` are the file's upstreams that are replaced.
    `descriptors` are the open files that the system allows a process here (the hard limit), where known.
    """
    default = space.default()
    context = RenderContext(
        root="ROOT",
        listen=("127.0.0.1:PORT",),
        server_cpus=(0,),
        prefix="DIRECTORY",
        upstream=UPSTREAM if stand_ins else None,
        stand_ins=dict.fromkeys(stand_ins, UPSTREAM),
        tls_directory="DIRECTORY/tls" if KEY.name in default else None,
    )
    try:
        private = target.private(base.expanded, default, (), context)
    except RenderError as error:
        raise located(base, error) from error
    lines = [Line(kind="changed", text=each) for each in _named(private)]
    lines += _missing(target, base, missing, stand_ins)
    lines += [Line(kind=kind, text=each) for kind, said in further.items() for each in said]
    if descriptors is not None:
        lines += _descriptors(target, base, default, descriptors)
    free = {
        knob.name: f"{default[knob.name]}, one for each CPU of the server"
        if knob.each_cpu
        else default[knob.name]
        for knob in space.free
    }
    knobs = [knob for knob in space.knobs if knob.name in free]
    said = _told(target, base)
    sites = [each for each in said if each.kind == "secure"]
    lines += _over_tls(
        sites,
        base,
        context.tls_directory,
        made=bool(further.get("changed")),
        http2=speaks_http2(default),
    )
    for told in (*said, *warnings(base.sources.whole, knobs)):
        if told.kind == "refused" or told.kind == "secure":
            continue
        if told.kind != "stays" or _about(told, free):
            lines.append(_at(base, told.line, told.kind, told.text))
    paths = tuple(path for path, _ in base.sources.files[1:] if not path.startswith(MACRO))
    return OwnFileReport(file=base.path, includes=paths, tuned=free, lines=tuple(dict.fromkeys(lines)))


def nothing_handed_on(target: Target, base: BaseFile) -> Iterator[str]:
    """That a workload of files asks nothing of the upstreams of the file, and what would."""
    if not target.proxy_knobs:
        return
    own = "" if target.upstream_log is None else " (--upstream NAME=measured with your upstream's times)"
    php = "; --workload php measures PHP behind a server" if target.serves_php else ""
    upstreams = target.upstreams(base.sources.whole)
    for over_http, measured in ((True, f"; --workload proxy measures handing on{own}"), (False, php)):
        behind = list(dict.fromkeys(each.address for each in upstreams if each.over_http is over_http))
        if behind:
            named = ", ".join(behind[:_MOST_NAMED])
            more = f" and {len(behind) - _MOST_NAMED} more" if len(behind) > _MOST_NAMED else ""
            yield (
                "this workload asks for files, and nothing of what your file hands on to "
                f"{named}{more}{measured}"
            )


def asked_behind(definition: Definition) -> Iterator[str]:
    """What answers requests that the server hands on, in place of what does in production."""
    for each in () if definition.upstream is None else definition.upstream.stand_ins():
        known = "as its log has it" if each.measured else "as you say"
        yield (
            f"upstream {each.name} is not asked: Trimtab's own answers in its place, {known} in "
            f"{each.time_ms:,.3g} ms on average, with {each.size_bytes:,.0f} bytes. "
            f"{in_percent(each.share)} of the requests go on to it"
        )
    if definition.dynamic is not None and definition.backend is not None:
        yield (
            f"{in_percent(definition.dynamic.share)} of the requests are for pages of Trimtab's own, which "
            "come from processes that the run starts and tunes beside your server "
            f"({definition.backend.package}): your applications are not asked, and the settings of their "
            "processes not read"
        )


def of_text(target: Target, text: str, space: Space) -> tuple[str, ...]:
    """The same of a text alone, whose includes are not there, a line for each thing; what a run with the file
    itself would refuse is among them.
    """
    sources = recorded_sources({"path": "", "text": text})
    base = BaseFile("", text, text, sources)
    lines: list[str] = []
    try:
        space = space.with_defaults({**space.default(), **target.parse(text)})
        unread = {line_of(text, include.start): include.pattern for include in target.includes(text)}
        lines += [f"line {line}: {pattern} is not read here" for line, pattern in unread.items()]
        lines += [
            f"line {each.line}: {each.text}"
            for each in target.told(text)
            if each.kind == "refused" and each.line not in unread
        ]
        told = report(target, base, space).lines
    except (RenderError, SpecError) as error:
        said = str(error).removeprefix(": ")
        return (*lines, f"line {said[1:]}" if said.startswith(":") else said)
    return (*lines, *(f"line {each.line}: {each.text}" if each.line else each.text for each in told))


def in_words(told: OwnFileReport) -> list[str]:
    """The report for a terminal, a line for each thing."""
    said = [f"{told.file}, with {len(told.includes)} included: {', '.join(told.includes)}"]
    if not told.includes:
        said = [told.file]
    values = ", ".join(f"{name} (now {value})" for name, value in told.tuned.items())
    said.append(f"Tuned: {values or 'nothing'}.")
    for kind, heading in HEADINGS.items():
        of_kind = [line for line in told.lines if line.kind == kind]
        if of_kind:
            said.append(heading)
        said += [
            f"- {line.file}:{line.line}: {line.text}" if line.file else f"- {line.text}" for line in of_kind
        ]
    return said


def _told(target: Target, base: BaseFile) -> list[Told]:
    try:
        return list(target.told(base.sources.whole))
    except RenderError as error:
        raise located(base, error) from error


def _missing(
    target: Target, base: BaseFile, missing: Mapping[str, str], stand_ins: Collection[str]
) -> Iterator[Line]:
    """Upstreams where nobody answers, but for those that are replaced."""
    whole = base.sources.whole
    replaced = {f"upstream {name}" for name in stand_ins}
    for each in target.upstreams(whole) if missing else ():
        if each.address in missing and each.address not in stand_ins and each.setting not in replaced:
            text = f"{each.setting} {each.address}: {missing[each.address]}"
            if missing[each.address] == UNRESOLVED:
                text += f", so that {NOWHERE} takes its place, where nobody listens"
            yield _at(base, line_of(whole, each.start), "missing", text)


def _over_tls(
    sites: Sequence[Told], base: BaseFile, certificates: str | None, *, made: bool, http2: bool
) -> Iterator[Line]:
    """Whether the sites that speak TLS are measured so, and with which certificates: one line for all;
    `certificates` is the directory of those of the run, None where the workload asks in plain text. Then
    there may be `made` ones in place of those that whoever runs Trimtab may not read. Whether it asks over
    `http2` is told too.
    """
    if not sites:
        return
    names = list(dict.fromkeys(each.text or "a site without a name" for each in sites))
    named = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        named += f" and {len(names) - _MOST_NAMED} more"
    speak = "speak" if len(names) > 1 else "speaks"
    if certificates is None:
        but = ", but for those in whose place are made ones" if made else ""
        text = (
            f"{named} {speak} TLS, and this workload asks in plain text: what TLS costs is not measured. The "
            "measured server still speaks it there, with your certificates and keys, which it reads as yours "
            f"does{but}. A workload with [tls] measures it: --workload {_OVER_TLS}"
        )
    else:
        text = (
            f"{named} {speak} TLS, and so does the workload, with certificates that the run makes in "
            f"{certificates}. They take the place of yours at every site; your keys are not read"
        )
        if not http2:
            text += f". It asks over HTTP/1.1; --workload {_OVER_HTTP2} asks over HTTP/2"
    yield _at(base, sites[0].line, "site", text)


def _descriptors(target: Target, base: BaseFile, values: Configuration, allowed: int) -> Iterator[Line]:
    """Where the file asks for more open files than the system allows a process, or its connections do."""
    whole = base.sources.whole
    asked = limit_of_descriptors(target.name, whole)
    if asked is not None and asked.most > allowed:
        text = (
            f"{asked.name} {asked.most}: {target.program} takes {allowed} here, the hard limit on open files "
            "(ulimit -Hn) of whoever starts Trimtab"
        )
        yield _at(base, line_of(whole, asked.start), "corrected", text)
    connections = target.demands(values).connections
    if connections > allowed:
        text = (
            f"{connections} connections of one process, as the file allows: {target.program} has {allowed} "
            "open files for them here, the hard limit (ulimit -Hn) of whoever starts Trimtab"
        )
        yield Line(kind="corrected", text=text)


def _at(base: BaseFile, line: int, kind: Kind, text: str) -> Line:
    """What is told of a line of the whole."""
    file, number = base.sources.place(line)
    inside = base.sources.inside(line)
    return Line(kind=kind, text=f"{text} ({inside})" if inside else text, file=file, line=number)


def _about(told: Told, free: dict[str, int | str]) -> bool:
    return any(f"a tuned {name} does" in told.text for name in free)


def _named(private: str) -> tuple[str, ...]:
    return tuple(line for line in named_in(private) if line and not line.startswith("#"))
