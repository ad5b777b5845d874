"""A user's own nginx.conf."""

import re
from collections.abc import Collection, Mapping, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner import affinity
from trimtab_tuner.targets import values
from trimtab_tuner.targets.base import NOTHING, Excerpt, Include, RenderContext, RenderError
from trimtab_tuner.targets.editing import Edit, apply
from trimtab_tuner.targets.servers.nginx import kernel_tls, levels, logs, proxying, rendering, syntax
from trimtab_tuner.targets.servers.nginx.knobs import BLOCK, KEEPALIVE, KTLS
from trimtab_tuner.targets.servers.nginx.syntax import Directive

LISTEN_OPTIONS = {"backlog", "reuseport"}
# Those of the socket itself (ngx_http_core_listen() sets `lsopt.set`).
_OPTION = re.compile(
    r"(accept_filter|backlog|fastopen|ipv6only|rcvbuf|setfib|sndbuf|so_keepalive)=.*|bind|deferred|multipath|"
    r"reuseport"
)
_FURTHER = re.compile(r"(accept_filter|fastopen|rcvbuf|sndbuf|so_keepalive)=.*|deferred|multipath")
_INDENT = "    "
_TIMES = {"keepalive_timeout", "proxy_connect_timeout", "proxy_read_timeout"}
# What the argument begins with that is the value, of directives that may have others.
_VALUE_BEGINS = {
    "keepalive_timeout": "",
    "open_file_cache": "max=",
    "ssl_session_cache": "shared:",
    "thread_pool": "threads=",
}


