"""The README that goes with the files: what was measured, what every setting does, how to see it live."""

from trimtab_tuner.certainty.setting_effects import effect_sentences
from trimtab_tuner.exports import kernel, replicas
from trimtab_tuner.exports.bringing import steps_of
from trimtab_tuner.exports.order import ExportFile, ExportOrder
from trimtab_tuner.exports.server_file import changes_name
from trimtab_tuner.markdown import markdown_table
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.backends import backend_of
from trimtab_tuner.targets.placement import replicas_of
from trimtab_tuner.telling import people
from trimtab_tuner.wording import counted, in_mbps

_SETTINGS = (
    "Those that were tuned or differ from the default. *Scope* says what a value counts for. An effect of "
    "several settings together is that of the whole configuration; one of a single setting comes from trials "
    "with it and without it, in turns.\n"
)


def readme(order: ExportOrder) -> ExportFile:
    """Markdown."""
    target, evidence = order.target, order.evidence
    parts = [
        f"# {target.name}: the configuration of Trimtab's run {evidence.run}\n",
        _summary(order),
        "## What to do with it\n",
        "".join(f"- {sentence}\n" for sentence in steps_of(order)),
        *(["## What it does\n", _compared(order)] if order.evidence.compared else []),
        "## Settings\n",
        _SETTINGS,
        _table(order),
        *(["## The limit on connections\n", limit] if (limit := _limit(order)) else []),
        *(["## Replicas\n", replicas.readme_section(order)] if _several(order) else []),
        *(["## The kernel\n", about_kernel] if (about_kernel := kernel.readme_section(order)) else []),
        "## What the operating system must allow\n",
        "".join(f"- {sentence}\n" for sentence in say.requirements(target.demands(order.written))),
        "## How to see it live\n",
        _commands(order) or "Nothing to look at beyond the file itself.\n",
        "## Files\n",
        _files(order),
    ]
    return ExportFile("readme", "README.md", "\n".join(parts))


def _summary(order: ExportOrder) -> str:
    evidence = order.evidence
    where = f"Measured on {evidence.date} on {evidence.host}, in {counted(evidence.trials, 'trial')}"
    where += f" after the calibration, under the workload `{evidence.workload}`."
    lines = [
        f"{where} Objective: {evidence.objective}.\n",
        "Results hold for this machine and this workload.\n",
    ]
    if evidence.pauses is not None:
        lines.append(f"{say.sessions(evidence)}\n")
    if evidence.headline:
        lines.append(f"{evidence.headline}\n")
    if evidence.trade_off:
        lines.append(f"{evidence.trade_off}\n")
    if evidence.capacity_gain is not None:
        blocks = counted(evidence.capacity_gain.blocks, "block")
        lines.append(f"Gain over the default: {evidence.gain_told}, {blocks}.\n")
    if evidence.score_mbps is not None and not order.changed:
        lines.append(
            f"Score: {in_mbps(evidence.score_mbps)}; nothing was shown to be better than the default.\n"
        )
    elif evidence.score_mbps is not None and evidence.default_score_mbps is not None:
        compared = f"the file `{order.base_name}`" if order.base is not None else "the server's default"
        lines.append(
            f"Score: {in_mbps(evidence.score_mbps)}, against {in_mbps(evidence.default_score_mbps)} of "
            f"{compared} (means of the confirmation, in which both took turns).\n"
        )
    if evidence.gain is not None:
        lines.append(f"Gain in score: {evidence.gain}, {counted(evidence.gain.blocks, 'block')}.\n")
    lines += [f"{sentence}\n" for sentence in effect_sentences(evidence.effects)]
    if evidence.factorial:
        lines.append(f"{evidence.factorial}\n")
    if evidence.tail is not None:
        lines.append(
            f"Tail: 99th percentile of the reply time at {evidence.tail_at} {evidence.tail}; "
            "less is better.\n"
        )
    if evidence.remeasured:
        lines.append(f"{evidence.remeasured}\n")
    return "\n".join(lines)


