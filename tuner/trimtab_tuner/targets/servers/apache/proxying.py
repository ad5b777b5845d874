"""Proxying in a user's own apache2.conf: parameters of the lines that name an upstream, in sites too."""

import re
from collections.abc import Collection, Hashable, Iterator, Sequence

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.targets import values
from trimtab_tuner.targets.behind import Upstream, upstream_at, with_others
from trimtab_tuner.targets.editing import Edit
from trimtab_tuner.targets.servers.apache import conditions, syntax
from trimtab_tuner.targets.servers.apache.knobs import DISABLE_REUSE, PROXY_KNOBS, WORKER_KNOBS
from trimtab_tuner.targets.servers.apache.syntax import Line, Word

UNSET = ("auto", "none")
_UPSTREAM = re.compile(r"https?://", re.IGNORECASE)
WORKERS = {"proxypass", "proxypassmatch", "balancermember", "proxyset"}
_OTHERS = {knob.name.lower(): knob for knob in PROXY_KNOBS if knob not in WORKER_KNOBS}
_BEHIND = re.compile(r"(unix:[^|\s]+\||(https?|wss?|h2c?|ajp|fcgi|scgi|uwsgi)://)", re.IGNORECASE)
_BALANCER = re.compile(r"balancer://", re.IGNORECASE)
_FLAG = re.compile(r"([+-]?)([A-Z])")
_PASSES = ("proxypass", "proxypassmatch")
# What decides which requests go on, from where and to where, and what of the answers is written anew.
_WHICH = re.compile(
    r"proxypass(match|reverse)?|proxyset|proxyremote(match)?|proxyblock|proxysourceaddress|"
    r"proxy(express|hc|html)\w*"
)
_HEALTH_CHECK = re.compile(r"hc(method|template|interval|uri|passes|fails|expr)=", re.IGNORECASE)
# Parameters of a member of a balancer, and whether it is asked at all.
_OF_MEMBERS = {"lbset", "loadfactor", "redirect", "route", "status"}


def parse(text: str) -> Configuration:
    """The knobs of proxying that the file says last."""
    found: Configuration = {}
    for line in _upstreams(text):
        for knob in WORKER_KNOBS:
            for _, value in _parameters(line, knob.name):
                found[knob.name] = _read(knob.name, value)
        for _, value in _parameters(line, "enablereuse"):
            found[DISABLE_REUSE.name] = "On" if value.lower() == "off" else "Off"
    for line in syntax.walk(text):
        other = _OTHERS.get(line.name)
        if other is not None and line.words:
            number = values.seconds if other.unit == "s" else values.integer
            found[other.name] = number(other.name, line.words[0].text)
    return values.within(PROXY_KNOBS, found)


def edits(text: str, configuration: Configuration, knobs: Collection[str]) -> Iterator[Edit]:
    """The parameters of each upstream, and what else is said of proxying in sites, at these values."""
    for line in _upstreams(text):
        added = ""
        for knob in WORKER_KNOBS:
            if knob.name not in knobs:
                continue
            value = configuration[knob.name]
            there = [word for word, _ in _parameters(line, knob.name)]
            if knob is DISABLE_REUSE:
                for word, _ in _parameters(line, "enablereuse"):
                    yield word.start - 1, word.end, ""
            said = "" if value in UNSET else f"{knob.name}={value}"
            if there:
                last = there[-1]
                yield (last.start, last.end, said) if said else (last.start - 1, last.end, "")
            elif said:
                added += f" {said}"
        if added:
            yield line.end, line.end, added
    for line in syntax.walk(text):
        other = _OTHERS.get(line.name)
        if other is not None and other.name in knobs and line.words and line.above:
            word = line.words[0]
            yield word.start, word.end, str(configuration[other.name])


def said_anywhere(text: str) -> set[str]:
    """The knobs of the server as a whole that some line says, in small letters."""
    return {line.name for line in syntax.walk(text)} & _OTHERS.keys()


def names(lines: Sequence[Line]) -> list[str]:
    """What upstreams of HTTP are called: the balancers that they are in, and their addresses."""
    return [name for called, _ in _called(lines) for name in called]


def site_of(lines: Sequence[Line], name: str) -> int:
    """The number of the first site that hands requests on to the upstream of that name; 0 where none does."""
    return next((line.site for called, line in _called(lines) if name in called and line.name in _PASSES), 0)


