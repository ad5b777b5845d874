"""Sites that an apache2.conf has only by `Use` of a macro (mod_macro): nothing else in the file is one."""

from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.servers.apache.syntax import MACRO, SITE, Line


def using_sites(lines: Sequence[Line]) -> Iterator[Line]:
    """Each `Use` outside of macros of one that holds a virtual host, or uses one that does."""
    used_in: dict[str, set[str]] = {}
    holding: set[str] = set()
    outside = []
    name = ""
    for line in lines:
        if line.name == MACRO and not line.is_directive:
            name = line.first.lower() if line.opens else ""
        elif line.name == "use":
            if MACRO in line.above:
                used_in.setdefault(name, set()).add(line.first.lower())
            else:
                outside.append(line)
        elif line.name == SITE and MACRO in line.above:
            holding.add(name)
    while more := {name for name, used in used_in.items() if used & holding} - holding:
        holding |= more
    return (line for line in outside if line.first.lower() in holding)
