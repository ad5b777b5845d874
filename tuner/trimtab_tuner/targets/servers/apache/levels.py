"""At which level of a user's apache2.conf a knob is set, and which deeper ones are exceptions that stay.

What is set outside of virtual hosts holds for all of them, but where one says otherwise. A knob is changed in
the virtual hosts if all that answer set it alike, since only there it takes effect; else outside of them.
What is set elsewhere is an exception.
"""

import re
from collections.abc import Sequence

from trimtab_tuner.targets.servers.apache.knobs import BY_NAME
from trimtab_tuner.targets.servers.apache.syntax import Line

_EVERY_PATH = re.compile(r"\^?/?\??(\(?\.[*+]\)?\$?)?")
_REDIRECT_FLAG = re.compile(r"[\[,]\s*(R|redirect)\b", re.IGNORECASE)
_CALLED_SO = re.compile(r"%\{SERVER_NAME\} =\S+( \[OR\])?", re.IGNORECASE)
_NO_CHALLENGE = re.compile(r"%\{REQUEST_URI\} !\S*well-known\S*( \[\w+\])?", re.IGNORECASE)
_NO_TLS = re.compile(r"%\{HTTPS\} (=?off|!=?on)( \[NC\])?", re.IGNORECASE)
_REDIRECTING = {"redirect", "redirectmatch", "redirectpermanent", "redirecttemp"}
# What a virtual host answers with.
_ANSWERING = {
    "documentroot", "jkmount", "passengerapproot", "proxypass", "proxypassmatch", "scriptalias",
    "virtualdocumentroot", "wsgiscriptalias",
}  # fmt: skip


def answering(lines: Sequence[Line]) -> list[int]:
    """The numbers of the virtual hosts that do more than to send clients elsewhere."""
    of_site: dict[int, set[str]] = {line.site: set() for line in lines if line.site}
    for line in lines:
        if line.site and line.of_site:
            of_site[line.site].add(line.name)
    elsewhere = _all_sent_elsewhere(lines)
    return [
        site
        for site, names in sorted(of_site.items())
        if site not in elsewhere and (not names & _REDIRECTING or names & _ANSWERING)
    ]


def _all_sent_elsewhere(lines: Sequence[Line]) -> set[int]:
    """The virtual hosts in which a Redirect or a rule answers every path with a redirection, as one that
    leads to TLS does.

    Conditions of a rule hold for all that the host is asked: that it speaks no TLS, that it is called so, or
    that nobody asks who makes certificates.
    """
    found = {line.site for line in lines if line.of_site and _redirects_all(line)}
    speaking = secure(lines)
    conditions: list[str] = []
    for line in lines:
        if line.name == "rewritecond":
            conditions.append(" ".join(word.text for word in line.words))
        elif line.name == "rewriterule":
            words = [word.text for word in line.words]
            every = len(words) == 3 and _EVERY_PATH.fullmatch(words[0]) and _REDIRECT_FLAG.search(words[2])
            always = all(
                _CALLED_SO.fullmatch(each)
                or _NO_CHALLENGE.fullmatch(each)
                or (_NO_TLS.fullmatch(each) and line.site not in speaking)
                for each in conditions
            )
            if every and always and line.of_site:
                found.add(line.site)
            conditions = []
    return found


def _redirects_all(line: Line) -> bool:
    """Whether it is a Redirect of every path."""
    if line.name not in _REDIRECTING:
        return False
    paths = [word.text for word in line.words if word.text[:1] in ("/", "^", "(", ".")][:1]
    if line.name == "redirectmatch":
        return any(map(_EVERY_PATH.fullmatch, paths))
    return paths == ["/"]


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
