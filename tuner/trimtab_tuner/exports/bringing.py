"""How the measured server's file is brought to a server in production: the steps that README, pages and the
terminal tell.

Without a file of the user's own what is exported is the file that was measured, which listens and logs where
the measurement had it and has no sites. In the place of a user's file it would take their server down.
"""

from trimtab_tuner.exports.order import ExportOrder
from trimtab_tuner.exports.server_file import changes_name
from trimtab_tuner.targets.base import Target


def steps_of(order: ExportOrder) -> tuple[str, ...]:
    """The steps of what is exported."""
    if order.base is not None:
        return steps(order.target, order.base_name, order.base.files[0][0], changed=bool(order.to_write))
    return steps(order.target, order.target.file_name, "", changed=bool(order.to_write))


def steps(target: Target, file_name: str, base: str, *, changed: bool) -> tuple[str, ...]:
    """What to do with the measured server's file, in sentences.

    `base` is the path of the user's own file that it was made of, empty without one; `changed` says whether
    it differs from the default in anything.
    """
    if not changed:
        return ("There is nothing to put in place: nothing was shown to be better than what is there.",)
    if base:
        return (
            f"{file_name} is your file with the settings in it: keep a copy of {base}, then put it there.",
        )
    if target.drop_in is not None:
        return (f"{file_name} has the settings alone, to stand beside your own files: {target.drop_in}.",)
    measured = (
        f"{file_name} is the file that was measured, not a replacement of yours: its addresses, paths and "
        "logs are those of the measurement, and it has no sites."
    )
    lines = (
        f"Put the lines of {changes_name(target)} into your own file, each where such a setting stands there "
        "and in its place."
    )
    again = (
        "Or run again with your own file, and get that back with the settings in it: trimtab tune "
        f"--target {target.name} --base {target.usual_files[0]}"
    )
    return measured, lines, again
