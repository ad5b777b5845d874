"""The file of the server that was measured: complete, and only what differs from the default."""

from trimtab_tuner.exports.order import Check, ExportFile, ExportOrder
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.backends import backend_of
from trimtab_tuner.targets.backends.base import BackendContext
from trimtab_tuner.targets.base import About
from trimtab_tuner.targets.editing import changed_knobs
from trimtab_tuner.targets.kernel import NAMES


def complete(order: ExportOrder, added: str = "") -> ExportFile:
    """The file with the evidence for every setting; or the user's own with tuned settings changed.

    `added` is what goes to the file's name, before its ending.
    """
    target = order.target
    if order.base is not None:
        return _changed_base(order, order.base)
    stem, _, ending = target.file_name.rpartition(".")
    head = say.header(target, f"{stem}{added}.{ending}", order.evidence)
    head += say.comment(*say.requirements(target.demands(order.written)), *say.places(target))
    text = head + "\n" + target.render(order.written, order.context, commented(order))
    return ExportFile(target.program, target.file_name, text, Check(target.program, target.check_command))


def commented(order: ExportOrder) -> About:
    """Gives each setting a comment: what it is, its measured effect, how to see it live."""
    knobs = {knob.name: knob for knob in order.space.knobs}

    def about(name: str) -> str:
        effect = say.effect(knobs[name], order.configuration, order.evidence)
        sentences = [say.what(knobs[name], order.written[name], order.evidence)]
        if order.lifted is not None and name == order.lifted.knob:
            sentences += order.lifted.sentences()
            effect = f"As it was measured, {order.lifted.measured}: {effect}"
        sentences.append(effect)
        if name in order.target.verify_live:
            sentences.append(f"Verify live: {order.target.verify_live[name]}")
        return say.comment(*sentences)

    return about


def _changed_base(order: ExportOrder, base: str) -> ExportFile:
    """The user's file as it was but for tuned settings; checked as the private instance that was measured."""
    target = order.target
    knobs = changed_knobs(target, base, order.written, order.cpus)
    tuned = [name for name in knobs if name in order.changed]
    text = target.changed(base, order.written, tuned, order.context)
    # The check needs what the file includes, and must not meet the instance in production.
    private = target.private(order.expanded or text, order.written, tuned, order.context)
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
            say.measured_on(order.evidence),
        )
    ]
    of_server = [name for name in order.to_write if name not in NAMES]
    if not order.to_write:
        lines.append("# Nothing: no configuration was shown to be better.\n")
    elif not of_server:
        lines.append("# Nothing: only knobs of the kernel, which have files of their own.\n")
    for names, text in target.excerpt(order.written, of_server, order.context):
        lines.append("".join(map(about, names)) + text)
    stem, _, ending = target.file_name.rpartition(".")
    return ExportFile(f"{target.program}-changes", f"{stem}-changes.{ending}", "\n".join(lines))


def of_backend(order: ExportOrder, _added: str = "") -> ExportFile:
    """The file of the program that was measured behind the server."""
    backend = backend_of(order.configuration)
    assert backend is not None  # noqa: S101 - who asks has looked
    place = order.context.php_socket if backend.speaks == "fastcgi" else order.context.upstream
    context = BackendContext(
        address=place or "",
        directory=f"{order.context.root}{backend.script_path}".rpartition("/")[0],
        prefix=order.context.prefix,
        error_log=order.context.error_log,
    )

    def command(file: str, program: str | None) -> tuple[str, ...]:
        return backend.check_command(file, program or backend.package)

    check = Check(backend.package, command) if backend.check_command("", "") else None
    sign = "; " if backend.speaks == "fastcgi" else "# "
    text = say.comment(say.measured_on(order.evidence)).replace("# ", sign)
    text += backend.render(order.configuration, context, commented(order))
    return ExportFile(backend.package, backend.file_name, text, check)
