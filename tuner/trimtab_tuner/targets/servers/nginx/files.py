"""Files that an nginx.conf names: where a path begins that does not begin at the root, and what is read.

nginx looks for certificates and lists of users beside its file, for document roots and modules under the
prefix that it was built with (ngx_conf_full_name() in src/core/ngx_conf_file.c).
"""

import posixpath
import re
from collections.abc import Mapping, Sequence

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
_UNDER_THE_PREFIX = {"alias", "load_module", "root"}
_NO_FILE = ("/", "$", "data:", "engine:", "store:")  # what such an argument may begin with besides a name


def rooted(text: str, directory: str, _environment: Mapping[str, str] = NOTHING) -> str:
    """The file with the paths made absolute that begin at its directory or at nginx's prefix."""
    edits: list[Edit] = []
    for directive, _ in syntax.walk(syntax.parse(text)):
        if not directive.arguments or directive.arguments[0].startswith(_NO_FILE):
            continue
        if directive.name in _UNDER_THE_PREFIX:
            begin = posixpath.dirname(directory) if posixpath.basename(directory) == "conf" else DEBIAN
        elif _read_from(directive):
            begin = directory
        else:
            continue
        path = posixpath.join(begin, directive.arguments[0])
        edits.append((*directive.spans[1], path if "$" in path else rendering.quoted(path)))
    return apply(text, edits)


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
