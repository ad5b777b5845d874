"""The comments in exported files: what was measured, what a setting counts for, what the system must allow.

All comments start with `#`, which both INI files and nginx take, and are wrapped, because the INI parser
gives up on long lines.
"""

import math
import textwrap

from trimtab_tuner.confirmation import describe
from trimtab_tuner.records import Configuration, Value
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.base import Evidence

DESCRIPTOR_RESERVE = 64  # listeners, event queue, control socket, logs, and what is open for a moment

_SCOPES = {
    "worker": "for each worker",
    "total": "in total over all workers",
    "server": "for the whole server",
}


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


def header(server: str, start: str, evidence: Evidence) -> str:
    """The top of the file: for what server, how to start it, where the values come from."""
    sentences = [
        f"Configuration for {server}, found by Trimtab. Start: {start}",
        f"Run {evidence.run} of {evidence.date} on {evidence.host}, {evidence.trials} trials.",
        f"Workload {evidence.workload}, objective {evidence.objective}.",
    ]
    if evidence.score_mbps is not None and evidence.default_score_mbps is not None:
        sentences.append(
            f"Score {evidence.score_mbps:.1f} Mbps, the default's {evidence.default_score_mbps:.1f} Mbps "
            "(means of the confirmation)."
        )
    if evidence.gain is not None:
        sentences.append(
            f"Gain over the default configuration: {evidence.gain}, {evidence.gain.blocks} blocks."
        )
    else:
        sentences.append("No gain over the default configuration is claimed.")
    return comment(*sentences)


def what(knob: Knob, value: Value, evidence: Evidence) -> str:
    """What the setting is, in which unit and scope, and the default it replaces."""
    unit = f" {knob.unit}" if knob.unit and isinstance(value, int) else ""
    default = evidence.default.get(knob.name, knob.default)
    return f"{knob.name} = {value}{unit}, {_SCOPES[knob.scope]} (default {default}). {knob.help}"


def effect(knob: Knob, configuration: Configuration, evidence: Evidence) -> str:
    """The measured effect of the setting under the workload, or why there is none to state."""
    default = evidence.default.get(knob.name, knob.default)
    if configuration[knob.name] == default:
        return "Measured effect: none to state, this is the default."
    if knob.name in evidence.knob_gains:
        return (
            f"Measured effect under {evidence.workload}: {evidence.knob_gains[knob.name]} against {default}."
        )
    if evidence.gain is None:
        return "Measured effect: not confirmed against the default."
    changed = [name for name, value in configuration.items() if evidence.default.get(name) != value]
    of = "" if changed == [knob.name] else f" of {describe(configuration, evidence.default)} together"
    return f"Measured effect{of} under {evidence.workload}: {evidence.gain}."


def connections_per_worker(configuration: Configuration) -> int:
    """The largest share of `max_connections` that one worker gets."""
    return math.ceil(int(configuration["max_connections"]) / int(configuration["workers"]))


def descriptors_per_worker(configuration: Configuration) -> int:
    """Descriptors one worker may have open: its connections, its cached files, and a reserve."""
    return connections_per_worker(configuration) + int(configuration["cache_entries"]) + DESCRIPTOR_RESERVE


def requirements(configuration: Configuration) -> tuple[str, ...]:
    """What the operating system must allow."""
    needed = descriptors_per_worker(configuration)
    connections = connections_per_worker(configuration)
    files, backlog = configuration["cache_entries"], configuration["backlog"]
    descriptors = (
        f"The system must allow {needed} descriptors for each worker, {connections} of them for connections, "
        f"{files} for cached files: ulimit -n {needed}, or LimitNOFILE={needed} in a systemd unit."
    )
    queue = (
        f"It must allow an accept queue of {backlog}: sysctl net.core.somaxconn of at least {backlog}, "
        "else the kernel shortens it without a word."
    )
    return descriptors, queue