def _compared(order: ExportOrder) -> str:
    """The finalists as columns, what they do as rows; * is this configuration."""
    heads, rows = people.table(order.evidence.compared)
    names = ["", *(row[0] for row in rows)]
    lines = [[head, *(row[number] for row in rows)] for number, head in enumerate(heads[1:], start=1)]
    table = markdown_table(names, lines, right=range(1, len(names)))
    return f"{table}\n\nMeans over the blocks of the confirmation, with 95 % intervals.\n"


def _limit(order: ExportOrder) -> str:
    """Both limits, the one that was found and the one that is written; empty where they are one."""
    for name, value in order.written.items():
        if sentences := order.limit_sentences(name):
            return f"`{name}` = {value:,}. {' '.join(sentences)}\n"
    return ""


def _shown(order: ExportOrder, name: str) -> bool:
    return name in order.to_write or name in {knob.name for knob in order.space.free}


def _commands(order: ExportOrder) -> str:
    lines = []
    for name, verify in order.target.verify_live.items():
        command, bracket, note = verify.partition(" (")
        if _shown(order, name):
            lines.append(f"- `{name}`: `{command}`{bracket}{note}\n")
    return "".join(lines)


def _table(order: ExportOrder) -> str:
    rows = []
    for knob in order.space.knobs:
        if not _shown(order, knob.name):
            continue
        value = order.written[knob.name]
        told = knob.told(value)
        if knob.unit and told == str(value) and isinstance(value, int):
            told = f"{value} {knob.unit}"
        default = say.default_of(knob, order.evidence)
        effect = (
            say.effect(knob, order.configuration, order.evidence).removeprefix("Measured effect").lstrip(": ")
        )
        if order.scaled is not None and knob.name == order.scaled.knob:
            effect = f"{effect} {order.scaled.sentence()}"
        if order.limit_sentences(knob.name):
            effect = f"as measured, {order.configuration[knob.name]:,}: {effect}"
        rows.append((f"`{knob.name}`", told, default, say.SCOPES[knob.scope], effect))
    return markdown_table(("setting", "value", "default", "scope", "measured effect"), rows) + "\n"


def _several(order: ExportOrder) -> bool:
    return replicas_of(order.configuration) > 1


def _files(order: ExportOrder) -> str:
    name = order.base_name if order.base is not None else order.target.file_name
    if _several(order):
        stem, _, ending = name.rpartition(".")
        about = {
            f"{stem}-N.{ending}": "the complete file of each replica that was measured",
            next(replicas.units(order)).file_name: "template unit; beside it the drop-ins with the CPUs",
        }
    else:
        about = {
            name: _own_file(order)
            if order.base is None
            else "your file with the tuned settings changed and every other byte as it was",
            "systemd-trimtab.conf": "drop-in for the server's unit",
        }
    if order.base is not None:
        about["trimtab.patch"] = "all that changes in your files: `cd / && patch -p1 < trimtab.patch`"
        about["tree/"] = (
            "those of your files that change, at their places, where included ones are among them"
        )
    about |= {
        "90-trimtab.conf": "for `/etc/sysctl.d/`",
        "tuned.conf": "TuneD profile",
    }
    if (backend := backend_of(order.configuration)) is not None:
        about[backend.file_name] = f"the settings of {backend.package} behind the server"
    if kernel.has_tmpfiles(order):
        about["tmpfiles-trimtab.conf"] = "for `/etc/tmpfiles.d/`"
    if order.context.server_cpus and not _several(order):
        about["affinity.sh"] = "puts the server on the CPUs that it is given, as it was measured"
    about[changes_name(order.target)] = "only what differs from the default, to merge into a file of your own"
    listed = "".join(f"- `{file}`: {what}\n" for file, what in about.items())
    alike = [server for server in TARGETS.values() if server.protocol == order.target.protocol]
    if len(alike) == 1:
        return listed
    return listed + "- the files of the other servers: the same settings translated; not measured\n"


def _own_file(order: ExportOrder) -> str:
    if order.target.drop_in is None:
        return "the complete file of the server that was measured"
    return f"all tuned settings, as measured; goes to `{order.target.drop_in}`"
