"""What a user's nginx.conf hands requests on to: servers of upstreams, and addresses named at once."""

from collections.abc import Hashable, Iterator, Sequence

from trimtab_tuner.targets.behind import Upstream, upstream_at, with_others
from trimtab_tuner.targets.servers.nginx import syntax
from trimtab_tuner.targets.servers.nginx.syntax import Directive

_PASSES = {f"{kind}_pass" for kind in ("fastcgi", "grpc", "memcached", "proxy", "scgi", "uwsgi")}


def upstreams(text: str) -> Sequence[Upstream]:
    """The addresses, in the order of the file; what variables decide is none."""
    return with_others(_upstreams(text, syntax.parse(text)))


def _upstreams(text: str, tree: list[Directive]) -> Iterator[tuple[Hashable, Upstream]]:
    """Each with the block that it shares with others, None where it has none."""
    blocks = (each for each, _ in syntax.walk(tree) if each.name == "upstream" and each.block is not None)
    named = {name for each in blocks for name in each.arguments[:1]}
    otherwise = _asked_otherwise(tree)
    for directive, above in syntax.walk(tree):
        if not directive.arguments or directive.block is not None:
            continue
        of = above[-1] if above else None
        is_server = directive.name == "server" and of is not None and of.name == "upstream"
        if not is_server and directive.name not in _PASSES:
            continue
        start, end = directive.spans[1]
        quote = text[start] in "\"'"
        setting = " ".join(("upstream", *of.arguments)) if is_server and of is not None else directive.name
        found = upstream_at(setting, text[start + quote : end - quote], start + quote, "80")
        if found is not None and (is_server or text[found.start : found.end] not in named):
            beside = directive.arguments[1:] if is_server else []
            yield (
                (id(of) if is_server else None),
                found._replace(
                    used="down" not in beside,
                    resolved_later="resolve" in beside,
                    over_http=_speaks_http(above)
                    and (
                        of.arguments[0] not in otherwise
                        if is_server and of is not None and of.arguments
                        else directive.name == "proxy_pass"
                    ),
                ),
            )


def _speaks_http(above: Sequence[Directive]) -> bool:
    """Whether what stands in these blocks is of a site, and not of another service beside it."""
    return not above or above[0].name not in syntax.OTHER_SERVICES


def _asked_otherwise(tree: list[Directive]) -> set[str]:
    """The names of those that are only asked over other protocols than HTTP."""
    by_http: dict[str, bool] = {}
    for directive, _ in syntax.walk(tree):
        if directive.name in _PASSES and directive.arguments:
            name = directive.arguments[0].rpartition("://")[2].partition("/")[0]
            by_http[name] = by_http.get(name, False) or directive.name == "proxy_pass"
    return {name for name, asked in by_http.items() if not asked}
