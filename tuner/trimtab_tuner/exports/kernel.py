"""The measured knobs of the kernel, for sysctl, tmpfiles and TuneD: only those that differ from before."""

from trimtab_tuner.exports.order import ExportFile, ExportOrder
from trimtab_tuner.exports.server_file import commented
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.kernel import NAMES, KernelKnob, kernel_knob, kernel_part, with_siblings

SYSCTL = "/proc/sys/"
HUGE_PAGES = "transparent_hugepage"
GOVERNOR = "scaling_governor"


def tuned_knobs(order: ExportOrder) -> tuple[str, ...]:
    """The names of the kernel's knobs in which the configuration differs from what the run began with."""
    return tuple(name for name in order.to_write if name in NAMES)


def sysctl_settings(order: ExportOrder) -> dict[str, tuple[str, str]]:
    """What belongs into /etc/sysctl.d, by the setting's name: its value, and comments."""
    settings: dict[str, tuple[str, str]] = {}
    for name in tuned_knobs(order):
        knob = kernel_knob(name)
        if not knob.path.startswith(SYSCTL):
            continue
        key = knob.path.removeprefix(SYSCTL).replace("/", ".")
        about = settings.get(key, ("", ""))[1] + commented(order)(name)
        settings[key] = _value(order, knob), about
    return settings


def _value(order: ExportOrder, knob: KernelKnob) -> str:
    """The value of the file that the knob lies in, with its other parts."""
    parts = sorted(with_siblings((knob.name,)), key=lambda name: kernel_knob(name).part or 0)
    return " ".join(str(order.written[name]) for name in parts)


def _others(order: ExportOrder) -> tuple[KernelKnob, ...]:
    """The tuned knobs that are no sysctl."""
    knobs = map(kernel_knob, tuned_knobs(order))
    return tuple(knob for knob in knobs if not knob.path.startswith(SYSCTL))


def has_tmpfiles(order: ExportOrder) -> bool:
    """Whether there is anything for systemd-tmpfiles."""
    return bool(_others(order))


def tmpfiles(order: ExportOrder) -> ExportFile:
    """Settings under /sys, written at every boot by systemd-tmpfiles."""
    text = say.comment(
        "Kernel settings under /sys for the measured configuration (tmpfiles.d(5)).",
        "Install: cp tmpfiles-trimtab.conf /etc/tmpfiles.d/trimtab.conf && "
        "systemd-tmpfiles --create /etc/tmpfiles.d/trimtab.conf",
        say.measured_on(order.evidence),
    )
    for knob in _others(order):
        text += f"\n{commented(order)(knob.name)}w {knob.path} - - - - {order.written[knob.name]}\n"
    return ExportFile("tmpfiles", "tmpfiles-trimtab.conf", text)


def tuned_sections(order: ExportOrder) -> str:
    """The sections of a TuneD profile for what is no sysctl."""
    sections = ""
    for knob in _others(order):
        value = order.written[knob.name]
        if knob.name == HUGE_PAGES:
            sections += f"\n[vm]\ntransparent_hugepages={value}\n"
        elif knob.name == GOVERNOR:
            sections += f"\n[cpu]\ngovernor={value}\n"
        else:
            sections += f"\n[sysfs]\n{knob.path}={value}\n"
    return sections


def readme_section(order: ExportOrder) -> str:
    """What each family of knobs gains, and what becomes of the kernel's; empty if none was tuned."""
    if not kernel_part(order.configuration):
        return ""
    names = tuned_knobs(order)
    if not names:
        return (
            "Knobs of the kernel were tuned too; nothing was shown to be better than the kernel as it is, "
            "and no file here changes it.\n"
        )
    files = "`90-trimtab.conf`" + (" and `tmpfiles-trimtab.conf`" if has_tmpfiles(order) else "")
    return (
        f"Set by {files}, or by the TuneD profile: {', '.join(f'`{name}`' for name in names)}. They count "
        "for everything on the machine, not for this server alone.\n"
    )
