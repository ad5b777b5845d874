"""At which level of a user's apache2.conf a knob is set, and which deeper ones are exceptions that stay.

What is set outside of virtual hosts holds for all of them, but where one says otherwise. A knob is changed in
the virtual hosts if all that answer set it alike, since only there it takes effect; else outside of them.
What is set elsewhere is an exception.
"""

from collections.abc import Sequence

from trimtab_tuner.targets.servers.apache.knobs import BY_NAME
from trimtab_tuner.targets.servers.apache.syntax import Line

_REDIRECTING = {"redirect", "redirectpermanent", "redirectmatch"}


def answering(lines: Sequence[Line]) -> list[int]:
    """The numbers of the virtual hosts that do more than to send clients elsewhere."""
    of_site: dict[int, set[str]] = {line.site: set() for line in lines if line.site}
    for line in lines:
        if line.site and line.of_site:
            of_site[line.site].add(line.name)
    return [
        site for site, names in sorted(of_site.items()) if not names & _REDIRECTING or "documentroot" in names
    ]


def secure(lines: Sequence[Line]) -> set[int]:
    """The numbers of the virtual hosts that speak TLS."""
    said = (line for line in lines if line.name == "sslengine" and line.site and line.of_site)
    return {line.site for line in said if line.words and line.words[0].text.lower() != "off"}


def called(lines: Sequence[Line]) -> dict[int, str]:
    """What each virtual host that has a name is called, by its number."""
    found: dict[int, str] = {}
    for line in lines:
        if line.name == "servername" and line.site and line.words:
            found.setdefault(line.site, line.words[0].text)
    return found


def in_sites(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines by which all virtual hosts that answer set a knob alike, by its name in small letters."""
    sites = {*answering(lines)}
    told: dict[str, list[Line]] = {}
    for line in lines:
        if line.name in BY_NAME and line.site in sites and _whole(line):
            told.setdefault(line.name, []).append(line)
    return {
        name: said
        for name, said in told.items()
        if len({line.words[0].text.lower() for line in said}) == 1 and {line.site for line in said} == sites
    }


def exceptions(lines: Sequence[Line]) -> list[Line]:
    """The lines of knobs that stay as they are."""
    changed = {line.start for said in in_sites(lines).values() for line in said}
    deeper = (line for line in lines if line.is_directive and line.name in BY_NAME and line.words)
    return [line for line in deeper if not (line.site == 0 and line.of_site) and line.start not in changed]


def _whole(line: Line) -> bool:
    return line.is_directive and line.of_site and bool(line.words)
