"""A user's own lighttpd.conf: what is read in it, and what is changed.

Settings are read and changed outside of conditions, but for what proxying and TLS say: that stands in sites.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values, with_values
from trimtab_tuner.targets.base import NOTHING, Excerpt, Include, RenderContext
from trimtab_tuner.targets.editing import Edit, apply, single_lines
from trimtab_tuner.targets.servers.lighttpd import rendering, syntax
from trimtab_tuner.targets.servers.lighttpd.knobs import BUFFERING, KNOBS, TICKETS, WAITS

_INCLUDE = re.compile(r"include(?P<shell>_shell)?\s+(?P<said>.+)\Z", re.DOTALL)
_TERM = re.compile(rf"\s*\+?\s*(?:(?P<string>{syntax.STRING})|(?P<number>\d+)|(?P<name>[A-Za-z][\w.-]*))\s*")
_ESCAPED = re.compile(r"\\([\"\\])")
_OPTIONS = re.compile(r'"Options"\s*=>\s*"([^"]*)"')
COMMANDS = "ssl.openssl.ssl-conf-cmd"
_READ = re.compile(
    r"ssl\.(pemfile|privkey|ca-file|ca-dn-file|ca-crl-file|dh-file|stapling-file)|auth\..*file"
)


def parse(text: str) -> Configuration:
    """The knobs that a lighttpd.conf sets outside of conditions."""
    said = last_evaluated(text)
    found: Configuration = {}
    for knob in KNOBS:
        if knob.name not in said:
            continue
        value = said[knob.name].strip().strip('"')
        if isinstance(knob.default, int) or knob.name == "server.max-fds":
            found[knob.name] = values.integer(knob.name, value)
        else:
            value = {"linux-sendfile": "sendfile", "epoll": "linux-sysepoll"}.get(value, value)
            found[knob.name] = values.word(knob.name, value, knob.choices)
    return found


def parse_tls(text: str) -> Configuration:
    """Whether clients get tickets, as the last commands to OpenSSL say it."""
    told = [match[1] for _, match in _options(text)]
    return {TICKETS.name: "off" if "-SessionTicket" in told[-1] else "on"} if told else {}


def parse_proxy(text: str) -> Configuration:
    """How replies of upstreams are taken, and the times of the last upstream that has such."""
    found: Configuration = {}
    buffering = last_evaluated(text).get(BUFFERING.name)
    if buffering is not None:
        found[BUFFERING.name] = values.integer(BUFFERING.name, buffering)
    for upstreams in _upstreams(text):
        for knob in WAITS:
            for match in _wait(knob.name).finditer(upstreams.text):
                found[knob.name] = values.integer(knob.name, match[1])
    return found


def includes(text: str, known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
    """Every `include` and `include_shell` of which the name or command is known, in conditions too."""
    found = []
    said = dict(known)
    for statement in syntax.walk(text):
        if (match := _INCLUDE.match(statement.text)) is not None:
            pattern = _evaluated(match["said"], said)
            shell = match["shell"] is not None
            if pattern is not None:
                optional = shell or "*" in pattern
                found.append(Include(statement.start, statement.end, pattern, optional, is_command=shell))
        else:
            _define(statement, said)
    return found


def defined(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """The settings outside of conditions that are known behind this text, as they are evaluated."""
    said = dict(known)
    for statement in syntax.walk(text):
        _define(statement, said)
    return said


def last_evaluated(text: str) -> dict[str, str]:
    """The last value of each setting outside of conditions: evaluated if that can be, else as it stands."""
    return last_values(syntax.assignments(text)) | defined(text, {})


def _define(statement: syntax.Statement, said: dict[str, str]) -> None:
    setting = statement.setting
    if statement.depth or setting is None:
        return
    value = _evaluated(setting[2].strip(), said)
    if setting[1] == "+=":
        value = None if value is None or setting[0] not in said else said[setting[0]] + value
    if value is None:
        said.pop(setting[0], None)
    else:
        said[setting[0]] = value


def _evaluated(expression: str, said: Mapping[str, str]) -> str | None:
    """What strings, numbers and settings joined by `+` come to; None for anything else."""
    words: list[str] = []
    for match in _TERM.finditer(expression):
        name = match["name"]
        if match["string"] is not None:
            words.append(_ESCAPED.sub(r"\1", match["string"][1:-1]))
        elif match["number"] is not None:
            words.append(match["number"])
        elif name in said or f"var.{name}" in said:  # a variable may be named without its var.
            words.append(said[name] if name in said else said[f"var.{name}"])
        else:
            return None
    return "".join(words) if "".join(m[0] for m in _TERM.finditer(expression)) == expression else None


def reads(text: str) -> Sequence[Assignment]:
    """Certificates, keys and lists of users, each a whole string."""
    return [
        Assignment(statement.name, value[1:-1], start + 1, end - 1)
        for statement in syntax.walk(text)
        if _READ.fullmatch(statement.name) is not None
        and (value := text[(start := statement.value_place[0]) : (end := statement.end)]).startswith('"/')
        and value.count('"') == 2
        and value.endswith('"')
    ]


def rooted(text: str, _directory: str, environment: Mapping[str, str] = NOTHING) -> str:
    """The file with the names of certificates, keys and lists of users as whole strings, which may be made of
    others.
    """
    said = dict(environment)
    edits: list[Edit] = []
    for statement in syntax.walk(text):
        start, end = statement.value_place
        if _READ.fullmatch(statement.name) and not text[start:end].startswith('"/'):
            path = _evaluated(text[start:end].strip(), said)
            if path is not None and path.startswith("/"):
                edits.append((start, end, syntax.quoted(path)))
        _define(statement, said)
    return apply(text, edits)


def changed(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """Settings are replaced where they stand, or added at the end."""
    del context
    text = apply(text, list(_of_sites(text, configuration, knobs)))
    said = {name: value for name, value in rendering.settings(configuration).items() if name in knobs}
    if TICKETS.name in knobs and not any(each.name == COMMANDS for each in syntax.walk(text)):
        said[COMMANDS] = f'( "Options" => "{_ticket(configuration)}" )'
    return with_values(text, syntax.assignments(text), said, joint=" = ")


def excerpt(configuration: Configuration, knobs: Collection[str], context: RenderContext) -> Excerpt:
    """Each setting on its line; times of an upstream are options of it."""
    lines = single_lines(changed("", configuration, knobs, context), configuration)
    waits = [
        (knob.name, f'"{knob.name}" => {configuration[knob.name]}') for knob in WAITS if knob.name in knobs
    ]
    return [*lines, *(((name,), f"# in each host of proxy.server\n{line}\n") for name, line in waits)]


def commands(text: str) -> str:
    """What the file first says to OpenSSL, as a line; "" if it says nothing."""
    found = next((each for each in syntax.walk(text) if each.name == COMMANDS), None)
    return "" if found is None else found.text + "\n"


def _of_sites(text: str, configuration: Configuration, knobs: Collection[str]) -> Iterator[Edit]:
    if TICKETS.name in knobs:
        yield from _ticket_edits(text, configuration)
    for upstreams in _upstreams(text):
        for knob in WAITS:
            if knob.name not in knobs:
                continue
            there = list(_wait(knob.name).finditer(upstreams.text))
            value = str(configuration[knob.name])
            for match in there:
                yield upstreams.start + match.start(1), upstreams.start + match.end(1), value
            if not there:
                for host in re.finditer(r'"host"\s*=>\s*"[^"]*"', upstreams.text):
                    place = upstreams.start + host.end()
                    yield place, place, f', "{knob.name}" => {value}'


def _ticket_edits(text: str, configuration: Configuration) -> Iterator[Edit]:
    """The option in every list of commands to OpenSSL, beside its others."""
    listed = {place for place, _ in _options(text)}
    for place, match in _options(text):
        others = [word for word in match[1].split(",") if word.strip().lstrip("+-") != TICKETS.name]
        said = ",".join((*filter(None, others), _ticket(configuration)))
        yield place + match.start(1), place + match.end(1), said
    for statement in syntax.walk(text):
        if statement.name == COMMANDS and statement.start not in listed and "(" in statement.text:
            behind = statement.start + statement.text.index("(") + 1
            yield behind, behind, f' "Options" => "{_ticket(configuration)}",'


def _ticket(configuration: Configuration) -> str:
    return TICKETS.name if configuration[TICKETS.name] == "on" else f"-{TICKETS.name}"


def _options(text: str) -> list[tuple[int, re.Match[str]]]:
    """The options in each list of commands to OpenSSL, with where the list begins."""
    return [
        (statement.start, match)
        for statement in syntax.walk(text)
        if statement.name == COMMANDS and (match := _OPTIONS.search(statement.text)) is not None
    ]


def _upstreams(text: str) -> list[syntax.Statement]:
    return [statement for statement in syntax.walk(text) if statement.name == "proxy.server"]


def _wait(name: str) -> re.Pattern[str]:
    return re.compile(rf'"{name}"\s*=>\s*(\d+)')
