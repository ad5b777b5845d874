"""What the user of a lighttpd.conf is told of it before a run."""

import re
from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.servers.lighttpd import editing, syntax
from trimtab_tuner.targets.servers.lighttpd.knobs import KNOBS
from trimtab_tuner.targets.servers.lighttpd.syntax import Statement
from trimtab_tuner.targets.told import LineAt, Told, line_of, lines_of

_KNOBS = {knob.name for knob in KNOBS}
_ASKING = {"mysql-vhost.db", "vhostdb.backend"}
_SHELL = "include_shell"
_INCLUDED = re.compile(r"include\s")
_OF_ENVIRONMENT = re.compile(r"\benv\.(\w+)")
_STRING = re.compile(syntax.STRING)


def told(text: str) -> Iterator[Told]:
    """In the order of the file."""
    said = list(syntax.walk(text))
    line_at = lines_of(text)
    known = {include.start for include in editing.includes(text)}
    yield from _fragment(text, said)
    yield from _secure(said, line_at)
    for statement in said:
        number, line = line_at(statement.start), " ".join(statement.text.split())
        if statement.is_head and statement.text.endswith("$"):
            yield Told(
                "refused",
                number,
                f"{line}{{…}}: lighttpd has no such variables, so this is a template that a program fills "
                "in; expected the file that it makes",
            )
        elif statement.text.startswith(_SHELL):  # one that could be run is filled in already
            yield Told(
                "refused",
                number,
                f"{line}: the command is made of variables; expected a plain string, whose output is read "
                "once, as lighttpd would read it",
            )
        elif _INCLUDED.match(statement.text) and statement.start not in known:
            yield Told(
                "refused",
                number,
                f"{line}: what its name is made of is not known before lighttpd reads it; expected strings, "
                "and settings that are made above it, outside of conditions",
            )
        elif used := _OF_ENVIRONMENT.findall(_STRING.sub("", statement.text)):
            what = ", ".join(f"env.{name}" for name in dict.fromkeys(used))
            yield Told("runs", number, f"{what}: its value is that of whoever starts Trimtab")
        elif statement.name == "evasive.max-conns-per-ip" and statement.depth == 0:
            yield Told(
                "runs",
                number,
                f"{line}: it limits the workload too, whose clients have few addresses; a trial in which it "
                "answers with errors is stopped",
            )
        elif statement.name in _ASKING:
            yield Told(
                "refused",
                number,
                f"{line}: the measured server would ask this database for each request too; expected the "
                "file without it",
            )
        elif statement.name.startswith("magnet."):
            yield Told("runs", number, f"{line}: the measured server runs this Lua too")
        elif statement.name in _KNOBS and statement.depth > 0:
            yield Told("stays", number, f"{line} stays: a tuned {statement.name} does not apply there")


def _secure(said: Sequence[Statement], line_at: LineAt) -> Iterator[Told]:
    """Where TLS is spoken: under a condition, or at every address."""
    around: list[Statement] = []
    for statement in said:
        del around[statement.depth :]
        if statement.is_head:
            around.append(statement)
        elif statement.name == "ssl.engine" and '"enable"' in statement.text:
            at = around[-1].text.strip() if around else "every address"
            yield Told("secure", line_at(statement.start), at)


def _fragment(text: str, said: Sequence[Statement]) -> Iterator[Told]:
    """A file of nothing but conditions and what modules say."""
    of_server = {"server.document-root", "server.port", "server.modules", "server.bind", *_KNOBS}
    if not said or any(each.depth == 0 and each.name in of_server for each in said):
        return
    if any(each.name or each.is_head for each in said) and not any("include" in each.text for each in said):
        yield Told(
            "refused",
            line_of(text, said[0].start),
            "nothing of the server as a whole stands here: this is a part that a lighttpd.conf includes; "
            "expected that one (most often --base /etc/lighttpd/lighttpd.conf), whose includes are followed",
            is_part=True,
        )
