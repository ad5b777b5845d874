"""The file of the server that was measured: complete, and only what differs from the default.

Of a user's own file it is that one with the tuned settings changed where they stand. Where one stands in an
included file, that is handed back too, at its place in a tree; a patch has all that is changed.
"""

import difflib
from collections.abc import Iterator

from trimtab_tuner.exports.order import Check, ExportFile, ExportOrder
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.backends import backend_of
from trimtab_tuner.targets.backends.base import BackendContext
from trimtab_tuner.targets.base import About, Target
from trimtab_tuner.targets.editing import changed_knobs
from trimtab_tuner.targets.kernel import NAMES
from trimtab_tuner.targets.sources import Sources

PATCH = "trimtab.patch"
TREE = "tree"
WEB_USER = "www-data"  # whom Debian's web servers and its pool of php-fpm run as


def complete(order: ExportOrder, added: str = "") -> ExportFile:
    """The file with the evidence for every setting; or the user's own with tuned settings changed.

    `added` is what goes to the file's name, before its ending.
    """
    target = order.target
    if order.base is not None:
        return _own_file(order, order.base)
    stem, _, ending = target.file_name.rpartition(".")
    head = say.header(target, f"{stem}{added}.{ending}", order.evidence)
    head += say.comment(*say.requirements(target.demands(order.written)), *say.places(target))
    text = head + "\n" + target.render(order.written, order.place, commented(order))
    return ExportFile(target.program, target.file_name, text, Check(target.program, target.check_command))


def commented(order: ExportOrder) -> About:
    """Gives each setting a comment: what it is, its measured effect, how to see it live."""
    knobs = {knob.name: knob for knob in order.space.knobs}
    backend = backend_of(order.configuration)

    def about(name: str) -> str:
        effect = say.effect(knobs[name], order.configuration, order.evidence)
        sentences = [say.what(knobs[name], order.written[name], order.evidence)]
        if limit := order.limit_sentences(name):
            sentences += limit
            effect = f"As it was measured, {order.configuration[name]:,}: {effect}"
        sentences.append(effect)
        if backend is not None and name == backend.children and order.evidence.children:
            sentences.append(order.evidence.children)
        if order.scaled is not None and name == order.scaled.knob:
            sentences.append(order.scaled.sentence())
        if name in order.target.verify_live:
            sentences.append(f"Verify live: {order.target.verify_live[name]}")
        return say.comment(*sentences)

    return about


def _own_file(order: ExportOrder, base: Sources) -> ExportFile:
    """The user's file as it was but for tuned settings; checked as the private instance that was measured."""
    target, (path, _) = order.target, base.files[0]
    text = base.apart(changed_whole(order, base))[path]
    # The check needs what the file includes, and must not meet the instance in production.
    private = target.private(order.expanded, order.written, _tuned(order, base), order.context)
    return ExportFile(
        target.program, order.base_name, text, Check(target.program, target.check_command, private)
    )


def changed_whole(order: ExportOrder, base: Sources) -> str:
    """The marked text of the user's files with the tuned settings."""
    return order.target.changed(base.marked, order.written, _tuned(order, base), order.place)


def _tuned(order: ExportOrder, base: Sources) -> list[str]:
    knobs = changed_knobs(order.target, base.whole, order.written, order.cpus)
    return [name for name in knobs if name in order.changed]


def of_included(order: ExportOrder) -> Iterator[ExportFile]:
    """What else there is of a user's own file: a patch of all that is changed, and the tree of those files
    where an included one is among them.
    """
    base = order.base
    if base is None:
        return
    texts = base.apart(changed_whole(order, base))
    changed = {path: text for path, text in base.files if texts.get(path, text) != text}
    if changed:
        patch = "".join(_patch(path, text, texts[path]) for path, text in changed.items())
        yield ExportFile("patch", PATCH, patch)
    if any(path != base.files[0][0] for path in changed):
        for number, path in enumerate(changed, start=1):
            yield ExportFile(f"{TREE}-{number}", f"{TREE}{path}", texts[path])


def _patch(path: str, before: str, after: str) -> str:
    """What `patch -p1` from the root of the file system takes; lines end by LF alone, whatever they hold."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a{path}", f"b{path}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]] * (
        not text.endswith("\n") and text != ""
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
    for names, text in target.excerpt(order.written, of_server, order.place):
        lines.append("".join(map(about, names)) + text)
    return ExportFile(f"{target.program}-changes", changes_name(target), "\n".join(lines))


def changes_name(target: Target) -> str:
    """What the file is called that has only what differs."""
    stem, _, ending = target.file_name.rpartition(".")
    return f"{stem}-changes.{ending}"


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
        user=WEB_USER,
    )

    def command(file: str, program: str | None) -> tuple[str, ...]:
        return backend.check_command(file, program or backend.package)

    check = Check(backend.package, command) if backend.check_command("", "") else None
    sign = "; " if backend.speaks == "fastcgi" else "# "
    text = say.comment(say.measured_on(order.evidence), say.PLACES).replace("# ", sign)
    text += backend.render(order.configuration, context, commented(order))
    return ExportFile(backend.package, backend.file_name, text, check)
