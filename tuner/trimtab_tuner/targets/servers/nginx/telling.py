"""What the user of an nginx.conf is told of it before a run."""

import re
from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.servers.nginx import levels, logs, syntax
from trimtab_tuner.targets.servers.nginx.knobs import BLOCK
from trimtab_tuner.targets.servers.nginx.syntax import Directive
from trimtab_tuner.targets.told import Told

_ASKING = "acme_issuer"
_STARTED = re.compile(r"(init|init_worker|exit_worker)_by_lua(_block|_file)?|js_import|lua_package_path")
_PROGRAMS = {"exec_static", "passenger_root"}
_OF_ALL = re.compile(r"(rewrite|access|header_filter|body_filter|log)_by_lua(_block|_file)?")
_OF_ANSWERS = re.compile(r"(header_filter|body_filter|log|set)_by_lua(_block|_file)?")
_OF_SITES = re.compile(r"\w+_by_lua(_block|_file)?|js_(access|body_filter|content|header_filter)")
_LIMITS = {"limit_conn", "limit_req"}
_CLOSING = {"auth_basic", "auth_request"}
_OF_A_FRAGMENT = {"location", "map", "server", "upstream", "if", "types", "geo"}


def told(text: str) -> Iterator[Told]:
    """In the order of the file, exceptions last."""
    tree = syntax.parse(text)
    if not syntax.find(tree, "http"):
        yield _without_http(tree)
    for directive, above in syntax.walk(tree):
        said = " ".join((directive.name, *directive.arguments))
        if directive.name == "perl" or directive.name.startswith("perl_"):
            yield Told(
                "refused",
                directive.line,
                f"{said}: Perl would run in the measured server too, and what it opens or writes cannot be "
                "seen before; expected the file without it",
            )
        elif directive.name == "listen" and directive.arguments and "$" in directive.arguments[0]:
            yield Told(
                "refused",
                directive.line,
                f"{said}: nginx has no variables in an address, so this is a template that a program fills "
                "in; expected the file that it makes",
            )
        elif directive.name == _ASKING:
            yield Told(
                "refused",
                directive.line,
                f"{said}: the measured server would ask for certificates too; expected the file with "
                "certificates that lie in files (ssl_certificate)",
            )
        elif directive.name in syntax.OTHER_SERVICES and not above and directive.block is not None:
            yield Told(
                "runs",
                directive.line,
                f"{directive.name}: the measured server has these services too, at addresses of its own; the "
                "workload, which speaks HTTP, asks nothing of them",
            )
        elif directive.name in _PROGRAMS:
            yield Told("runs", directive.line, f"{said}: the measured server starts its programs too")
        elif directive.name == "load_module" and not above:
            yield Told("runs", directive.line, f"{said}: the measured server loads it too")
        elif directive.name == "env" and not above and directive.arguments:
            value = "as it stands here" if "=" in directive.arguments[0] else "that of whoever starts Trimtab"
            yield Told("runs", directive.line, f"{said}: its value in the measured server is {value}")
        elif directive.name in _LIMITS and [each.name for each in above] == ["http"]:
            yield Told(
                "runs",
                directive.line,
                f"{said}: it limits the workload too, whose clients have few addresses; a trial in which it "
                "answers with errors is stopped",
            )
        elif [each.name for each in above] == ["http"] and _closes(directive):
            yield Told(
                "runs",
                directive.line,
                f"{said}: it holds for the workload too; a trial in which it answers with errors is stopped",
            )
        elif (
            _STARTED.fullmatch(directive.name)
            or (_OF_ALL.fullmatch(directive.name) and [each.name for each in above] == ["http"])
            or _of_answers(directive, above)
        ):
            yield Told("runs", directive.line, f"{directive.name}: the measured server runs this code too")
    for name, level in levels.of_each(
        tree, (each for each, block in BLOCK.items() if block == "http")
    ).items():
        for directive in level.exceptions:
            said = " ".join((directive.name, *directive.arguments))
            yield Told("stays", directive.line, f"{said} stays: a tuned {name} does not apply there")
    yield from logs.told(tree)
    yield from _code_of_sites(tree)
    yield from _over_quic(tree)
    for server in syntax.find(tree, "http", "server"):
        if levels.speaks_tls(server):
            yield Told("secure", server.line, levels.called(server))


def _of_answers(directive: Directive, above: Sequence[Directive]) -> bool:
    """Whether it is Lua that works on all answers of a site, which the workload's site has too."""
    of_site = [each.name for each in above] == ["http", "server"]
    return of_site and _OF_ANSWERS.fullmatch(directive.name) is not None


def _code_of_sites(tree: list[Directive]) -> Iterator[Told]:
    """Code that decides what a site answers, or a location: one line for all of it."""
    found = [
        directive
        for directive, above in syntax.walk(tree)
        if _OF_SITES.fullmatch(directive.name)
        and any(each.name == "server" for each in above)
        and not _of_answers(directive, above)
    ]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield Told(
            "runs",
            found[0].line,
            f"{found[0].name}{more}: the code stays with the site that has it; the workload, which one more "
            "site answers, does not run it",
        )


def _over_quic(tree: list[Directive]) -> Iterator[Told]:
    """That HTTP/3 is spoken and not measured: one line for all sites."""
    found = [each for each in syntax.find(tree, "http", "server", "listen") if "quic" in each.arguments[1:]]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield Told(
            "runs",
            found[0].line,
            f"listen {' '.join(found[0].arguments)}{more}: the measured server takes QUIC too, at an address "
            "of its own; the workload comes over TCP, so what HTTP/3 costs is not measured",
        )


def _closes(directive: Directive) -> bool:
    """Whether it keeps out all whom nothing else lets in."""
    if directive.name == "deny":
        return directive.arguments == ["all"]
    return directive.name in _CLOSING and directive.arguments != ["off"]


def _without_http(tree: list[Directive]) -> Told:
    """Why a file without a block http is none to measure: a part of one, or of no web server."""
    first = next((directive for directive in tree if directive.name in _OF_A_FRAGMENT), None)
    if first is None:
        return Told(
            "refused",
            1,
            "there is no block http, and so no site that could be measured; expected an nginx.conf with one",
        )
    return Told(
        "refused",
        first.line,
        f"{first.name} outside of a block http: this is a part that an nginx.conf includes; expected that "
        "nginx.conf itself (most often --base /etc/nginx/nginx.conf), whose includes are followed",
        is_part=True,
    )