def _called(lines: Sequence[Line]) -> Iterator[tuple[tuple[str, ...], Line]]:
    """Each line that names an upstream, or a balancer, with what that is called."""
    section = ""
    for line in lines:
        if line.name == "proxy":
            section = line.first if line.opens else ""
        if line.name not in (*_PASSES, "balancermember") or not line.is_directive:
            continue
        words = [section] * (line.name == "balancermember") + [word.text for word in line.words]
        balancers = [word.split("/")[2] for word in words if _BALANCER.match(word)]
        found = (upstream_at("", word, 0) for word in words if _UPSTREAM.match(word))
        called = (*balancers, *(each.address for each in found if each is not None))
        if called:
            yield called, line


def how_handed_on(lines: Sequence[Line], name: str | None = None) -> str:
    """How the first site that hands requests on, to the upstream of that name if one is given, does so; ""
    where none does.
    """
    sites = [line.site for line in lines if line.name == "proxypass" and line.site]
    if name is not None:
        sites = [site] if (site := site_of(lines, name)) else []

    def is_how(line: Line) -> bool:
        of_site = bool(sites) and line.site == sites[0] and conditions.of_whole_site(line)
        return of_site and line.name.startswith("proxy") and _WHICH.fullmatch(line.name) is None

    return conditions.copied(lines, is_how, lambda line: line.text)


def is_health_check(word: Word) -> bool:
    """Whether it is a parameter of mod_proxy_hcheck's."""
    return _HEALTH_CHECK.match(word.text) is not None


def other_parameters(lines: Sequence[Line], name: str | None = None) -> str:
    """The parameters of the first upstream, or of the first of that name, that are no knobs, as they stand
    there; "" without one.
    """
    if name is not None:
        lines = [line for called, line in _called(lines) if name in called]
    others = {knob.name for knob in WORKER_KNOBS} | {"enablereuse"} | _OF_MEMBERS
    for line in lines:
        if line.name in WORKERS and any(_UPSTREAM.match(word.text) for word in line.words):
            given = (word for word in line.words if "=" in word.text and "://" not in word.text)
            said = [word.text for word in given if not is_health_check(word)]
            return "".join(f" {word}" for word in said if word.partition("=")[0].lower() not in others)
    return ""


def upstreams(text: str) -> Sequence[Upstream]:
    """The addresses that requests go on to, by HTTP and other protocols; the first that a word says."""
    return with_others(_behind(text))


def _behind(text: str) -> Iterator[tuple[Hashable, Upstream]]:
    """Each with the balancer of its site that it is a member of, None where it is of none."""
    section = ""
    for line in syntax.walk(text):
        if line.name == "proxy":
            section = line.first if line.opens else ""
        if line.name not in (*WORKERS, "sethandler") or not line.is_directive:
            continue
        for word in line.words:
            begin = _BEHIND.search(word.text)
            if begin is not None:
                place = word.start + (text[word.start] == '"') + begin.start()
                setting = line.text.split()[0]
                found = upstream_at(setting, word.text[begin.start() :], place)
                if found is not None:
                    balancer = next((each.text for each in line.words if _BALANCER.match(each.text)), section)
                    group = (line.site, balancer.lower()) if line.name == "balancermember" else None
                    over_http = _UPSTREAM.search(word.text, begin.start()) is not None
                    yield group, found._replace(used=not _taken_out(line), over_http=over_http)


def _taken_out(line: Line) -> bool:
    """Whether the status of the upstream is disabled or stopped: a letter counts until a later one with a
    minus sign takes it back.
    """
    there: set[str] = set()
    for _, value in _parameters(line, "status"):
        for sign, flag in _FLAG.findall(value.upper()):
            (there.discard if sign == "-" else there.add)(flag)
    return not there.isdisjoint("DS")


def _upstreams(text: str) -> list[Line]:
    """The lines that name an upstream of HTTP, or set its parameters."""
    return [
        line
        for line in syntax.walk(text)
        if line.name in WORKERS
        and (line.name == "proxyset" or any(_UPSTREAM.match(word.text) for word in line.words))
    ]


def _parameters(line: Line, name: str) -> Iterator[tuple[Word, str]]:
    for word in line.words:
        key, sign, value = word.text.partition("=")
        if sign and key.lower() == name:
            yield word, value


def _read(name: str, value: str) -> Value:
    knob = next(knob for knob in WORKER_KNOBS if knob.name == name)
    if name in ("max", "ttl"):
        return values.integer(name, value)
    said = values.word(name, value, [str(choice).lower() for choice in knob.choices])
    return next(choice for choice in knob.choices if str(choice).lower() == said)