def includes(text: str, _known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
    """Every `include`, wherever it stands; a pattern need not match a file."""
    found: list[Include] = []

    def look(directives: list[Directive]) -> None:
        for directive in directives:
            if directive.name == "include" and len(directive.arguments) == 1:
                pattern = directive.arguments[0]
                optional = any(sign in pattern for sign in "*?[")
                found.append(Include(directive.start, directive.end, pattern, optional))
            look(directive.block or [])

    look(syntax.parse(text))
    return found


def changed(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """Directives are replaced where they stand, or added at the beginning of their block."""
    tree = syntax.parse(text)
    lines = _lines(configuration, knobs, context)
    workers = configuration.get("worker_processes")  # a text is for the server to judge
    if "worker_processes" in lines and isinstance(workers, int) and _too_few_masks(tree, workers):
        lines["worker_cpu_affinity"] = "worker_cpu_affinity auto;"
    edits: list[Edit] = []
    added: dict[str, list[str]] = {}
    for name, line in lines.items():
        block = BLOCK.get(name, "")
        places = _places(tree, block, name)
        edits += [_rewritten(tree, place, line, places) for place in places]
        if not places:
            added.setdefault(block, []).append(line)
    for block, new in added.items():
        edits.append(_insertion(text, tree, block, new))
    if LISTEN_OPTIONS & set(knobs):
        edits += _listen_edits(tree, configuration, knobs)
    if logs.BUFFER.name in knobs:
        edits += logs.edits(tree, configuration)
    if KTLS.name in knobs:
        edits += kernel_tls.edits(tree, configuration[KTLS.name])
    return apply(text, [*edits, *proxying.edits(text, tree, configuration, knobs)])


def excerpt(configuration: Configuration, knobs: Collection[str], context: RenderContext) -> Excerpt:
    """Directives with the block they belong to."""
    parts: list[tuple[tuple[str, ...], str]] = []
    for name, line in _lines(configuration, knobs, context).items():
        if line:
            where = BLOCK.get(name, "") or "main, outside of all blocks"
            own = "thread_pool_threads" if name == "thread_pool" else name
            parts.append(((own,), f"# in: {where}\n{line}\n"))
    if KEEPALIVE.name in knobs:
        line = f"keepalive {configuration[KEEPALIVE.name]};"
        parts.append(
            ((KEEPALIVE.name,), f"# in each upstream, at its end\n{line}\n{rendering.REUSED_CONNECTION}")
        )
    if KTLS.name in knobs:
        said = kernel_tls.line(configuration[KTLS.name])
        parts.append(((KTLS.name,), f"# in: http, and each server with a command of its own\n{said}\n"))
    if LISTEN_OPTIONS & set(knobs):
        options = rendering.listen_options(configuration).strip()
        parts.append((("backlog", "reuseport"), f"# options of listen: {options}\n"))
    if logs.BUFFER.name in knobs:
        size = int(configuration[logs.BUFFER.name])
        said = logs.options(size) if size else "neither buffer nor flush"
        parts.append(((logs.BUFFER.name,), f"# options of access_log, behind path and format: {said}\n"))
    return parts


def _lines(configuration: Configuration, knobs: Collection[str], context: RenderContext) -> dict[str, str]:
    """Directive by knob, for those of the knobs that are directives of their own."""
    written = set(knobs)
    if written & set(proxying.BUFFERS):
        written |= set(proxying.BUFFERS)  # all buffers of a reply have one size
    settings = rendering.settings(configuration, context)
    lines = {name: line for name, line in settings.items() if name in written}
    if "worker_cpu_affinity" in knobs:
        # Which CPUs there are is the business of the machine that the file is for.
        pinned = affinity.pins_workers(configuration["worker_cpu_affinity"])
        lines["worker_cpu_affinity"] = "worker_cpu_affinity auto;" if pinned else ""
    if "thread_pool_threads" in knobs:
        threads = configuration["thread_pool_threads"]
        lines["thread_pool"] = f"thread_pool default threads={threads} max_queue=65536;"
    return lines


def _rewritten(tree: list[Directive], directive: Directive, line: str, alike: Collection[Directive]) -> Edit:
    """The directive with the value that the line has, as have those that are `alike`: what else stands in it
    is no part of the knob, and stays.
    """
    whole = (directive.start, directive.end, line)
    begins = _VALUE_BEGINS.get(directive.name)
    if begins is None and len(directive.arguments) != 1:
        return whole
    said = line.removesuffix(";").split()[1:]
    value = next((each for each in said if each.startswith(begins or "")), None)
    place = next((n for n, each in enumerate(directive.arguments) if each.startswith(begins or "")), None)
    if value is None or place is None or (begins is None and len(said) != 1):
        return whole
    there = directive.arguments[place]
    if there.startswith(f"{value}=") or _is_same_time(directive.name, there, value):
        return (directive.start, directive.start, "")  # the name of a pool of threads, or 500ms for 1s
    if directive.name == "ssl_session_cache":
        name = there.split(":")[1]
        if name in _caches_of_others(tree, alike):
            return whole
        value = f"shared:{name}:{value.rpartition(':')[2]}"
    return (*directive.spans[1 + place], value)


def _is_same_time(name: str, there: str, value: str) -> bool:
    """Whether the file has that time already, in its own words."""
    return name in _TIMES and values.seconds(name, there) == values.seconds(name, value)


def _caches_of_others(tree: list[Directive], alike: Collection[Directive]) -> set[str]:
    """The names of caches of sessions that stay as they are: nginx takes one size for each name."""
    return {
        each.split(":")[1]
        for directive, _ in syntax.walk(tree)
        if directive.name == "ssl_session_cache" and directive not in alike
        for each in directive.arguments
        if each.startswith("shared:")
    }


def _too_few_masks(tree: list[Directive], workers: int) -> bool:
    """Whether the file has masks for some of so many workers: all others would share the last one's CPU."""
    told = syntax.find(tree, "worker_cpu_affinity")
    return bool(told) and "auto" not in told[-1].arguments and 1 < len(told[-1].arguments) < workers


def _places(tree: list[Directive], block: str, name: str) -> list[Directive]:
    """Where the directive is changed; exceptions at deeper levels stay."""
    if name == "thread_pool":
        return [d for d in syntax.find(tree, name) if d.arguments[:1] == ["default"]]
    if block == "":
        return syntax.find(tree, name)
    if block == "http":
        return [*levels.level(tree, name).places]
    return syntax.find(tree, block, name)


def _insertion(text: str, tree: list[Directive], block: str, lines: list[str]) -> Edit:
    present = [line for line in lines if line]
    if block == "":
        return (0, 0, "".join(line + "\n" for line in present))
    blocks = syntax.find(tree, block)
    if not blocks:
        body = "".join(f"{_INDENT}{line}\n" for line in present)
        return (len(text), len(text), f"\n{block} {{\n{body}}}\n")
    place = blocks[0].body_start
    return (place, place, "".join(f"\n{_INDENT}{line}" for line in present))


def _listen_edits(tree: list[Directive], configuration: Configuration, knobs: Collection[str]) -> list[Edit]:
    """Options of `listen`, which nginx takes at one mention of each address: at that which has some, or else
    at the first.
    """
    edits: list[Edit] = []
    places: dict[str, Directive] = {}
    for listen in listens(tree):
        there = places.setdefault(socket_of(listen.arguments[0]), listen)
        if _has_options(listen) and not _has_options(there):
            places[socket_of(listen.arguments[0])] = listen
    for listen in listens(tree):
        for (start, end), argument in zip(listen.spans[1:], listen.arguments, strict=True):
            option = argument.partition("=")[0]
            if option in ("backlog", "reuseport") and option in knobs:
                edits.append((start - 1, end, ""))
        options = rendering.listen_options(configuration).split()
        wanted = [option for option in options if option.partition("=")[0] in knobs]
        if wanted and listen is places[socket_of(listen.arguments[0])]:
            # Behind the address, since the last word may be followed by anything.
            place = listen.spans[1][1]
            edits.append((place, place, "".join(f" {option}" for option in wanted)))
    if not places:
        raise RenderError(
            "listen: the file has no such directive to carry backlog and reuseport; expected one in a server"
        )
    return edits


def further_options(tree: list[Directive], server: Directive, *, secure: bool) -> str:
    """What else a server's first address says of its socket, wherever in the file, with a space before each:
    all that is no knob, nor of production's network.
    """
    own = [each for each in listens(tree) if each in (server.block or [])]
    own.sort(key=lambda each: ("ssl" in each.arguments) is not secure)
    address = socket_of(own[0].arguments[0]) if own else None
    same = (each for each in listens(tree) if socket_of(each.arguments[0]) == address)
    said = (option for each in same for option in each.arguments[1:] if _FURTHER.fullmatch(option))
    return "".join(f" {option}" for option in said)


def _has_options(listen: Directive) -> bool:
    """Whether it has some of those that nginx takes only once for an address."""
    return any(_OPTION.fullmatch(argument) for argument in listen.arguments[1:])


def listens(tree: list[Directive]) -> list[Directive]:
    """The directives `listen` of sites whose clients come over TCP: not those of QUIC, nor of a path."""
    found = syntax.find(tree, "http", "server", "listen")
    return [each for each in found if each.arguments and not _is_other(each)]


def _is_other(listen: Directive) -> bool:
    return listen.arguments[0].startswith("unix:") or "quic" in listen.arguments


def socket_of(address: str) -> str:
    """The address as nginx understands it: a port alone is on all addresses, an address alone has port 80."""
    host, colon, port = address.rpartition(":")
    if address.isdecimal():
        host, port = "", address
    elif not colon or address.endswith("]"):
        host, port = address, "80"
    return f"{'0.0.0.0' if host in ('', '*') else host}:{port}"  # noqa: S104 - compared, never bound
