"""A second nginx beside the one that carries real traffic.

A master that finds descriptors in the variable NGINX takes those sockets for its `listen` lines by their
addresses: that is how nginx hands them to a new binary (nginx's src/core/nginx.c,
ngx_add_inherited_sockets()).
"""

from collections.abc import Iterator, Mapping, Sequence
from signal import Signals

from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.targets.beside import Beside, Inherited, Place, StatusPage
from trimtab_tuner.targets.editing import Edit, apply
from trimtab_tuner.targets.log_formats import FORMATS
from trimtab_tuner.targets.servers.nginx import private, rendering, syntax
from trimtab_tuner.targets.servers.nginx.syntax import Directive

# What the second one does not do: it serves HTTP and logs every reply in our format.
_OWN = private.OF_EACH | {"access_log", "error_log", "mail", "stream"}


def _file(text: str, place: Place) -> str:
    """Production's file, with pid, logs and temporary files of its own."""
    tree = syntax.parse(text)
    http = private.http_block(tree)
    main = (
        f"pid {rendering.quoted(place.directory + '/nginx.pid')};\n"
        f"error_log {rendering.quoted(place.directory + '/error.log')};\n"
    )
    log = FORMATS["nginx"].settings.replace("PATH", rendering.quoted(place.access_log))
    own = "\n" + log + rendering.temporary_paths(place.directory)
    edits = [*_left_out(tree), (0, 0, main), (http.body_start, http.body_start, own)]
    return apply(text, edits)


def _left_out(directives: Sequence[Directive]) -> Iterator[Edit]:
    for directive in directives:
        if directive.name in private.CACHES:
            raise RenderError(
                f"line {directive.line}: {directive.name}: two servers cannot share the directory of a cache"
            )
        if directive.name in _OWN or _listens_elsewhere(directive):
            yield directive.start, directive.end, ""
        else:
            yield from _left_out(directive.block or [])


def _listens_elsewhere(directive: Directive) -> bool:
    """Whether it is a `listen` that needs no TCP socket, or a server with no other."""
    if directive.name == "listen":
        return directive.arguments[:1] != [] and directive.arguments[0].startswith("unix:")
    listens = syntax.find(directive.block or [], "listen") if directive.name == "server" else []
    return bool(listens) and all(map(_listens_elsewhere, listens))


def _environment(sockets: Sequence[Inherited]) -> Mapping[str, str]:
    return {"NGINX": "".join(f"{each.descriptor};" for each in sockets)}


def _check_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-t", "-q", "-c", file)


def _start_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-c", file, "-g", "daemon off;")


def _status_pages(text: str) -> list[StatusPage]:
    """Locations with stub_status, by a path and not by a pattern."""
    pages = []
    for directive, above in syntax.walk(syntax.parse(text)):
        location = above[-1] if above else None
        if directive.name != "stub_status" or location is None or not location.arguments:
            continue
        path, server = location.arguments[-1], above[-2] if len(above) > 1 else location
        if path.startswith("/") and not location.arguments[0].startswith("~"):
            names = syntax.find(server.block or [], "server_name")
            host = next((name for each in names for name in each.arguments if name[0].isalnum()), "localhost")
            pages.append(StatusPage(path, host))
    return pages


BESIDE = Beside(
    status_pages=_status_pages,
    file=_file,
    environment=_environment,
    check_command=_check_command,
    start_command=_start_command,
    quit_signal=Signals.SIGQUIT,
    reload_signal=Signals.SIGHUP,
)
