"""At which level of a user's nginx.conf a knob is set, and which deeper ones are exceptions that stay.

A directive of the block http holds for all servers, but where one of them, or a location, says otherwise. It
is changed in the servers if all that answer set it alike, since only there it takes effect; else in the block
http. What is set elsewhere is an exception. One of proxying is changed where the first location that hands
requests on has it (that for all paths goes first), since the workload's is made of it, and wherever else it
has the same value.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trimtab_tuner.targets.servers.nginx import syntax
from trimtab_tuner.targets.servers.nginx.syntax import Directive

Path = tuple[Directive, ...]
_WELL_KNOWN = ".well-known"
_EVERY_PATH = re.compile(r"\^?/?(\(?\.[*+]\)?\$?)?")
_ELSEWHERE = re.compile(r"https?://|\$scheme://")
_REDIRECTING = (["permanent"], ["redirect"])


class Level(NamedTuple):
    """The directives that are changed, none where it has to be added, and the exceptions."""

    places: Sequence[Directive]
    exceptions: Sequence[Directive]


def level(tree: list[Directive], name: str) -> Level:
    """Where a directive of the block http is to be changed."""
    return of_each(tree, (name,))[name]


def of_each(tree: list[Directive], names: Iterable[str]) -> dict[str, Level]:
    """The same of several by their names; the file is gone through once, however many they are."""
    told: dict[str, list[tuple[Directive, Path]]] = {name: [] for name in names}
    for directive, above in syntax.walk(tree):
        if directive.name in told and directive.block is None and above and above[0].name == "http":
            told[directive.name].append((directive, above))
    users: dict[str, list[Path]] = {}
    found = {}
    for name, places in told.items():
        if not any(len(above) > 1 for _, above in places):
            found[name] = Level([directive for directive, _ in places], ())
            continue
        kind = name.partition("_")[0] if name.startswith(("proxy_", "ssl_")) else ""
        if kind not in users:
            users[kind] = _users(tree, kind)
        found[name] = _level(name, places, users[kind])
    return found


def _level(name: str, told: Sequence[tuple[Directive, Path]], users: Sequence[Path]) -> Level:
    """Where `name` is to be changed, of all places where it is told; `users` are the blocks it is set for."""
    outer = [directive for directive, above in told if len(above) == 1]
    inner = [(directive, above) for directive, above in told if len(above) > 1]
    # What stands below a user holds for a part of it only.
    blocks = {id(block) for user in users for block in user}
    deciding = [(directive, above) for directive, above in inner if id(above[-1]) in blocks]
    alike = len({tuple(directive.arguments) for directive, _ in deciding}) == 1
    around = {id(above[-1]) for _, above in deciding}
    if alike and all(any(id(block) in around for block in user) for user in users):
        places = [directive for directive, _ in deciding]
        if name.startswith("proxy_"):
            said = places[0].arguments
            places = [directive for directive, _ in told if directive.arguments == said]
    else:
        places = outer
    changed = {id(directive) for directive in places}
    return Level(places, [directive for directive, _ in inner if id(directive) not in changed])


def answers(server: Directive) -> bool:
    """Whether a server does more than to send clients elsewhere, by itself or in its location for all paths;
    one more for those who make certificates counts for nothing.
    """
    if _turns_away(server):
        return False
    locations = syntax.find(server.block or [], "location")
    of_all = [each for each in locations if each.arguments[-1:] == ["/"]]
    return not of_all or not all(_turns_away(each) or _WELL_KNOWN in each.arguments[-1] for each in locations)


def _turns_away(block: Directive) -> bool:
    """Whether it answers every request without a file."""
    inside = block.block or []
    if syntax.find(inside, "return"):
        return True
    if any(each.arguments == ["on"] for each in syntax.find(inside, "ssl_reject_handshake")):
        return True  # what keeps strangers out
    for rewrite in syntax.find(inside, "rewrite"):
        path, *to = rewrite.arguments or [""]
        if _EVERY_PATH.fullmatch(path) and (to[1:] in _REDIRECTING or any(map(_ELSEWHERE.match, to[:1]))):
            return True
    return False


def speaks_tls(server: Directive) -> bool:
    """Whether one of its addresses does so, or all do."""
    inside = server.block or []
    if any(each.arguments == ["on"] for each in syntax.find(inside, "ssl")):
        return True
    return any("ssl" in listen.arguments[1:] for listen in syntax.find(inside, "listen"))


def called(server: Directive) -> str:
    """A server by its first name, or else by its first address."""
    inside = server.block or []
    names = [name for each in syntax.find(inside, "server_name") for name in each.arguments]
    listens = [each.arguments[0] for each in syntax.find(inside, "listen") if each.arguments]
    known = [*(name for name in names if name not in ("_", "")), *(f"at {each}" for each in listens)]
    return known[0] if known else ""


def _users(tree: list[Directive], kind: str) -> list[Path]:
    """The blocks for which directives of this kind are set, each with those around it."""
    if kind == "proxy":
        return [*handing_on(tree)][:1]
    found: list[Path] = []
    for directive, above in syntax.walk(tree):
        if directive.block is None or not above or above[0].name != "http":
            continue
        asked = speaks_tls if kind == "ssl" else answers
        if directive.name == "server" and asked(directive):
            found.append((*above, directive))
    return found


def handing_on(tree: list[Directive]) -> list[Path]:
    """The locations that hand requests on, that which the workload's is made of first: one of a site that
    answers, for all paths if there is one.
    """
    handing = [
        (*above, directive)
        for directive, above in syntax.walk(tree)
        if directive.name == "location" and syntax.find(directive.block or [], "proxy_pass")
    ]
    return sorted(
        handing,
        key=lambda path: (
            not any(block.name == "server" and answers(block) for block in path),
            path[-1].arguments != ["/"],
        ),
    )
