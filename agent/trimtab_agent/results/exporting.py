"""Writes a run's best configuration in every format, and lets the servers check the files that are for them.

Everything that stands in a file comes from the database.  The files go to `var/exports/run-ID/`, and with the
result of the check into the table `export`.  A file of the measured server must besides read back as the
configuration that was confirmed, and once it has been driven (study/remeasuring.py) its score must agree with
what was confirmed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from trimtab_db import Repository, records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.exports import ExportFile, ExportOrder, export_files, steps
from trimtab_tuner.exports.replicas import contexts, format_of_first
from trimtab_tuner.exports.server_file import changed_whole
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS, tls
from trimtab_tuner.targets.backends import backend_of, php_fpm
from trimtab_tuner.targets.backends.memory import memory_of_children
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.sources import recorded_sources, unmarked
from trimtab_tuner.workloads import Workload
from trimtab_tuner.workloads.parameters import clients_of, recorded_parameters, workload_label

from trimtab_agent.base_file import anywhere
from trimtab_agent.errors import HostError, TrimtabError
from trimtab_agent.results.outcome import Outcome, headline
from trimtab_agent.results.outcome import compared as compared_finalists
from trimtab_agent.results.sessions import descriptors_here, most_open, pauses_of, room_of
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_agent.station.server.checking import IN_THE_CHECK, NOT_CHECKED, check_file

LISTEN = "127.0.0.1:8000"
UPSTREAM = "127.0.0.1:9000"
SHELL_CHECK = "sh -n"
"""How the check of a script begins: the shell reads it and runs nothing."""


class NothingToExport(TrimtabError):
    """The run has no configuration to recommend."""

    code = "nothing-to-export"


@dataclass(frozen=True)
class Driven:
    """What stands for the measured server's file when that is driven: its `text` with limits as measured.

    `note` is a sentence on how the two differ, empty if they do not. `written` is what the exported files
    say; `workers` tells how many of them that is per CPU, where the server had not all CPUs, `connections`
    what was open, where less than the measured limit is enough.
    """

    text: str
    note: str
    written: Configuration
    workers: str = ""
    connections: str = ""

    def of_outcome(self) -> dict[str, Configuration | str]:
        """What an outcome says of it."""
        return {"written": self.written, "workers": self.workers, "connections": self.connections}


def export_run(
    repository: Repository, run_id: int, *, workload: Workload, root: Path, directory: Path, httpd: Path
) -> Driven:
    """Writes and checks the run's configuration in every format, and records the results.

    `root` is the document root the files shall name, `directory` where they go.  Raises NothingToExport if
    the run has no outcome, HostError if the files cannot be written.
    """
    run = repository.run(run_id)
    if run.outcome is None or (outcome := Outcome.model_validate(run.outcome)).best is None:
        raise NothingToExport(f"run {run_id} has no verified trial, so there is no configuration to export")
    order = ExportOrder(
        target=TARGETS[run.target],
        space=Space.model_validate(run.space),
        configuration=outcome.best,
        context=_context(run, root, directory),
        evidence=_evidence(repository, run, outcome, outcome.best, workload),
        base=recorded_sources(run.base) if run.base else None,
        expanded=run.base.get("expanded", ""),
    )
    if order.context.tls_directory is not None:  # the servers' own checks read the certificates
        make_certificates(Path(order.context.tls_directory))
    sentence = remeasured_sentence(outcome, next(export_files(order)).text)
    order = replace(order, evidence=replace(order.evidence, remeasured=sentence))
    for exported in export_files(order):
        file = directory / exported.file_name
        try:
            for place in contexts(order):
                Path(place.prefix).mkdir(parents=True, exist_ok=True)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content_of(run, exported.text))
        except OSError as error:
            raise HostError(f"the export {file} cannot be written: {error.strerror}") from error
        command, ok, output = check_file(exported.check, file, httpd)
        if ok and (difference := _reads_back_differently(order, exported) or _disagrees(outcome, exported)):
            ok, output = False, difference
        repository.record_export(
            records.Export(
                run_id=run_id,
                format=exported.format,
                file_name=exported.file_name,
                text=exported.text,
                check_command=command,
                check_ok=ok,
                check_output=output,
                created_at=datetime.now(UTC),
            )
        )
    return _driven(run, order)


def content_of(run: records.Run, text: str) -> bytes:
    """The bytes of an exported file of the run: in the encoding of the user's own, where there is one."""
    try:
        return text.encode(run.base.get("encoding", "utf-8"))
    except UnicodeEncodeError:  # one of ours beside theirs
        return text.encode()


