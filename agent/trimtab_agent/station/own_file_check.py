"""The server's own check of a user's file before the first trial: its mistakes are told once, where they are.

What is checked is the private instance, since the check of the file itself would touch what production has
(pid file, logs, addresses). A line that the server names is looked up in the files that it was made of.
"""

import difflib
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from trimtab_trials.configuration import Configuration
from trimtab_tuner.checking.files import log_folders
from trimtab_tuner.checking.statements import read
from trimtab_tuner.targets import tls
from trimtab_tuner.targets.base import RenderContext, RenderError, Target
from trimtab_tuner.targets.in_force import differences
from trimtab_tuner.targets.packages import lacking, wanted_by

from trimtab_agent.base_file import BaseFile, located
from trimtab_agent.errors import SpecError
from trimtab_agent.host.allowed import file_systems
from trimtab_agent.host.answering import troubles
from trimtab_agent.station.processes.programs import server_program
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over, may_read_everything
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_agent.station.server.made_keys import guarded
from trimtab_agent.station.server.own_copies import with_readable
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_agent.station.server.refusals import ConfigurationRejected, ServerFailed, require_accepted
from trimtab_agent.station.server.unresolved import Names, with_resolvable

# What is no reason: the last line of each check, and the queue of errors that OpenSSL prints.
_NOISE = re.compile(r"test failed$|syntax is ok$|^[0-9A-F]{8,}:error:")
_PATH = re.compile(r"(?<![\w./])(?:/[\w.@+-]+|[\w.@+-]+(?=/))(?:/[\w.@+-]+)+")
_STAMP = re.compile(r"\d{4}[/-]\d\d[/-]\d\d \d\d:\d\d:\d\d:? +(\[\w+\] \d+#\d+: )?")


def require_measurable(
    target: Target, base: BaseFile, configuration: Configuration, cpus: tuple[int, ...], httpd: Path
) -> tuple[str, ...]:
    """What the server takes in place of numbers of the file, in its own words. Raises SpecError, with those
    too, if it refuses the file as it is.

    `configuration` has the values that the file sets, `httpd` is ours.
    """
    program = server_program(target, httpd)
    with tempfile.TemporaryDirectory(prefix="trimtab-check-") as name:
        directory = Path(name)
        file = directory / target.file_name
        context = _context(directory, cpus)
        if tls.speaks_tls(configuration):
            certificates = directory / "tls"
            for key in make_certificates(certificates):
                hand_over(key)
            context = replace(context, tls_directory=str(certificates))
        try:
            private = target.private(base.expanded, configuration, (), context)
        except RenderError as error:
            raise located(base, error) from error
        text = with_resolvable(target, private, Names())
        if target.package is not None:
            text = with_readable(target, text, directory, directory / "tls")
        file.write_text(text)
        prefix: tuple[str, ...] = ()
        # The directory becomes the server's own. What the file names may lie in closed folders all the same,
        # as where its own lies; in a container root has no right to give for that.
        reads = directory if may_read_everything() else directory.parent
        if target.package is not None and (prefix := command_prefix((reads,))):
            hand_over(directory)
        command = target.check_command(str(file), str(program))
        try:
            said = require_accepted((*prefix, *command), command[0], file)
        except (ConfigurationRejected, ServerFailed) as error:
            raise SpecError("base", _in_its_files(str(error), text, file, target, base)) from error
    return differences(target.name, text, None, said)


def keys_made(target: Target, base: BaseFile, configuration: Configuration) -> tuple[str, ...]:
    """A sentence for each key of the file in whose place a made one is measured. Raises SpecError.

    `configuration` has the values that the file sets; over TLS the run's own certificates stand there anyway.
    """
    if tls.speaks_tls(configuration):
        return ()
    try:
        return tuple(dict.fromkeys(pair.sentence() for pair in guarded(target, base.expanded)))
    except RenderError as error:
        raise located(base, error) from error


