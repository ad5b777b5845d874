"""Which of the kernel's knobs this machine has and lets be set, what they are set to, and what it lacks.

Knobs of the namespace are those of the network namespace of whoever sets them, this process or the helper.
The server runs in that of this process, so a helper in another one is of no use for them.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from trimtab_trials.configuration import Value
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.kernel import KERNEL_KNOBS, KernelKnob, Needs

from trimtab_agent.host.network_cards import comes_by_card, device_of
from trimtab_agent.os_settings.access import DirectAccess, SettingAccess, SettingGone, SettingRefused
from trimtab_agent.os_settings.tuners import KernelTuner, kernel_tuners

OWN_LOAD = (
    "the load comes from this machine itself, by the loopback or by virtual devices, and those have no queue "
    "to poll; generators on other machines (--generator) send it to a network card"
)
OVER_TCP = "/proc/sys/net/ipv4/tcp_available_ulp"
OTHER_NAMESPACE = (
    "the helper runs in another network namespace than the server would; start it in the same one"
)


class KnobHere(Frozen):
    """A knob that can be set here; `files` are where, its default is what it is set to now, `needs` says when
    a run that tunes the kernel sets it free.
    """

    knob: Knob
    files: tuple[str, ...]
    needs: Needs


class KnobLacking(Frozen):
    """A knob that cannot be set here, and why."""

    name: str
    reason: str


class Kernel(Frozen):
    """What there is and what is not, each in the order of `KERNEL_KNOBS`; and who else sets it (`tuners`).

    `no_tls` says why it does not encrypt for servers; empty if it does.
    """

    here: tuple[KnobHere, ...]
    lacking: tuple[KnobLacking, ...]
    tuners: tuple[KernelTuner, ...] = ()
    no_tls: str = ""

    def reason(self, name: str) -> str:
        """Why a knob cannot be set here; empty if it can."""
        return next((lacking.reason for lacking in self.lacking if lacking.name == name), "")

    def knobs(self, names: Collection[str] | None = None) -> tuple[Knob, ...]:
        """The knobs that are here, or those of them that are named."""
        return tuple(each.knob for each in self.here if names is None or each.knob.name in names)


def read_kernel(access: SettingAccess, *, loaded_at: str | None = None, root: Path = Path("/")) -> Kernel:
    """The kernel of this machine, which generators on other machines load at the address `loaded_at`; None
    where the load is its own.

    Nothing is written. `root` stands before every path that is only looked for (tests use a directory).
    """
    elsewhere, no_polling = other_namespace(access), _no_polling(loaded_at, root)
    here: list[KnobHere] = []
    lacking: list[KnobLacking] = []
    for knob in KERNEL_KNOBS:
        try:
            if knob.needs == "device-that-polls" and no_polling:
                raise SettingRefused(no_polling)
            if elsewhere and knob.knob.scope == "namespace":
                raise SettingRefused(elsewhere)
            here.append(_read(knob, access, root))
        except SettingGone:
            debugfs = " (is debugfs mounted?)" if "/debug/" in knob.path else ""
            lacking.append(KnobLacking(name=knob.name, reason=f"there is no {knob.path}{debugfs}"))
        except SettingRefused as error:
            lacking.append(KnobLacking(name=knob.name, reason=str(error)))
    return Kernel(here=tuple(here), lacking=tuple(lacking), tuners=kernel_tuners(), no_tls=_no_tls(root))


def _no_tls(root: Path) -> str:
    """Why the kernel does not encrypt what servers send. Their workers may not have its module loaded."""
    try:
        over_tcp = (root / OVER_TCP.removeprefix("/")).read_text().split()
    except OSError:
        return f"there is no {OVER_TCP}"
    if "tls" in over_tcp:
        return ""
    listed = " ".join(over_tcp) or "nothing"
    return f"this kernel has no TLS, or has not loaded it (modprobe tls): {OVER_TCP} has {listed}"


def _no_polling(loaded_at: str | None, root: Path) -> str:
    """Why the load arrives by nothing that can be polled; empty where it does by a network card."""
    if loaded_at is None:
        return OWN_LOAD
    device = device_of(loaded_at)
    if device is None:
        return f"the generators load {loaded_at}, and no network device of this machine has that address"
    if not comes_by_card(device, root / "sys"):
        return f"the load arrives by {device}, which is a virtual device and has no queue to poll"
    return ""


def other_namespace(access: SettingAccess) -> str:
    """What is wrong if settings are those of another network namespace than this process is in; or empty."""
    try:
        theirs = access.namespace()
    except SettingRefused as error:
        return str(error)
    return "" if theirs == DirectAccess().namespace() else OTHER_NAMESPACE


def files_of(knob: KernelKnob, root: Path = Path("/")) -> tuple[str, ...]:
    """Where the knob is set here: one file, or one for each CPU frequency policy; none if it has none."""
    folder, star, name = knob.path.rpartition("*")
    if not star:
        return (knob.path,)
    pattern = Path(folder)
    found = (root / str(pattern.parent).removeprefix("/")).glob(f"{pattern.name}*{name}")
    return tuple(sorted(f"/{file.relative_to(root)}" for file in found))


def _read(knob: KernelKnob, access: SettingAccess, root: Path) -> KnobHere:
    files = files_of(knob, root)
    if not files:
        raise SettingGone
    texts = {access.probe(path) for path in files}
    if len(texts) > 1:
        raise SettingRefused(f"it differs from CPU to CPU ({', '.join(sorted(texts))})")
    return KnobHere(
        knob=knob.here(knob.value_in(texts.pop()), _choices(knob, root)), files=files, needs=knob.needs
    )


def _choices(knob: KernelKnob, root: Path) -> tuple[Value, ...]:
    """The words that the kernel lists; of several files those that all of them have."""
    if knob.choices_in is None:
        return ()
    listing = replace(knob, path=knob.choices_in)
    try:
        lists = [(root / file.removeprefix("/")).read_text().split() for file in files_of(listing, root)]
    except OSError as error:
        raise SettingRefused(f"the kernel does not say what it can be set to: {error.strerror}") from error
    if not lists:
        raise SettingRefused("the kernel does not say what it can be set to")
    return tuple(word for word in lists[0] if all(word in words for words in lists))
