"""Which line of a server's file probably answers clients with a status in place of what they ask for."""

import re
from typing import NamedTuple

_BEHIND = "502|503|504"
_SUSPECTS = {
    "nginx": (
        ("503|429", r"limit_req|limit_conn"),
        ("403", r"deny|allow|internal|satisfy"),
        ("401", r"auth_basic|auth_request"),
        (r"30\d", r"return\s+30\d|rewrite|return\s+https?:"),
        ("404", r"try_files|root|alias|return\s+404"),
        (_BEHIND, r"proxy_pass|fastcgi_pass|uwsgi_pass|grpc_pass|return\s+50\d"),
        ("413|414|400", r"client_max_body_size|large_client_header_buffers"),
        (r"4\d\d|5\d\d", r"return\s+[45]\d\d|error_page"),
    ),
    "apache": (
        ("403|404|410", r"Redirect\w*\s+(?:4\d\d|gone)"),
        ("403", r"Require|Deny|Order|Options"),
        ("401", r"AuthType|Require"),
        (r"30\d", r"Redirect\w*(?!\w|\s+4\d\d)|RewriteRule"),
        ("404", r"DocumentRoot|Alias\w*|RewriteRule"),
        (_BEHIND, r"ProxyPass\w*|BalancerMember|QS_\w+|DOS\w+"),
    ),
    "lighttpd": (
        ("403", r"url\.access-deny|evasive\.[\w-]+"),
        ("401", r"auth\.require"),
        (r"30\d", r"url\.redirect"),
        ("404", r"server\.document-root|url\.rewrite[\w-]*|alias\.url"),
        ("503", r"evasive\.[\w-]+|proxy\.server|fastcgi\.server"),
        (_BEHIND, r"proxy\.server|fastcgi\.server|scgi\.server"),
    ),
    "h2o": (
        (r"30\d", r"redirect"),
        ("404", r"file\.dir|file\.file"),
        (_BEHIND, r"proxy\.reverse\.url|fastcgi\.connect|throttle-response"),
        (r"40[13]", r"mruby\.handler[\w-]*|acl"),
    ),
}


class Suspect(NamedTuple):
    """A line of the file, from 1, and what it says."""

    line: int
    text: str


def suspect(target: str, status: str, text: str) -> Suspect | None:
    """The first line of the file that is known to answer with the status; None where none is."""
    for statuses, names in _SUSPECTS.get(target, ()):
        if re.fullmatch(statuses, status) is None:
            continue
        pattern = re.compile(rf"^[^#\n]*?(?<![\w.$-])(?P<said>(?:{names})(?![\w-])[^\n;]*)", re.MULTILINE)
        if (found := pattern.search(text)) is not None:
            return Suspect(text.count("\n", 0, found.start("said")) + 1, found["said"].strip())
    return None