def _driven(run: records.Run, order: ExportOrder) -> Driven:
    """What is measured once more; of a user's own file the whole that it comes to."""
    notes = [note for one in (order.lifted, order.scaled) if one is not None and (note := one.note())]
    workers, written = "", order.written
    if order.scaled is not None:
        workers = order.scaled.sentence()
        if order.scaled.stays:  # on the CPUs that were measured it is the default
            written |= {order.scaled.knob: order.evidence.default[order.scaled.knob]}
    connections = "" if order.lowered is None else order.lowered.sentence()
    told = Driven("", " ".join(notes), written, workers, connections)
    order = replace(order, as_measured=True)
    if order.base is None:
        return replace(told, text=next(export_files(order)).text)
    return replace(
        told, text=anywhere(order.target, changed_whole(order, order.base), Path(run.base["path"]))
    )


def _context(run: records.Run, root: Path, directory: Path) -> RenderContext:
    parameters = recorded_parameters(run.workload_parameters)
    backend = parameters.definition.backend
    speaks = None if backend is None else backend.speaks
    return RenderContext(
        root=str(root),
        listen=(LISTEN,),
        stats_socket=str(directory / "trimtab-httpd.sock"),
        server_cpus=tuple(run.layout["server"]),
        prefix=str(directory),
        error_log=str(directory / "error.log"),
        php_socket=str(directory / php_fpm.SOCKET) if speaks == "fastcgi" else None,
        upstream=UPSTREAM if parameters.definition.proxies else None,
        tls_directory=str(directory / "tls") if tls.KEY.name in run_knobs(run) else None,
        descriptors=descriptors_here(),
    )


def run_knobs(run: records.Run) -> set[str]:
    """The names of the knobs of a run."""
    return {knob["name"] for knob in run.space["knobs"]}


def verdict(export: records.Export, run: records.Run) -> str:
    """What became of the check, and of driving the file of the measured server, in words."""
    if export.check_ok:
        if not export.check_command:
            accepted = "written"
        elif export.check_command.startswith(f"{SHELL_CHECK} "):
            accepted = f"a script that the shell can read (`{SHELL_CHECK}`)"
        else:
            accepted = "accepted by its server's own check"
        said = (line for line in export.check_output.splitlines() if line.startswith(IN_THE_CHECK))
        accepted = ". ".join((accepted, *said))
        if run.outcome is None or export.format != TARGETS[run.target].program:
            return accepted
        return " ".join(
            (f"{accepted}.", remeasured_sentence(Outcome.model_validate(run.outcome), export.text))
        )
    return export.check_output if not was_refused(export) else f"not accepted: {export.check_output}"


def next_steps(run: records.Run, export: records.Export) -> tuple[str, ...]:
    """What to do with the measured server's file, in sentences; none for another file."""
    if run.outcome is None or export.format != TARGETS[run.target].program:
        return ()
    outcome = Outcome.model_validate(run.outcome)
    written = outcome.written or outcome.best
    return steps(
        TARGETS[run.target], export.file_name, run.base.get("path", ""), changed=written != outcome.default
    )


def was_refused(export: records.Export) -> bool:
    """Whether a server has looked at the file and refused it."""
    return not export.check_ok and not export.check_output.startswith(NOT_CHECKED)


def is_translation(export: records.Export, run: records.Run) -> bool:
    """Whether it is for another server than the one that was measured."""
    programs = {target.program for target in TARGETS.values()}
    return export.format in programs - {TARGETS[run.target].program}


def text_digest(text: str) -> str:
    """By which it is known that a file is still the one that was driven."""
    return hashlib.sha256(text.encode()).hexdigest()


def remeasured_sentence(outcome: Outcome, text: str) -> str:
    """What driving the exported file of this text has shown."""
    again = outcome.remeasured
    if again is None:
        return "The exported file itself has not been measured."
    if (again.export_sha256 or again.text_sha256) != text_digest(text):
        return "The exported file is not the one that was re-measured: its text has changed since."
    return again.sentence


def _disagrees(outcome: Outcome, exported: ExportFile) -> str:
    """What speaks against the file that was driven; empty if nothing does."""
    again = outcome.remeasured
    driven = again is not None and text_digest(exported.text) == (again.export_sha256 or again.text_sha256)
    return again.sentence if again is not None and driven and again.agrees is False else ""


