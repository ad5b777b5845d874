"""What of a server's file reaches beyond it: files it includes, code it runs, machines it asks.

For a file that somebody sends over the network and that is to be measured as it is: its settings are welcome,
and nothing that they could bring along. The names are those of the servers' documentation.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

from trimtab_tuner.checking.statements import Statement, read
from trimtab_tuner.targets.base import Target

_STANDARD_MODULES = re.compile(r"(/usr/lib/apache2/)?modules/mod_\w+\.so")
_HANDLERS = re.compile(
    r"cgi-script|application/x-httpd-.*|proxy:.*|.*php.*|server-parsed|expr=.*|.*%\{.*", re.IGNORECASE
)
_OTHER_HANDLER = re.compile(r"\[(.*,)?\s*((h|handler)=|(t|type)=application/x-httpd-).*\]", re.IGNORECASE)
_PROGRAM = re.compile(r"\s*\||exec:|prg:|engine:", re.IGNORECASE)
_CONTINUED = re.compile(r"\\\r?\n")
_LIGHTTPD_PROGRAM = re.compile(r"(^|\")\s*(\||\\x7c)", re.IGNORECASE)
_LIGHTTPD_ANOTHER = re.compile(r"([\w.-]+)\s*(?:\+=|:=|=(?!>))")
_LIGHTTPD_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|#[^\n]*")
_LIGHTTPD_MODULES = re.compile(r"\(\s*(\"mod_\w+\"\s*,?\s*)*\)")
_PROXYING = re.compile(r"\[(.*,)?\s*(p|proxy)\s*(,.*)?\]", re.IGNORECASE)

# Programs that are started, and code that is loaded or interpreted.
_RUNS = {
    "core": re.compile(r"(?!)"),
    "nginx": re.compile(r"load_module|env|perl\w*|js_\w+|\w+_by_lua\w*|lua_\w+|ssl_engine|passenger\w*"),
    "apache": re.compile(
        r"loadfile|scriptalias\w*|action|script|perl\w*|lua\w+|wsgi\w+|passenger\w+|fcgid\w+|suexec\w+|"
        r"extfilterdefine|rewritemap|php_\w+|use|macro|.*\$\{.*|sec\w+|defineexternal\w+|addexternal\w+|"
        r"xbithack|sslcryptodevice|include(optional)?"
    ),
    "lighttpd": re.compile(r"(cgi|fastcgi|scgi|magnet|cml|ssi|rrdtool)\..+"),
    "h2o": re.compile(r"fastcgi\..+|mruby\..+|ocsp-update-cmd|crash-handler"),
}
# Machines, and other servers of this one, that are asked.
_ASKS = {
    "core": re.compile(r"(?!)"),
    "nginx": re.compile(r"\w+_pass|auth_http|resolver|ssl_stapling|ssl_ocsp"),
    "apache": re.compile(
        r"proxy\w*|balancermember|sslusestapling|sslocspenable|authldap\w*|dbd\w+|md\w+|jk\w+|"
        r"authnz\w+"
    ),
    "lighttpd": re.compile(r"(proxy|sockproxy|wstunnel|ajp13|vhostdb|mysql-vhost|auth\.backend\.ldap)\..+"),
    "h2o": re.compile(r"proxy\.(reverse\.url|connect|connect-udp)|redis|memcached"),
}
# Files that clients may write.
_TAKES = {
    "nginx": re.compile(r"dav_\w+"),
    "apache": re.compile(r"dav"),
    "lighttpd": re.compile(r"webdav\..+"),
}


Kind = Literal["includes", "runs", "asks", "takes"]


class Reach(NamedTuple):
    """One thing that reaches beyond a file; `said` is how it stands there, in this line."""

    kind: Kind
    said: str
    line: int


def can_be_told(target: Target) -> bool:
    """Whether it is known of files of the target what reaches beyond them."""
    return target.name in _RUNS


def beyond(target: Target, text: str) -> tuple[Reach, ...]:
    """All that reaches beyond a file of such a target, in its order; includes first. Raises RenderError."""
    includes = [
        Reach("includes", include.pattern, text.count("\n", 0, include.start) + 1)
        for include in target.includes(text)
        if include.text is None
    ]
    lines = {each.line for each in includes}
    return (*includes, *(each for each in _said(target, text) if each.line not in lines))


def _said(target: Target, text: str) -> Iterator[Reach]:
    name = target.name
    for said in read(target, text).statements:
        each = _as_apache_reads(said) if name == "apache" else said
        if _loads_or_starts(name, each):
            yield Reach("runs", each.said, each.line)
        elif name == "apache" and _hands_on(each):
            yield Reach("asks", each.said, each.line)
        elif kind := _named(name, each.name):
            yield Reach(kind, each.said, each.line)


def _named(server: str, name: str) -> Kind | None:
    """How a setting of this name reaches beyond the file, whatever its value; None if it does not."""
    if _RUNS[server].fullmatch(name):
        return "runs"
    if _ASKS[server].fullmatch(name):
        return "asks"
    return "takes" if server in _TAKES and _TAKES[server].fullmatch(name) else None


def _as_apache_reads(line: Statement) -> Statement:
    """Without what goes on in the next line in the middle of a word, and without single quotes."""
    plain = [_CONTINUED.sub("", word).strip("'") for word in (line.name, *line.arguments)]
    return replace(line, name=plain[0], arguments=tuple(plain[1:]))


def _loads_or_starts(server: str, line: Statement) -> bool:
    """Programs for logs and keys, in every language; and what a language has beside them."""
    if any(_PROGRAM.match(word) for word in line.arguments):
        return True
    if server == "lighttpd":
        return _of_lighttpd(line)
    return server == "apache" and _of_apache(line)


def _of_lighttpd(line: Statement) -> bool:
    """Modules from elsewhere, programs in a string that is put together, includes whose names are made of
    variables, and a second setting in the same line.
    """
    value = line.first
    if line.name == "server.modules":
        return _LIGHTTPD_MODULES.fullmatch(re.sub(r"#[^\n]*", "", value)) is None
    if line.said.strip().startswith("include") or _LIGHTTPD_PROGRAM.search(value):
        return True
    another = _LIGHTTPD_ANOTHER.findall(_LIGHTTPD_STRING.sub("", value)) if line.name else []
    return any(name == "server.modules" or _named("lighttpd", name) is not None for name in another)


def _of_apache(line: Statement) -> bool:
    """Modules but those that come with Apache, handlers that are programs, and words put in for others."""
    if line.name == "loadmodule":
        return _STANDARD_MODULES.fullmatch("".join(line.arguments[1:2])) is None
    if line.name in ("addtype", "forcetype", "addhandler", "sethandler"):
        return _HANDLERS.fullmatch(line.first) is not None
    if line.name in ("addoutputfilter", "setoutputfilter", "addoutputfilterbytype"):
        return "includes" in line.first.lower().split(";")
    if line.name == "define":
        return len(line.arguments) > 1
    return line.name == "rewriterule" and any(_OTHER_HANDLER.fullmatch(word) for word in line.arguments[2:])


def _hands_on(line: Statement) -> bool:
    return line.name == "rewriterule" and any(_PROXYING.fullmatch(word) for word in line.arguments[2:])
