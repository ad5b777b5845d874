"""What a run hands back: its best configuration as files for servers, systemd, the kernel, and people."""

from collections.abc import Iterator

from trimtab_tuner.exports import kernel, readme, replicas, server_file, system, translated
from trimtab_tuner.exports.bringing import steps
from trimtab_tuner.exports.order import Check, ExportFile, ExportOrder
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, backend_of
from trimtab_tuner.targets.placement import replicas_of

__all__ = ["Check", "ExportFile", "ExportOrder", "export_files", "format_help", "place_of", "steps"]

_HELP = {
    "systemd": "For systemd: descriptors; the CPUs as a comment.",
    "sysctl": "Kernel settings without which the server's own would be cut down.",
    "affinity": "Script that puts the running server on CPUs, as it was measured.",
    "tuned": "TuneD profile with the kernel settings.",
    "tmpfiles": "Kernel settings under /sys, for systemd-tmpfiles.",
    **{backend.package: f"What answered behind the server: {backend.help}" for backend in BACKENDS.values()},
    "patch": "Your own files as they become: cd / && patch -p1 < trimtab.patch (it may name several files).",
    "readme": "The evidence: every setting, its measured effect, how to see it live.",
}


def place_of(name: str, target: str) -> int:
    """Where a format stands in a list, 0 to 2, for a run that tuned `target`: the server's own file first,
    the script for the CPUs, which few need, last.
    """
    if replicas.format_of_first(name) == TARGETS[target].program:
        return 0
    return 2 if name == "affinity" else 1


def format_help(name: str, target: str) -> str:
    """One sentence on a format, for a run that tuned `target`."""
    first = replicas.format_of_first(name)
    if first != name:
        another = {
            "systemd": "Drop-in for one replica: its CPUs.",
            **dict.fromkeys((each.package for each in BACKENDS.values()), "That of another replica."),
        }
        return another.get(first, f"The file of another replica of {target}.")
    for server in TARGETS.values():
        if name == f"{server.program}-changes":
            return f"Only what differs from the default of {server.name}, to merge into a file of your own."
        if name == server.program:
            if server.name == target and server.drop_in is not None:
                return f"All tuned settings of {server.name}, as measured, to put beside your own files."
            if server.name == target:
                return f"The complete file of {server.name}, which was measured."
            return f"The same settings translated for {server.name}, which was not measured."
    if name.startswith(server_file.TREE):
        return "One of your own files with the tuned settings changed, at its place in a tree."
    return _HELP.get(name, "")


def export_files(order: ExportOrder) -> Iterator[ExportFile]:
    """Every file, that of the measured server first. Raises RenderError for a path that cannot be written."""
    yield from replicas.each(order, server_file.complete)
    yield from server_file.of_included(order)
    yield server_file.changes(order)
    yield system.sysctl(order)
    if replicas_of(order.configuration) > 1:
        yield from replicas.units(order)
    else:
        yield system.systemd(order)
        if order.context.server_cpus:
            yield system.affinity(order)
    yield system.tuned(order)
    if kernel.has_tmpfiles(order):
        yield kernel.tmpfiles(order)
    if backend_of(order.configuration) is not None:
        yield from replicas.each(order, server_file.of_backend)
    yield readme.readme(order)
    for name, target in TARGETS.items():
        if name != order.target.name and target.protocol == order.target.protocol:
            yield translated.translated_file(order, target)
