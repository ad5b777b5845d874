"""Files that an nginx.conf names: where a path begins that does not begin at the root, and what is read.

nginx looks for certificates and lists of users beside its file, for document roots, modules and files of Lua
under the prefix that it was built with (ngx_conf_full_name() in src/core/ngx_conf_file.c). njs looks for its
modules beside the file, then in the folders of `js_path`.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import NOTHING
from trimtab_tuner.targets.editing import Edit, apply
from trimtab_tuner.targets.servers.nginx import rendering, syntax
from trimtab_tuner.targets.servers.nginx.syntax import Directive

DEBIAN = "/usr/share/nginx"
_BESIDE_THE_FILE = re.compile(
    r"((proxy|grpc|uwsgi)_)?ssl_(certificate|certificate_key|client_certificate|trusted_certificate|crl|"
    r"dhparam|password_file|session_ticket_key|stapling_file)|auth_basic_user_file"
)
_UNDER_THE_PREFIX = re.compile(r"alias|load_module|root|\w+_by_lua_file")
_OF_LUA = {"lua_package_cpath", "lua_package_path"}
_PREFIX = re.compile(r"\$(prefix\b|\{prefix\})")
_NO_FILE = ("/", "$", "data:", "engine:", "store:")  # what such an argument may begin with besides a name


def rooted(text: str, directory: str, _environment: Mapping[str, str] = NOTHING) -> str:
    """The file with the paths made absolute that begin at its directory or at nginx's prefix."""
    edits: list[Edit] = []
    prefix = posixpath.dirname(directory) if posixpath.basename(directory) == "conf" else DEBIAN
    tree = syntax.parse(text)
    for directive, _ in syntax.walk(tree):
        if directive.name in _OF_LUA:
            edits += [
                (directive.start + place.start(), directive.start + place.end(), prefix)
                for place in _PREFIX.finditer(text[directive.start : directive.end])
            ]
            continue
        number = int(directive.name == "set_by_lua_file")  # where the result goes comes first
        named = directive.arguments[number : number + 1]
        if not named or named[0].startswith(_NO_FILE):
            continue
        if _UNDER_THE_PREFIX.fullmatch(directive.name) and directive.block is None:
            begin = prefix
        elif _read_from(directive):
            begin = directory
        else:
            continue
        path = posixpath.join(begin, named[0])
        edits.append((*directive.spans[1 + number], path if "$" in path else rendering.quoted(path)))
    return apply(text, [*edits, *_of_njs(tree, directory)])


def _of_njs(tree: list[Directive], directory: str) -> Iterator[Edit]:
    """The directory of the file as the first in which njs looks for modules, wherever it is said in which:
    the folder of the file itself, the first without being told, is then another one.
    """
    for service in tree:
        if service.block is None or not any(each.name == "js_import" for each, _ in syntax.walk([service])):
            continue
        for block, _ in syntax.walk([service]):
            paths = syntax.find(block.block or [], "js_path")
            # Behind what the file says: nginx is to complain of that first if it lacks njs.
            place = paths[0].start if paths else block.end - 1 if block is service else None
            if place is not None:
                yield place, place, f" js_path {rendering.quoted(directory)}; "


def reads(text: str) -> Sequence[Assignment]:
    """The files that nginx reads as it starts, certificates and keys, by directive; each is a whole word."""
    return [
        Assignment(directive.name, directive.arguments[0], *directive.spans[1])
        for directive, _ in syntax.walk(syntax.parse(text))
        if _read_from(directive) and directive.arguments[0].startswith("/")
    ]


def _read_from(directive: Directive) -> bool:
    """Whether it names a file that is looked for beside nginx's own."""
    named = _BESIDE_THE_FILE.fullmatch(directive.name) is not None and directive.block is None
    return named and len(directive.arguments) == 1 and directive.arguments != ["off"]
