"""Which server a configuration file is for, as far as the first words of its lines tell."""

import re

_KINDS = {
    "nginx": r"^\s*(http|events|stream|upstream\s+\S+|server|location\s+\S+)\s*\{",
    "apache": r"^\s*(<(VirtualHost|Directory|IfModule|Location|Files)\w*\b|(Listen|LoadModule|ServerRoot|"
    r"DocumentRoot|RewriteEngine|ThreadsPerChild|ServerLimit|KeepAliveTimeout)\s+\S)",
    "lighttpd": r"^\s*(server\.[a-z-]+\s*[+:]?=|\$(HTTP|SERVER)\[)",
    "h2o": r"^(hosts|listen|num-threads|max-connections|http2-[\w-]+)\s*:",
    "core": r"^\s*\[server\]\s*$(?=[\s\S]*^\s*(workers|root|architecture|listen)\s*=)",
    "mariadb": r"^\s*(\[(mysqld|mariadbd?|client|galera)\]|!includedir\s)",
    "a Caddyfile": r"^\s*(reverse_proxy|file_server|php_fastcgi|encode\s+gzip)\b(?!.*;)",
    "a haproxy.cfg": r"^(frontend|backend|defaults)\b(?!.*[{;])",
}
_PATTERNS = {kind: re.compile(pattern, re.MULTILINE) for kind, pattern in _KINDS.items()}
_CALLED = {
    "nginx": "an nginx.conf", "apache": "an apache2.conf", "lighttpd": "a lighttpd.conf", "h2o": "a h2o.conf",
    "core": "a file of trimtab-httpd", "mariadb": "an option file of MariaDB",
}  # fmt: skip


_TEMPLATE = re.compile(
    r"^\s*(\{%|<%|%%\w+%%)|\{\{-? *[.$]?\w[^{}\n]*-?\}\}|<%=|^\s*\{\{", re.MULTILINE
)  # of Jinja, ERB, Go and their like


def template_line(text: str) -> int | None:
    """The first line that looks like one of a template, of which a program makes the file; None without."""
    found = _TEMPLATE.search(text)
    return None if found is None else text.count("\n", 0, found.end()) + 1


def other_kind(text: str, target: str) -> str:
    """What a file looks like, if that is not what the target's files do: "this looks like an nginx.conf"; ""
    where it may be one of the target's.
    """
    if target in _PATTERNS and _PATTERNS[target].search(text):
        return ""
    kind = _most_like(text)
    if kind is None:
        return ""
    hint = f": --target {kind}" if kind in _CALLED else ", a server that Trimtab does not tune"
    return f"this looks like {_CALLED.get(kind, kind)}{hint}"


def kind_of(text: str) -> tuple[str, str]:
    """The target that a file is for by its text, and what it is called: "lighttpd", "a lighttpd.conf".

    The first is empty where Trimtab does not tune that server, both where nothing tells.
    """
    kind = _most_like(text)
    if kind is None:
        return "", ""
    return (kind, _CALLED[kind]) if kind in _CALLED else ("", kind)


def _most_like(text: str) -> str | None:
    """The kind of which most lines are; None without any."""
    found = {kind: len(pattern.findall(text)) for kind, pattern in _PATTERNS.items()}
    kind = max(found, key=lambda each: found[each])
    return kind if found[kind] else None
