"""The file of the server that was measured: complete, and only what differs from the default."""

import shlex

from trimtab_tuner.exports.order import Check, ExportFile, ExportOrder
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets import nginx, php
from trimtab_tuner.targets.base import About
from trimtab_tuner.targets.own import EDITORS, changed_knobs


def complete(order: ExportOrder, added: str = "") -> ExportFile:
    """The file with the evidence for every setting; or the user's own with tuned settings changed.

    `added` is what goes to the file's name, before its ending.
    """
    target = order.target
    if order.base is not None:
        return _changed_base(order, order.base)
    stem, _, ending = target.file_name.rpartition(".")
    start = shlex.join(target.start_command(f"{stem}{added}.{ending}"))
    head = say.header(target.name, start, order.evidence)
    head += say.comment(*say.requirements(target.demands(order.configuration)), say.PLACES)
    text = head + "\n" + target.render(order.configuration, order.context, commented(order))
    return ExportFile(target.program, target.file_name, text, Check(target.program, target.check_command))


def commented(order: ExportOrder) -> About:
    """Gives each setting a comment: what it is, its measured effect, how to see it live."""
    knobs = {knob.name: knob for knob in order.space.knobs}

    def about(name: str) -> str:
        sentences = [
            say.what(knobs[name], order.configuration[name], order.evidence),
            say.effect(knobs[name], order.configuration, order.evidence),
        ]
        if name in order.target.verify_live:
            sentences.append(f"Verify live: {order.target.verify_live[name]}")
        return say.comment(*sentences)

    return about


def _changed_base(order: ExportOrder, base: str) -> ExportFile:
    """The user's file as it was but for tuned settings; checked as the private instance that was measured."""
    target, editor = order.target, EDITORS[order.target.name]
    knobs = changed_knobs(target, base, order.configuration, order.cpus)
    tuned = [name for name in knobs if name in order.changed]
    text = editor.changed(base, order.configuration, tuned, order.context)
    # The check needs what the file includes, and must not meet the instance in production.
    private = editor.private(order.expanded or text, order.configuration, tuned, order.context)
    return ExportFile(
        target.program, order.base_name, text, Check(target.program, target.check_command, private)
    )


def changes(order: ExportOrder) -> ExportFile:
    """Only the settings that differ from the default, to be merged into a file that is there already."""
    target = order.target
    about = commented(order)
    default = f"the file {order.base_name}" if order.base is not None else f"{target.name}'s default"
    lines = [
        say.comment(
            f"What Trimtab changed against {default} in run {order.evidence.run}; the README says why.",
            "Put each line where such settings stand in your file, in place of the one that is there.",
        )
    ]
    if not order.changed:
        lines.append("# Nothing: no configuration was shown to be better.\n")
    if target.name == "nginx":
        lines += _nginx_lines(order, about)
    else:
        lines += [(about(name) if name else "") + line + "\n" for name, line in _single_lines(order)]
    stem, _, ending = target.file_name.rpartition(".")
    return ExportFile(f"{target.program}-changes", f"{stem}-changes.{ending}", "\n".join(lines))


def _single_lines(order: ExportOrder) -> list[tuple[str, str]]:
    """Each changed knob with its line, for languages in which a setting is one line.

    The name is empty for a line that only goes with another.
    """
    bare = EDITORS[order.target.name].changed("", order.configuration, order.changed, order.context)
    names = sorted(order.configuration, key=len, reverse=True)
    return [
        (next((name for name in names if line.startswith(name)), ""), line)
        for line in bare.splitlines()
        if line
    ]


def _nginx_lines(order: ExportOrder, about: About) -> list[str]:
    """nginx directives with the block they belong to."""
    lines = []
    settings = nginx.settings(order.configuration, order.context)
    for name in order.changed:
        if name in settings:
            where = nginx.BLOCK[name] or "main, outside of all blocks"
            lines.append(about(name) + f"# in: {where}\n{settings[name]}\n")
        elif name == "thread_pool_threads":
            threads = order.configuration[name]
            pool = f"thread_pool default threads={threads} max_queue=65536;"
            lines.append(about(name) + f"# in: main, outside of all blocks\n{pool}\n")
    if {"backlog", "reuseport"} & set(order.changed):
        options = nginx.listen_options(order.configuration).strip()
        lines.append(about("backlog") + about("reuseport") + f"# options of listen: {options}\n")
    return lines


def php_pool(order: ExportOrder, _added: str = "") -> ExportFile:
    """The pool of PHP processes that was measured behind the server."""
    about = commented(order)(php.POOL_SIZE.name).replace("# ", "; ")
    text = php.pool_file(order.configuration, f"{order.context.prefix}/{php.SOCKET}", order.context.error_log)
    setting = f"{php.POOL_SIZE.name} ="
    return ExportFile("php-fpm", php.FILE_NAME, text.replace(setting, about + setting))
