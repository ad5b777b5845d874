"""What the user of a h2o.conf is told of it before a run."""

from collections.abc import Collection, Iterator

from ruamel import yaml

from trimtab_tuner.targets.servers.h2o import syntax
from trimtab_tuner.targets.told import Told, lines_of

_UNSEEN = (
    "it would run in the measured server too, and what it opens or writes cannot be seen before; expected "
    "the file without it"
)
_RUN = {"fastcgi.spawn", "mruby.handler", "mruby.handler-file", "ocsp-update-cmd"}


def _is_address(command: syntax.Command) -> bool:
    """Whether it is a word that says where h2o listens."""
    around = command.above[-1:] if command.name in ("host", "port") else ()
    return isinstance(command.value, yaml.ScalarNode) and "listen" in (command.name, *around)


def told(text: str, exceptions: Collection[int] = ()) -> Iterator[Told]:
    """In the order of the file; `exceptions` are the places of those."""
    commands, line_at = syntax.commands(text), lines_of(text)
    top = {command.name for command in commands if not command.above}
    if commands and "hosts" not in top and {"paths", "file.dir", "proxy.reverse.url"} & top:
        yield Told(
            "refused",
            1,
            "paths without hosts: this is a part of a h2o.conf; expected the whole "
            "(most often --base /etc/h2o/h2o.conf)",
            is_part=True,
        )
    for command in commands:
        line = command.value.start_mark.line + 1
        if command.value.tag == "!file":
            yield Told(
                "refused",
                line,
                f"{command.name}: !file: expected the text itself, which can be looked through",
            )
        elif _is_address(command) and "${" in command.value.value:
            yield Told(
                "refused",
                line,
                f"{command.name}: {command.value.value}: h2o has no such variables, so this is a template "
                "that a program fills in; expected the file that it makes",
            )
        elif command.value.tag == "!env":
            yield Told("runs", line, f"{command.name}: !env: its value is that of whoever starts Trimtab")
        elif command.name in _RUN:
            yield Told("refused", line, f"{command.name}: {_UNSEEN}")
        elif command.name == "ssl" and command.above[-1:] == ("listen",):
            site = command.above[1] if command.above[:1] == ("hosts",) else "every host"
            yield Told("secure", line_at(command.start), site)
        elif command.start in exceptions and isinstance(command.value, yaml.ScalarNode):
            said = f"{command.name}: {command.value.value} in {'/'.join(command.above)}"
            yield Told("stays", line, f"{said} stays: a tuned {command.name} does not apply there")