def upstreams_missing(target: Target, base: BaseFile) -> dict[str, str]:
    """Why nobody answers at the upstreams of the file, by address; those that answer are left out.

    Raises SpecError.
    """
    try:
        return troubles(target.upstreams(base.sources.whole))
    except RenderError as error:
        raise located(base, error) from error


def logs_elsewhere(target: Target, base: BaseFile, directory: Path) -> tuple[str, ...]:
    """A sentence for each folder of the file's logs that lies on another kind of file system than
    `directory`, where those of trials go. Raises SpecError.
    """
    try:
        folders = sorted(log_folders(read(target, base.expanded)))
    except RenderError as error:
        raise located(base, error) from error
    kinds = file_systems({str(directory), *folders})
    here = kinds[str(directory)]
    return tuple(
        f"logs in {folder} lie on {kinds[folder]}, those of a trial in {directory} on {here}: what writing "
        "them costs may differ (TRIMTAB_VAR moves them)"
        for folder in folders
        if None not in (kinds[folder], here) and kinds[folder] != here
    )


def _context(directory: Path, cpus: tuple[int, ...]) -> RenderContext:
    with HeldPorts() as ports:  # nobody is to listen there
        listen, status_listen = (f"{ADDRESS}:{ports.take()}" for _ in range(2))
    return RenderContext(
        root=str(directory),
        listen=(listen,),
        status_listen=status_listen,
        stats_socket=str(directory / "stats.sock"),
        server_cpus=cpus,
        prefix=str(directory),
    )


def _in_its_files(said: str, text: str, file: Path, target: Target, base: BaseFile) -> str:
    """The server's words with the user's files and lines in place of the copy's, and what is missing."""
    copy, own = text.splitlines(), base.sources.whole.splitlines()
    places: list[str] = []

    def place(found: re.Match[str]) -> str:
        number = next(filter(None, found.groups()), None)
        origin = None if number is None else _origin(int(number), copy, own)
        if origin is None:
            return base.path
        places.append(_at(base, origin))
        return places[-1]

    # With a line, however the server words it: a warning before the error has another one.
    name = re.escape(str(file))
    where = rf"(?:\bline (\d+) of |\bsource: )?{name}(?::(\d+)| line: (\d+))?"
    said = re.sub(where, place, said)
    if not places and (line := _line_that_names_what(said, base.sources.whole)) is not None:
        places.append(_at(base, line))
    lines = (_STAMP.sub("", line.strip()) for line in said.splitlines())
    words = "; ".join(line for line in lines if line and not _NOISE.search(line)).replace(":; ", ": ")
    needs = lacking(target.name, said)
    at = (places or [base.path])[-1]
    return f"{at}: {target.name} refuses it: {words}" + (f". {needs}" if needs else "")


def _at(base: BaseFile, line: int) -> str:
    """The file and the line of a line of the whole."""
    inside = base.sources.inside(line)
    return ":".join(map(str, base.sources.place(line))) + (f" ({inside})" if inside else "")


def _line_that_names_what(said: str, whole: str) -> int | None:
    """The first line of the user's whole file with a path, or a module, that the server complains about."""
    lines = whole.splitlines()
    names = (*reversed(_PATH.findall(said)), wanted_by(said))  # the path that it fails for comes last
    for name in filter(None, dict.fromkeys(names)):
        named = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])")
        for number, line in enumerate(lines, start=1):
            if named.search(line.partition("#")[0]):
                return number
    return None


def _origin(number: int, copy: list[str], own: list[str]) -> int | None:
    """The line of the user's whole file that a line of the copy was made of; None for one of ours alone."""
    for tag, own_start, own_end, start, end in difflib.SequenceMatcher(
        None, own, copy, autojunk=False
    ).get_opcodes():
        if start < number <= end:
            if tag == "insert":
                return None
            return min(own_start + number - start, own_end)
    return None
