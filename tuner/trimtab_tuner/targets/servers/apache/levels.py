"""At which level of a user's apache2.conf a knob is set, and which deeper ones are exceptions that stay.

What is set outside of virtual hosts holds for all of them, but where one says otherwise. A knob is changed in
the virtual hosts if all that answer set it alike, since only there it takes effect; else outside of them.
What is set elsewhere is an exception.
"""

from collections.abc import Sequence

from trimtab_tuner.targets.servers.apache.knobs import KNOBS
from trimtab_tuner.targets.servers.apache.syntax import Line

_NAMES = {knob.name.lower() for knob in KNOBS}
_REDIRECTING = {"redirect", "redirectpermanent", "redirectmatch"}


def answering(lines: Sequence[Line]) -> list[int]:
    """The numbers of the virtual hosts that do more than to send clients elsewhere."""
    sites = sorted({line.site for line in lines if line.site})
    of_site = {site: {line.name for line in lines if line.site == site and line.of_site} for site in sites}
    return [site for site in sites if not of_site[site] & _REDIRECTING or "documentroot" in of_site[site]]


def secure(lines: Sequence[Line]) -> list[int]:
    """The numbers of the virtual hosts that speak TLS."""
    return sorted(
        {
            line.site
            for line in lines
            if line.name == "sslengine"
            and line.site
            and line.of_site
            and line.words[:1] != ()
            and line.words[0].text.lower() != "off"
        }
    )


def called(site: int, lines: Sequence[Line]) -> str:
    """A virtual host by its name, or else by its number."""
    names = (
        line.words[0].text for line in lines if line.site == site and line.name == "servername" and line.words
    )
    return next(names, str(site))


def in_sites(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines by which all virtual hosts that answer set a knob alike, by its name in small letters."""
    found: dict[str, list[Line]] = {}
    sites = answering(lines)
    for name in _NAMES:
        said = [line for line in lines if line.name == name and line.site in sites and _whole(line)]
        alike = len({line.words[0].text.lower() for line in said}) == 1
        if sites and alike and {line.site for line in said} == set(sites):
            found[name] = said
    return found


def exceptions(lines: Sequence[Line]) -> list[Line]:
    """The lines of knobs that stay as they are."""
    changed = [line for said in in_sites(lines).values() for line in said]
    deeper = (line for line in lines if line.is_directive and line.name in _NAMES and line.words)
    return [line for line in deeper if not (line.site == 0 and line.of_site) and line not in changed]


def _whole(line: Line) -> bool:
    return line.is_directive and line.of_site and bool(line.words)
