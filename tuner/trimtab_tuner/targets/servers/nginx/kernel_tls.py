"""Whether the kernel encrypts what nginx sends (kTLS): one of the options that nginx hands on to OpenSSL.

It stands in `ssl_conf_command Options`, among others. A server with a command of its own takes none of those
of the block http (ngx_http_ssl_merge_srv_conf). So it is set in the block http, and in each server with
commands where it has been as in the site that answers the workload.
"""

from collections.abc import Iterator

from trimtab_trials.configuration import Value

from trimtab_tuner.targets.editing import Edit
from trimtab_tuner.targets.servers.nginx import levels, syntax
from trimtab_tuner.targets.servers.nginx.knobs import KTLS
from trimtab_tuner.targets.servers.nginx.syntax import Directive

_COMMAND = "ssl_conf_command"


def line(value: Value) -> str:
    """The directive that says so where there is none."""
    return f"{_COMMAND} Options {'' if value == 'on' else '-'}{KTLS.name};"


def said(tree: list[Directive]) -> str | None:
    """The knob's value in the first site that answers over TLS, or else in the block http; None where nothing
    is said of it.
    """
    http = syntax.find(tree, "http")
    sites = [site for block in http for site in syntax.find(block.block or [], "server")]
    first = [site for site in sites if levels.speaks_tls(site) and levels.answers(site)][:1]
    for block in (*first, *http):
        if commands := _commands(block):
            return _of(commands)
    return None


def edits(tree: list[Directive], value: Value) -> Iterator[Edit]:
    """The file with that value."""
    before = said(tree) or KTLS.default
    if value == before:
        return
    for http in syntax.find(tree, "http"):
        for block in (http, *syntax.find(http.block or [], "server")):
            commands = _commands(block)
            if (_of(commands) or KTLS.default) != before or not (commands or block is http):
                continue
            told = [each for each in commands if each.arguments[0] == "Options"]
            if told:
                start, end = told[-1].spans[2]
                yield start, end, ",".join(_with(told[-1], value))
            else:
                yield block.body_start, block.body_start, f"\n    {line(value)}"


def _commands(block: Directive) -> list[Directive]:
    return [each for each in syntax.find(block.block or [], _COMMAND) if len(each.arguments) == 2]


def _of(commands: list[Directive]) -> str | None:
    """What they say of it; the last one counts."""
    signs = [
        option[0]
        for each in commands
        if each.arguments[0] == "Options"
        for option in _options(each)
        if option.lstrip("+-") == KTLS.name
    ]
    return ("off" if signs[-1] == "-" else "on") if signs else None


def _options(command: Directive) -> list[str]:
    return [option.strip() for option in command.arguments[1].split(",") if option.strip()]


def _with(command: Directive, value: Value) -> list[str]:
    """The options of a command with that of the knob as it is to be."""
    others = [option for option in _options(command) if option.lstrip("+-") != KTLS.name]
    return [*others, KTLS.name if value == "on" else f"-{KTLS.name}"]