def _reads_back_differently(order: ExportOrder, exported: ExportFile) -> str:
    """How the measured server's file differs from the configuration it is to say; empty if it does not."""
    target = order.target
    if format_of_first(exported.format) != target.program:
        return ""
    text = exported.text if order.base is None else unmarked(changed_whole(order, order.base))
    read = {**order.evidence.default, **target.parse(text, order.cpus)}
    # Words such as `auto` come back as what they mean, so both are compared as the server reads them.
    confirmed = target.parse(target.render(order.written, order.context), order.cpus)
    again = target.parse(target.render(read, order.context), order.cpus)
    wrong = [name for name, value in confirmed.items() if again.get(name) != value]
    return f"the file reads back differently: {', '.join(wrong)}" if wrong else ""


def _evidence(
    repository: Repository, run: records.Run, outcome: Outcome, best: Configuration, workload: Workload
) -> ExportEvidence:
    compared = [
        trial
        for configuration in (outcome.default, best)
        for trial in repository.trials_with_curves(
            run.id, configuration_hash=configuration_hash(configuration)
        )
    ]
    scores = {ranked.configuration_hash: ranked.mean_score_mbps for ranked in outcome.ranking}
    is_default = best == outcome.default
    # Below saturation: overload makes the tail what the timeout is.
    tail_rate_rps = run.ladder[0] if run.ladder else None
    # Without repeats: the file must stay the same when it has been driven.
    own = [
        trial
        for trial in compared
        if trial.configuration == best and (trial.in_block or trial.purpose is TrialPurpose.SEARCH)
    ]
    pauses = pauses_of(run, workload, own)
    return ExportEvidence(
        run=str(run.id),
        date=run.created_at.strftime("%Y-%m-%d"),
        host=f"{run.host} ({run.layout['sentence']})",
        workload=workload_label(run.workload, run.workload_parameters),
        objective=run.objective,
        trade_off="" if outcome.front is None else outcome.front.sentence_on(configuration_hash(best)),
        trials=outcome.judged_trials,
        default=outcome.default,
        score_mbps=scores.get(configuration_hash(best)),
        default_score_mbps=scores.get(configuration_hash(outcome.default)),
        gain=None if is_default else outcome.gain,
        capacity_gain=outcome.capacity_gain,
        capacity_at_least=outcome.capacity_at_least,
        tail=None if is_default else tail_gain(outcome.default, best, compared, tail_rate_rps),
        tail_at=clients_of(run.workload_parameters).level(*run.ladder[:1]),
        effects=outcome.effects,
        server_cpus=len(run.layout["server"]),
        cpus=_machine_cpus(repository, run),
        factorial="" if outcome.factorial is None else outcome.factorial.sentence,
        headline=headline(outcome.ranking, outcome.default, best),
        compared=tuple(compared_finalists(outcome)),
        pauses=pauses,
        room=room_of(repository, run, pauses, own),
        most_open=most_open(repository, run, own),
        children=_children(repository, run, best, own),
    )


def _children(repository: Repository, run: records.Run, best: Configuration, trials: Sequence[Trial]) -> str:
    """How many processes of a program behind the server fit the memory, by the last of the trials."""
    if backend_of(best) is None or not trials:
        return ""
    found = memory_of_children(best, repository.trial(run.id, trials[-1].number).measurements)
    return "" if found is None else found.sentence


def _machine_cpus(repository: Repository, run: records.Run) -> int:
    """How many CPUs a server may use there: those that were divided, which a quota may have cut down, or all
    of the machine where somebody has named them. 0 where files are for several hosts.
    """
    if run.over_hosts:
        return 0
    if run.layout.get("reason"):
        return len({*run.layout["server"], *run.layout["generator"]})
    return repository.host(run.host_id).cpus


def tail_gain(
    default: Configuration, best: Configuration, trials: Sequence[Trial], rate_rps: float | None
) -> Gain | None:
    """How the 99th percentile of the reply time at that rate changes, paired over the blocks.

    Over the trials that the gain is computed from: verified, and no repeat that somebody asked for.
    """
    tails: dict[str, dict[int, float | None]] = {configuration_hash(c): {} for c in (default, best)}
    for trial in trials:
        if trial.in_block and trial.verdict is Verdict.VERIFIED and trial.configuration_hash in tails:
            for measurement in trial.measurements:
                if measurement.rate_rps == rate_rps:
                    tails[trial.configuration_hash][trial.block] = measurement.reply_latency.p99_us
    before, after = tails[configuration_hash(default)], tails[configuration_hash(best)]
    blocks = sorted(before.keys() & after.keys())
    return paired_gain([before[block] for block in blocks], [after[block] for block in blocks])
