"""The comments in exported files: what was measured, what a setting counts for, what the system must allow.

All comments start with `#`, which both INI files and nginx take, and are wrapped, because the INI parser
gives up on long lines.
"""

import shlex
import textwrap

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.certainty.confirmation import describe
from trimtab_tuner.certainty.setting_effects import effect_sentences
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.base import Demands, ExportEvidence, Target
from trimtab_tuner.wording import counted, in_mbps

MOST_NAMED = 4  # settings that a comment names one by one

SCOPES = {
    "worker": "for each worker",
    "total": "in total over all workers",
    "server": "for the whole server",
    "namespace": "for everything in the server's network namespace",
    "host": "for the whole machine",
}


PLACES = "Address, document root, logs and directories are those of the measurement: put your own in."


def comment(*sentences: str) -> str:
    """Comment lines, each sentence beginning a new one, wrapped at 100 columns."""
    lines: list[str] = []
    for sentence in sentences:
        lines += textwrap.wrap(
            sentence,
            98,
            initial_indent="# ",
            subsequent_indent="#   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "".join(line + "\n" for line in lines)


def header(target: Target, file_name: str, evidence: ExportEvidence) -> str:
    """The top of the file: for what server, how to use the file, where the values come from."""
    measured = f"Run {evidence.run} of {evidence.date} on {evidence.host}"
    sentences = [
        f"Configuration for {target.name}, found by Trimtab.",
        use(target, file_name),
        f"{measured}, {counted(evidence.trials, 'trial')} after the calibration.",
        f"Workload {evidence.workload}, objective {evidence.objective}.",
        sessions(evidence),
    ]
    if evidence.trade_off:
        sentences.append(evidence.trade_off)
    if evidence.headline:
        sentences.append(evidence.headline)
    if evidence.capacity_gain is not None:
        sentences.append(
            f"Gain over the default configuration: {evidence.gain_told}, "
            f"{counted(evidence.capacity_gain.blocks, 'block')}."
        )
    if evidence.score_mbps is not None and evidence.default_score_mbps is not None:
        sentences.append(
            f"Score {in_mbps(evidence.score_mbps)}, the default's {in_mbps(evidence.default_score_mbps)} "
            "(means of the confirmation)."
        )
    if evidence.gain is not None:
        sentences.append(
            f"Gain in score over the default configuration: {evidence.gain}, "
            f"{counted(evidence.gain.blocks, 'block')}."
        )
    return comment(*sentences, *effect_sentences([e for e in evidence.effects if not e.kept]))


def use(target: Target, file_name: str) -> str:
    """The command by which the file comes to be used."""
    if target.drop_in is None:
        return f"Start: {shlex.join(target.start_command(file_name))}"
    return f"Install: cp {file_name} {target.drop_in} && systemctl restart {target.unit}"


def places(target: Target) -> tuple[str, ...]:
    """What in the file is of the measurement and not of the server that it is for."""
    return (PLACES,) if target.drop_in is None else ()


def sessions(evidence: ExportEvidence) -> str:
    """Under which pauses and time limit it was measured; empty where that is not known."""
    pauses = evidence.pauses
    if pauses is None:
        return ""
    return f"Time scale {pauses.time_scale:g} (of the workload's pauses), time limit {pauses.timeout_s:g} s."


def measured_on(evidence: ExportEvidence) -> str:
    """Which run a file comes from, and under which pauses and time limit that measured."""
    where = f"From Trimtab's run {evidence.run} of {evidence.date} on {evidence.host}."
    return f"{where} {sessions(evidence)}".rstrip()


def what(knob: Knob, value: Value, evidence: ExportEvidence) -> str:
    """What the setting is, in which unit and scope, and the default it replaces."""
    unit = f" {knob.unit}" if knob.unit and isinstance(value, int) else ""
    default = default_of(knob, evidence)
    return f"{knob.name} = {value}{unit}, {SCOPES[knob.scope]} (default {default}). {knob.help}"


def default_of(knob: Knob, evidence: ExportEvidence) -> str:
    """What the setting was before, in words."""
    return knob.told(evidence.default.get(knob.name, knob.default))


def effect(knob: Knob, configuration: Configuration, evidence: ExportEvidence) -> str:
    """The measured effect of the setting under the workload, or why there is none to state."""
    default = evidence.default.get(knob.name, knob.default)
    own = next((effect for effect in evidence.effects if effect.knob == knob.name), None)
    if configuration[knob.name] == default:
        tried = "" if own is None or own.kept else f" {own.in_words}."
        return f"Measured effect: none to state, this is the default.{tried}"
    if own is not None and own.gain is not None and not own.together:
        return f"Measured effect under {evidence.workload}: {own.in_words}."
    if not evidence.gain_told:
        return "Measured effect: not confirmed against the default."
    changed = [name for name, value in configuration.items() if evidence.default.get(name) != value]
    of = "" if changed == [knob.name] else f" of {_together(configuration, evidence.default, changed)}"
    tail = "" if evidence.tail is None else f"; 99th percentile of the reply time {evidence.tail}"
    return f"Measured effect{of} under {evidence.workload}: {evidence.gain_told}{tail}."


def _together(configuration: Configuration, default: Configuration, changed: list[str]) -> str:
    if len(changed) > MOST_NAMED:
        return f"all {len(changed)} changed settings together"
    return f"{describe(configuration, default)} together"


def requirements(demands: Demands) -> tuple[str, ...]:
    """What the operating system must allow, in sentences."""
    needed = demands.descriptors
    descriptors = (
        f"The system must allow {needed:,} descriptors for each process of the server, "
        f"{demands.connections:,} of them for connections, {demands.files:,} for files: ulimit -n {needed}, "
        f"or LimitNOFILE={needed} in a systemd unit."
    )
    sentences = [descriptors]
    if demands.backlog is not None:
        sentences.append(
            f"It must allow an accept queue of {demands.backlog:,}: sysctl net.core.somaxconn of at least "
            f"{demands.backlog}, else the kernel shortens it without a word."
        )
    return tuple(sentences)
